// File descriptors that close themselves, and reads and writes that finish. Everything opened
// here is O_CLOEXEC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "schema/base/result.h"

namespace ebla {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

Result<UniqueFd> open_file(const std::string& path, int flags, unsigned mode = 0);
// At most `size` bytes at the descriptor's position; fewer only at the end. EINTR is retried.
Result<size_t> read_full(int fd, char* out, size_t size);
Result<void> write_full(int fd, std::string_view bytes);
Result<size_t> pread_full(int fd, char* out, size_t size, uint64_t offset);
Result<void> pwrite_full(int fd, std::string_view bytes, uint64_t offset);
// The whole of a small file; too_large above `limit_bytes`.
Result<std::string> read_file(const std::string& path, size_t limit_bytes);

}  // namespace ebla
