#include "schema/base/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ebla {
namespace {

// The kernel moves at most this many bytes in one call.
constexpr size_t kMaxTransfer = 0x7ffff000;

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) reset(other.release());
  return *this;
}

int UniqueFd::release() {
  return std::exchange(fd_, -1);
}

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<UniqueFd> open_file(const std::string& path, int flags, unsigned mode) {
  for (;;) {
    int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0) return UniqueFd(fd);
    if (errno != EINTR) return std::unexpected(errno_error(errno, "open " + path));
  }
}

Result<size_t> read_full(int fd, char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t n = ::read(fd, out + done, std::min(size - done, kMaxTransfer));
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(errno_error(errno, "read"));
    }
    done += static_cast<size_t>(n);
  }
  return done;
}

Result<void> write_full(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (n < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(errno_error(errno, "write"));
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<size_t> pread_full(int fd, char* out, size_t size, uint64_t offset) {
  size_t done = 0;
  while (done < size) {
    ssize_t n = ::pread(fd, out + done, std::min(size - done, kMaxTransfer),
                        static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(errno_error(errno, "read"));
    }
    done += static_cast<size_t>(n);
  }
  return done;
}

Result<void> pwrite_full(int fd, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    ssize_t n = ::pwrite(fd, bytes.data(), std::min(bytes.size(), kMaxTransfer),
                         static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      return std::unexpected(errno_error(errno, "write"));
    }
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

Result<std::string> read_file(const std::string& path, size_t limit_bytes) {
  auto fd = open_file(path, O_RDONLY);
  if (!fd) return std::unexpected(fd.error());
  std::string out;
  char buffer[16384];
  for (;;) {
    auto n = read_full(fd->get(), buffer, sizeof buffer);
    if (!n) return std::unexpected(Error{n.error().code, path + ": " + n.error().text});
    out.append(buffer, *n);
    if (out.size() > limit_bytes) {
      return fail(Code::too_large,
                  path + " is larger than " + std::to_string(limit_bytes) + " bytes");
    }
    if (*n < sizeof buffer) return out;
  }
}

}  // namespace ebla
