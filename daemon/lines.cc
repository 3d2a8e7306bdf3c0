#include "daemon/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "context/item/scan.h"
#include "schema/base/utf8.h"

namespace ebla::daemon {
namespace {

constexpr uint64_t kPageBytes = 8 * limits::kMiB;  // whatever page_tokens allows

// Reads a file forward, a block at a time.
class Forward {
 public:
  Forward(const ReadAt& read, uint64_t offset, uint64_t end)
      : read_(read), offset_(offset), end_(end), block_(LineIndex::kBlock) {}

  // What is left of the block; empty at the end. At least 4 bytes unless the file ends, so that no
  // character is cut.
  Result<std::string_view> peek() {
    if (filled_ - used_ < 4 && offset_ < end_) {
      std::copy(block_.begin() + static_cast<ptrdiff_t>(used_),
                block_.begin() + static_cast<ptrdiff_t>(filled_), block_.begin());
      filled_ -= used_;
      used_ = 0;
      const size_t want =
          static_cast<size_t>(std::min<uint64_t>(block_.size() - filled_, end_ - offset_));
      auto got = read_(offset_, {block_.data() + filled_, want});
      if (!got) return std::unexpected(got.error());
      filled_ += *got;
      offset_ = *got < want ? end_ : offset_ + *got;
    }
    return std::string_view(block_.data() + used_, filled_ - used_);
  }
  void skip(size_t bytes) { used_ += bytes; }

 private:
  const ReadAt& read_;
  uint64_t offset_;
  uint64_t end_;
  std::vector<char> block_;
  size_t used_ = 0;
  size_t filled_ = 0;
};

// Size rule of one character, with invalid bytes as they are shown.
uint64_t weight(std::string_view shown) {
  return shown.size() == 1 ? 1 : context::measure(shown).class_sum;
}

// One line, or as much of it as fits.
struct Piece {
  std::string text;
  uint64_t bytes = 0;  // of the file
  uint64_t sum = 0;
  bool ended = false;  // its line end or the file's end is within
  bool marked = false;
};

// Takes from the file until the line ends or the next character would go over `budget`.
Result<Piece> take_line(Forward& file, uint64_t budget, bool plain_ends) {
  Piece piece;
  for (;;) {
    auto bytes = file.peek();
    if (!bytes) return std::unexpected(bytes.error());
    if (bytes->empty()) {
      piece.ended = true;
      return piece;
    }
    const utf8::Decoded decoded = utf8::decode(*bytes);
    std::string_view shown = bytes->substr(0, decoded.length);
    std::string escape;
    if (!decoded.valid) {
      escape = fmt::format("\\x{:02X}", static_cast<unsigned char>(bytes->front()));
      shown = escape;
    }
    const uint64_t cost = weight(shown);
    if (piece.sum + cost > budget) return piece;
    piece.marked |= !decoded.valid;
    piece.sum += cost;
    piece.bytes += decoded.length;
    piece.text += shown;
    file.skip(decoded.length);
    if (decoded.code_point == U'\n' && decoded.valid) {
      if (plain_ends && piece.text.ends_with("\r\n")) {
        piece.text.replace(piece.text.size() - 2, 2, "\n");
      }
      piece.ended = true;
      return piece;
    }
  }
}

std::string gutter(uint64_t number, bool within) {
  return fmt::format("{:>6}{}\t", number, within ? "+" : "");
}

Error past_the_end(uint64_t offset, const LineIndex& index) {
  return {Code::out_of_range,
          fmt::format("offset {} is past the end: the file has {} lines, offsets 0 to {}", offset,
                      index.lines, index.lines - 1)};
}

// Where the page starts: the column checked against the line, and moved off the middle of a
// character.
Result<uint64_t> find_start(const ReadAt& read, const LineIndex& index, uint64_t line,
                            uint64_t& column, Page& page) {
  auto start = line_start(read, index, line);
  if (!start || column == 0) return start;
  uint64_t length = index.size - *start;
  if (line + 1 < index.lines) {
    auto next = line_start(read, index, line + 1);
    if (!next) return next;
    length = *next - *start;
  }
  if (column >= length) {
    return fail(Code::out_of_range,
                fmt::format("column {} is past the end: line {} has {} bytes, its end included",
                            column, line + 1, length));
  }
  const uint64_t back = std::min<uint64_t>(3, column);
  char around[8];
  auto got = read(*start + column - back, std::span(around, back + 4));
  if (!got) return std::unexpected(got.error());
  const std::string_view bytes(around, *got);
  for (uint64_t step = 1; step <= back; ++step) {
    const utf8::Decoded decoded = utf8::decode(bytes.substr(back - step));
    if (decoded.valid && decoded.length > step) {
      page.notes.push_back(
          fmt::format("column {} lies within a character: read from {}", column, column - step));
      column -= step;
      break;
    }
  }
  return *start + column;
}

Result<void> fill(const ReadAt& read, const LineIndex& index, const PageRequest& request,
                  uint64_t line, uint64_t column, uint64_t start, Page& page) {
  const uint64_t budget =
      std::max<uint64_t>(64, std::min(request.tokens, kPageBytes / 4) * 4);  // sum of the size rule
  Forward file(read, start, index.size);
  uint64_t used = 0;
  const uint64_t limit = std::min(request.limit, index.lines - line);
  for (uint64_t taken = 0; taken < limit; ++taken) {
    const std::string number =
        request.numbered ? gutter(line + 1, taken == 0 && column > 0) : std::string();
    const uint64_t left = budget - used;
    auto piece = take_line(file, left > number.size() ? left - number.size() : 0, request.numbered);
    if (!piece) return std::unexpected(piece.error());
    if (!piece->ended && taken > 0) break;  // the next page begins with this line
    page.text += number;
    page.text += piece->text;
    page.marked |= piece->marked;
    page.last = line + 1;
    used += number.size() + piece->sum;
    if (!piece->ended) {
      page.next = line;
      page.next_column = (taken == 0 ? column : 0) + piece->bytes;
      return {};
    }
    ++line;
  }
  if (line < index.lines) page.next = line;
  return {};
}

}  // namespace

Result<Page> read_page(const ReadAt& read, const LineIndex& index, const PageRequest& request) {
  Page page;
  uint64_t line = 0;
  if (request.offset < 0) {
    page.notes.push_back(fmt::format("offset {} is before the start: read from 0", request.offset));
  } else {
    line = static_cast<uint64_t>(request.offset);
  }
  if (index.lines == 0) {
    if (line > 0 || request.column > 0) {
      return fail(Code::out_of_range, "past the end: the file is empty");
    }
    page.notes.emplace_back("the file is empty");
    return page;
  }
  if (line >= index.lines) return std::unexpected(past_the_end(line, index));
  uint64_t column = request.column;
  auto start = find_start(read, index, line, column, page);
  if (!start) return std::unexpected(start.error());
  if (request.limit == 0) {
    page.notes.emplace_back("limit 0: nothing was read");
    page.next = line;
    if (column > 0) page.next_column = column;
    return page;
  }
  page.first = line + 1;
  if (auto done = fill(read, index, request, line, column, *start, page); !done) {
    return std::unexpected(done.error());
  }
  return page;
}

}  // namespace ebla::daemon
