// System calls and what they come to, as text: comparing texts shows the difference at once.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>

#include "schema/base/fd.h"
#include "schema/base/hash.h"

namespace ebla::kit {

inline std::string came_to(long result) {
  return result < 0 ? strerrorname_np(errno) : std::to_string(result);
}

inline std::string opened(const std::string& path, int flags,
                          const std::function<std::string(int)>& then = {}) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0640));
  if (!fd) return strerrorname_np(errno);
  return then ? then(fd.get()) : "open";
}

inline std::string status(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return strerrorname_np(errno);
  return fmt::format("{:o} {} {} {}", info.st_mode, info.st_nlink,
                     S_ISDIR(info.st_mode) ? 0 : info.st_size, info.st_rdev);
}

inline std::string content(const std::string& path) {
  return opened(path, O_RDONLY, [](int fd) {
    std::string bytes(size_t{8} << 20, '\0');
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), 0);
    if (n < 0) return came_to(n);
    bytes.resize(static_cast<size_t>(n));
    return n < 100 ? bytes : fmt::format("{} {}", n, xxh3_128(bytes).hex());
  });
}

}  // namespace ebla::kit
