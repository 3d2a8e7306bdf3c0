// mount.fuse.ebla: what mount(8) runs for `mount -t fuse.ebla STORE DIR` and for lines of fstab. It
// asks the daemon of that store for the mount; where none runs it starts one, which ends with its
// last mount.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schema/default_paths.h"
#include "tools/streams.h"

namespace ebla::tools {

// Whether a program that was called by this name is the helper.
bool is_mount_helper(std::string_view program);

// Returns the exit status as mount(8) defines it: 0, 1 (words, permission), 2 (system), 32 (mount).
int run_mount_helper(std::span<const std::string> words, Streams& streams, const Environment& env);

}  // namespace ebla::tools
