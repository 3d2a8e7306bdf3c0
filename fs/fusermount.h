// fusermount3, the set-uid helper by which an ordinary user mounts and unmounts FUSE.
#pragma once

#include <string>

#include "fs/host_mount.h"
#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::fs {

// The descriptor that the helper opened. mount_failed: absent, without its right, or what it said
// itself, each with the command that mends it.
Result<UniqueFd> fusermount_mount(const std::string& directory, const HostMountOptions& options);
// busy: not lazily, and somebody is inside.
Result<void> fusermount_unmount(const std::string& directory, bool lazily);

}  // namespace ebla::fs
