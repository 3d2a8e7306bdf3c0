#include "schema/sqlite/disk_space.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "schema/base/fd.h"
#include "schema/base/host_path.h"
#include "schema/base/limits.h"

namespace ebla::sqlite {
namespace {

Writer::DiskFree ask_system(const std::string& folder) {
  struct statvfs info{};
  // A file system that does not answer is not taken for a full one: the write itself will tell.
  if (statvfs(folder.c_str(), &info) != 0 || info.f_blocks == 0) {
    return {std::numeric_limits<uint64_t>::max(), std::numeric_limits<uint64_t>::max()};
  }
  const uint64_t blocks = geteuid() == 0 ? info.f_bfree : info.f_bavail;
  return {blocks * info.f_frsize, info.f_blocks * info.f_frsize};
}

uint64_t saturating_add(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

}  // namespace

DiskSpace::DiskSpace(const Writer::Options& options)
    : folder_(folder_of(options.path)),
      reserve_path_(options.path + ".reserve"),
      disk_free_(options.disk_free ? options.disk_free : ask_system),
      limit_bytes_(options.store_bytes) {
  const uint64_t total = look().total_bytes;
  reserve_bytes_ = std::min(options.reserve_bytes, total / 16);
  low_bytes_ = std::min(options.low_water_bytes, total / 16);
  high_bytes_ = std::min(options.high_water_bytes, total / 8);
  struct stat info{};
  reserved_ = stat(reserve_path_.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
              static_cast<uint64_t>(info.st_blocks) * 512 >= reserve_bytes_;
}

Writer::DiskFree DiskSpace::look() const {
  return disk_free_(folder_);
}

uint64_t DiskSpace::room() const {
  const uint64_t room = saturating_add(look().free_bytes, free_page_bytes_);
  return room - std::min(room, owed_bytes_);
}

uint64_t DiskSpace::limit_left() const {
  if (limit_bytes_ == 0) return std::numeric_limits<uint64_t>::max();
  return limit_bytes_ - std::min(limit_bytes_, used_bytes_);
}

bool DiskSpace::growth_allowed() const {
  const std::lock_guard lock(mutex_);
  if (limit_left() == 0) return false;
  return full_ ? room() > high_bytes_ : room() >= low_bytes_;
}

bool DiskSpace::admit_growth() {
  const std::lock_guard lock(mutex_);
  full_ = full_ ? room() <= high_bytes_ : room() < low_bytes_;
  return !full_ && limit_left() != 0;
}

bool DiskSpace::above_low_mark() const {
  const std::lock_guard lock(mutex_);
  return room() >= low_bytes_;
}

bool DiskSpace::below_limit() const {
  const std::lock_guard lock(mutex_);
  return limit_left() != 0;
}

bool DiskSpace::has_room(uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (limit_left() == 0 || limit_left() < bytes) return false;
  return room() >= saturating_add(full_ ? high_bytes_ : low_bytes_, bytes);
}

void DiskSpace::note_full() {
  const std::lock_guard lock(mutex_);
  full_ = true;
}

void DiskSpace::note_pages(uint64_t used_bytes, uint64_t free_bytes) {
  const std::lock_guard lock(mutex_);
  used_bytes_ = used_bytes;
  free_page_bytes_ = free_bytes;
}

void DiskSpace::note_owed(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  owed_bytes_ = bytes;
}

uint64_t DiskSpace::reserve_bytes() const {
  const std::lock_guard lock(mutex_);
  return reserve_bytes_;
}

bool DiskSpace::drop_reserve() {
  const std::lock_guard lock(mutex_);
  if (!reserved_) return false;
  reserved_ = false;
  return unlink(reserve_path_.c_str()) == 0;
}

void DiskSpace::keep_reserve() {
  const std::lock_guard lock(mutex_);
  if (reserved_ || reserve_bytes_ == 0) return;
  const Writer::DiskFree disk = look();
  if (disk.free_bytes < saturating_add(high_bytes_, reserve_bytes_)) return;
  auto file = open_file(reserve_path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  // Without a reserve the store works all the same; the next call tries again.
  if (!file) return;
  if (posix_fallocate(file->get(), 0, static_cast<off_t>(reserve_bytes_)) != 0) {
    unlink(reserve_path_.c_str());
    return;
  }
  reserved_ = true;
}

// Free pages are room that the database has already.
uint64_t DiskSpace::free_bytes() const {
  const std::lock_guard lock(mutex_);
  const uint64_t left = limit_left();
  return std::min(look().free_bytes, left - std::min(left, free_page_bytes_));
}

std::string DiskSpace::text() const {
  const std::lock_guard lock(mutex_);
  const bool disk_has_room = full_ ? room() > high_bytes_ : room() >= low_bytes_;
  if (limit_bytes_ != 0 && disk_has_room) {
    return fmt::format(
        "the store has reached its limit of {} bytes (--store-limit): remove put-away results or "
        "other files, or raise the limit",
        limit_bytes_);
  }
  return fmt::format(
      "the file system of the store is full: free space or remove put-away results; writing goes "
      "on "
      "above {} MiB of room",
      high_bytes_ / limits::kMiB + 1);
}

}  // namespace ebla::sqlite
