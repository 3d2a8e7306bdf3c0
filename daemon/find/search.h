// What grep and glob share: where they look, how long, and what they could not read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/find/walk.h"
#include "schema/base/result.h"
#include "schema/store.h"

namespace ebla::daemon {

struct SearchScope {
  std::string path;  // in the tree
  Attr root;
  Visible visible;
};

struct SearchTools {
  Store& store;
  std::function<bool()> cancelled;
  std::function<bool()> out_of_time;
};

struct Skipped {
  struct Name {
    std::string path;
    std::string_view why;  // an error's name
  };
  uint64_t count = 0;
  std::vector<Name> names;  // the first limits::kSkippedNames

  void add(std::string path, Code code);
};

Error cut_off();  // what a search ends with that nobody waits for

// Any bytes as ASCII without spaces, and back; nullopt for a text that is none of these.
std::string escape_key(std::string_view key);
std::optional<std::string> unescape_key(std::string_view text);

}  // namespace ebla::daemon
