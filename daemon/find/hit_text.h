// The text of a hit: a window around a match, and the lines around it. Reads the file again at the
// few places that are shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/find/scan.h"
#include "daemon/line_index.h"
#include "schema/base/result.h"

namespace ebla::daemon {

struct LineText {
  uint64_t line = 0;  // from 1
  uint64_t column =
      0;             // of the text's first byte within the line; above 0: the line has more before
  std::string text;  // strict UTF-8; a byte that is none is shown as \xHH
  bool cut = false;  // the line goes on behind the text
  bool marked = false;  // has such bytes
  uint64_t end = 0;     // offset of the byte behind the text
};

// What lies at an offset, by blocks of which the last is kept.
class FileBlock {
 public:
  explicit FileBlock(const ReadAt& read) : read_(read) {}
  // At most limits::kChunkBytes bytes; fewer only at the end of the file. Valid until the next
  // call.
  Result<std::string_view> at(uint64_t offset, size_t bytes);

 private:
  const ReadAt& read_;
  std::vector<char> bytes_;
  uint64_t start_ = 0;
  size_t size_ = 0;
};

// At most `limit` bytes of the match's line, shown; the match is among them, or its start.
Result<LineText> match_text(FileBlock& file, const ScanMatch& match, size_t limit);
// The start of a line, that begins at `line_start`.
Result<LineText> line_text(FileBlock& file, uint64_t line, uint64_t line_start, size_t limit);

// Starts of up to `count` lines before (after) the line that begins at `line_start`, as far as
// limits::kContextReachBytes reach. In the order of the file.
Result<std::vector<uint64_t>> lines_before(FileBlock& file, uint64_t line_start, size_t count);
Result<std::vector<uint64_t>> lines_after(FileBlock& file, uint64_t line_start, size_t count);

}  // namespace ebla::daemon
