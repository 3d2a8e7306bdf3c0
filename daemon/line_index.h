// Where the lines of a file begin, sparsely: the number of line ends before each block. Built in
// one pass over the file, kept for the files read last, so that a page at any depth costs a block
// or two.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "schema/base/limits.h"
#include "schema/base/result.h"
#include "schema/model.h"

namespace ebla::daemon {

// Fills the span from an offset; fewer bytes only at the end of the file. Fails when the reader is
// gone.
using ReadAt = std::function<Result<size_t>(uint64_t offset, std::span<char> out)>;

struct LineIndex {
  static constexpr uint64_t kBlock = limits::kChunkBytes;

  uint64_t size = 0;   // bytes that were indexed
  uint64_t lines = 0;  // LF ends a line; text after the last LF is one
  bool final_newline = false;
  std::vector<uint64_t> ends_before;  // line ends before block i
};

Result<LineIndex> build_line_index(const ReadAt& read, uint64_t size);

// Offset of the first byte of a line (from 0), which must be below index.lines.
Result<uint64_t> line_start(const ReadAt& read, const LineIndex& index, uint64_t line);
// Line ends before a byte offset within the file.
Result<uint64_t> line_ends_before(const ReadAt& read, const LineIndex& index, uint64_t offset);

// Thread safe. Keyed by node and change counter: a file that changed is indexed anew.
class LineIndexCache {
 public:
  std::shared_ptr<const LineIndex> find(Ino ino, uint64_t change);
  void keep(Ino ino, uint64_t change, std::shared_ptr<const LineIndex> index);

 private:
  struct Entry {
    Ino ino = 0;
    uint64_t change = 0;
    std::shared_ptr<const LineIndex> index;
  };
  static constexpr size_t kFiles = 64;
  static constexpr size_t kBlocks = size_t{256} * 1024;  // 2 MiB of counters for 32 GiB of files

  std::mutex mutex_;
  std::list<Entry> entries_;  // used last first
  size_t blocks_ = 0;
};

}  // namespace ebla::daemon
