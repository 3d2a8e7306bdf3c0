// mount(2), umount(2) and fusermount3: how a FUSE connection gets onto the host's tree and off it.
// Every failure says which command mends it. Callers may block; nothing here is for a FUSE thread.
#pragma once

#include <string>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::fs {

inline constexpr std::string_view kMountType = "fuse.ebla";

struct HostMount {
  UniqueFd device;         // the connection; requests wait there
  std::string device_id;   // "major:minor", which names the mount in mountinfo
  bool by_helper = false;  // fusermount3 made it and must undo it
};

struct HostMountOptions {
  std::string fsname;
  bool allow_other = false;
  bool read_only = false;
  bool no_exec = false;
};

// `directory` is absolute and free of symbolic links. As root straight by mount(2), else, or where
// that is not allowed, through fusermount3.
Result<HostMount> mount_on_host(const std::string& directory, const HostMountOptions& options);

enum class Unmount { strict, detach };
// Only what is on top of `directory` and has this device. busy: strict, and somebody is inside.
// Success if it is gone already.
Result<void> unmount_from_host(const std::string& directory, const std::string& device_id,
                               bool by_helper, Unmount how);

// Detaches dead mounts of ours from `directory` and from every place that shows the same ones.
// mount_failed: a living mount of Ebla is there, or a dead one of another program.
Result<void> clear_stale_mounts(const std::string& directory);

// Whether any place still shows this device. The kernel gives the number of a mount that has gone
// to the next one, whoever makes it: only with the same fsname is it the one that is asked for.
bool is_mounted(const std::string& device_id, const std::string& fsname);

// Paths that show a device, but for `directory`: bind mounts. Detached as far as rights go.
void detach_copies(const std::string& directory, const std::string& device_id,
                   const std::string& fsname);

}  // namespace ebla::fs
