// The files and folders whose names fit a pattern, a page at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/find/glob.h"
#include "daemon/find/search.h"
#include "daemon/find/walk.h"

namespace ebla::daemon {

struct GlobReport {
  std::vector<WalkNode> nodes;      // in the order of their keys
  uint64_t total = 0;               // of all pages; at least, when timed out
  std::optional<std::string> next;  // key of the first node that is not shown
  bool timed_out = false;
  Skipped skipped;
};

// At most `limit` nodes from the key `start` on. The scope's own folder is no match. Error:
// cut_off().
Result<GlobReport> glob_tree(const SearchTools& tools, const SearchScope& scope, const Glob& glob,
                             const std::string& start, size_t limit);

}  // namespace ebla::daemon
