// A process held by a descriptor: it stays the same one even when its number is given away again.
// By system call, since the C++ use of the header of this C library 2.36 does not link.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>

#include "schema/base/fd.h"

namespace ebla::tools {

// Empty, with errno, when there is no such process. Readable when the process has ended.
inline UniqueFd open_process(pid_t pid) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// 0, or -1 with errno.
inline int signal_process(const UniqueFd& process, int number) {
  return static_cast<int>(
      syscall(SYS_pidfd_send_signal, process.get(), number, static_cast<siginfo_t*>(nullptr), 0));
}

}  // namespace ebla::tools
