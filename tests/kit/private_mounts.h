// Mounts that no other process sees.
#pragma once

#include <sched.h>
#include <sys/mount.h>

namespace ebla::kit {

// What is mounted from here on is of this process and its children alone: it goes when they end,
// however that comes. False: that takes a right which this process has not.
inline bool keep_mounts_private() {
  static const bool kDone = ::unshare(CLONE_NEWNS) == 0 &&
                            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return kDone;
}

}  // namespace ebla::kit
