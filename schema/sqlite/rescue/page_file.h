// Pages of a store's files, read without SQLite and without its locks: for stores that SQLite
// refuses. Nothing is ever written. Private to this folder and to check/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::sqlite {

class PageFile {
 public:
  // The database and, where its frames are valid, its log. A header that cannot be read is taken to
  // be that of every store. file_not_found, permission_denied, io_error; store_foreign for a file
  // that is a sound database of another program.
  static Result<PageFile> open(const std::string& path);

  uint32_t count() const { return count_; }
  size_t page_bytes() const { return page_bytes_; }
  size_t usable_bytes() const { return usable_bytes_; }
  uint32_t version();  // of the format, by the newest first page
  // The newest committed bytes of a page, numbered from 1; nullptr when it is not there or the disk
  // refuses it. Valid until the next call but one with another number.
  const unsigned char* page(uint32_t number);
  // Whether a page holds rows, as the database's own map of its pages says; true where the map is
  // damaged.
  bool may_hold_rows(uint32_t number);
  bool header_damaged() const { return header_damaged_; }
  // What was found wrong with header and log, one sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  PageFile() = default;
  Result<void> read_header(const std::string& path);
  Result<void> read_log(const std::string& path);

  struct Buffer {
    uint32_t number = 0;
    bool there = false;
    std::string bytes;
  };

  UniqueFd file_;
  UniqueFd log_;
  std::map<uint32_t, uint64_t> in_log_;  // page to where its bytes begin in the log
  uint32_t count_ = 0;
  bool header_damaged_ = false;
  size_t page_bytes_ = 16'384;
  size_t usable_bytes_ = 16'384;
  Buffer buffers_[2];
  Buffer map_;
  int next_buffer_ = 0;
  std::vector<std::string> notes_;
  bool read_into(uint32_t number, Buffer& buffer);
};

}  // namespace ebla::sqlite
