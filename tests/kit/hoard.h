// Keeps every descriptor that the process may still open, but for some.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "schema/base/fd.h"

namespace ebla::kit {

class Hoard {
 public:
  // None is to be opened or closed by others meanwhile.
  explicit Hoard(size_t spare) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    // The lowest one that is free: few may be open above it.
    const int lowest = UniqueFd(::dup(0)).get();
    const rlimit few{static_cast<rlim_t>(lowest) + 100, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) held_.emplace_back(fd);
    let_go(spare);
  }
  ~Hoard() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  Hoard(const Hoard&) = delete;
  Hoard& operator=(const Hoard&) = delete;

  void let_go(size_t count) { held_.resize(held_.size() - count); }

 private:
  rlimit before_{};
  std::vector<UniqueFd> held_;
};

}  // namespace ebla::kit
