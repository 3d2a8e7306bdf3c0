// The mounts that this process sees. Reading the list asks no file system anything, so a dead or
// hung mount cannot hold it up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"

namespace ebla::fs {

struct MountEntry {
  std::string device;     // "major:minor": equal for all places that show one mount
  std::string directory;  // where, unescaped
  std::string type;       // "fuse.ebla"
  std::string source;     // fsname, unescaped
};

// In the order of the kernel: of two entries for one directory the later one lies on top.
std::vector<MountEntry> parse_mountinfo(std::string_view text);
Result<std::vector<MountEntry>> read_mountinfo();
// The entry that a path walk into `directory` ends in; nullptr if nothing is mounted there.
const MountEntry* topmost(const std::vector<MountEntry>& entries, std::string_view directory);

// Returns when something is mounted or unmounted, at the latest after `patience_ms`.
void wait_for_mount_change(int patience_ms);

// `path` is `folder` or lies below it; both absolute, without trailing slash, "." and "..".
bool lies_in(std::string_view path, std::string_view folder);
// Absolute, "." and ".." and double slashes taken out, without asking any file system.
std::string clean_path(std::string_view path);

}  // namespace ebla::fs
