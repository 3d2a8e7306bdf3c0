// What this host lacks for a mount, each with the exact command that mends it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"
#include "schema/default_paths.h"

namespace ebla::tools {

// The places that are looked at; a test names its own.
struct Host {
  std::string device = "/dev/fuse";
  std::string fuse_conf = "/etc/fuse.conf";
  std::string mountinfo = "/proc/self/mountinfo";
  uid_t uid = 0;
};

// Before a start with a mount: mount_failed for a device that is absent or may not be used, and for
// a missing fusermount3 where it is needed (root mounts without it).
Result<void> check_fuse(const Host& host, const Environment& env);

// After a start that failed: what may be behind it, one sentence each, with its remedy.
std::vector<std::string> mount_hints(const Host& host, const Environment& env,
                                     const std::vector<std::string>& directories, bool allow_other);

// The folders of `--mount [SUBTREE=]DIR` among words for eblad.
std::vector<std::string> mount_directories(const std::vector<std::string>& words);

// Whether a mount of Ebla's is there, by the text of a mountinfo file.
bool ebla_mounted_at(std::string_view mountinfo, std::string_view directory);
// The command that takes a dead mount away.
std::string detach_command(std::string_view directory, uid_t uid);

}  // namespace ebla::tools
