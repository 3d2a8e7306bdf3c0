// Removes a file, or a folder with all that is in it, as far as it may go. On threads that may
// wait.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/write/target.h"

namespace ebla::daemon {

struct Removed {
  uint64_t files = 0;  // anything but folders
  uint64_t folders = 0;
  uint64_t bytes = 0;  // of the files
  uint64_t kept = 0;   // that had to stay, without the folders around them
  std::vector<std::pair<std::string, std::string>> kept_paths;  // the first ones: path and why
};

// Not one unit: each entry goes by itself, and what is gone when it ends early stays gone, which
// the error says. Protected nodes and those that the peer may not remove stay, with the folders
// around them; when nothing at all could go, the reason of the first one is the error. On disk, and
// told to every mount, when it returns.
Result<Removed> remove_all(const MethodCall& call, const Target& target);

}  // namespace ebla::daemon
