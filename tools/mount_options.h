// The words that mount(8) gives to its helper mount.fuse.ebla: STORE DIR [-sfnv] [-o OPTIONS] …
#pragma once

#include <optional>
#include <span>
#include <string>

#include "schema/base/result.h"
#include "tools/mounting.h"

namespace ebla::tools {

struct HelperCall {
  std::string store;  // absolute
  MountWish wish;
  std::optional<std::string> socket;
  std::optional<std::string> config;
  bool fake = false;     // -f: check the words and do nothing
  bool verbose = false;  // -v
  bool help = false;
  bool version = false;
};

// usage: names the word or option that is wrong. What is mount(8)'s own business (noauto, user,
// _netdev, x-…) is accepted; with -s every unknown option is.
Result<HelperCall> parse_helper_words(std::span<const std::string> words);

}  // namespace ebla::tools
