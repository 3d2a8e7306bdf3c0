// How much room the file system of the store has, and the file that keeps some of it back: on a
// full disk even a removal needs room in the log, and a checkpoint room in the database. Thread
// safe; no call waits for anything but the system.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "schema/sqlite/writer.h"

namespace ebla::sqlite {

class DiskSpace {
 public:
  explicit DiskSpace(const Writer::Options& options);

  // All look at the file system. Growth is refused below the low mark and accepted again above the
  // high one; free pages of the database count as room, what the log owes it does not. On a small
  // file system the marks and the reserve are at most 1/16, 1/8 and 1/16 of it. Growth is refused,
  // too, where the database uses Writer::Options::store_bytes.
  bool growth_allowed() const;
  bool admit_growth();  // the writer's question: what it is told holds until the high mark
  bool above_low_mark() const;
  bool below_limit() const;
  bool has_room(uint64_t bytes) const;  // growth is allowed, and would be after so many bytes more
  // The system has just refused a write: refused until there is room above the high mark.
  void note_full();
  // As the writer last saw them: bytes of pages in use and of free pages within the database, and
  // bytes that it will grow by when the log is taken over.
  void note_pages(uint64_t used_bytes, uint64_t free_bytes);
  void note_owed(uint64_t bytes);

  uint64_t reserve_bytes() const;  // what it is meant to hold
  bool drop_reserve();             // true: there was one, and its room is free now
  void keep_reserve();             // makes it when it is missing and there is room for it

  uint64_t free_bytes() const;  // that the database may still grow by
  std::string text() const;     // one sentence: why growth is refused and what to do

 private:
  Writer::DiskFree look() const;
  uint64_t room() const;        // mutex held
  uint64_t limit_left() const;  // mutex held

  const std::string folder_;
  const std::string reserve_path_;
  const std::function<Writer::DiskFree(const std::string&)> disk_free_;
  mutable std::mutex mutex_;
  uint64_t reserve_bytes_;
  uint64_t low_bytes_;
  uint64_t high_bytes_;
  const uint64_t limit_bytes_;  // 0: none
  uint64_t used_bytes_ = 0;
  uint64_t free_page_bytes_ = 0;
  uint64_t owed_bytes_ = 0;
  bool full_ = false;
  bool reserved_ = false;
};

}  // namespace ebla::sqlite
