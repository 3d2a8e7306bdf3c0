// Where the sections and messages of a history file lie, by the rules of ebla-history(5). Blocks
// are skipped by their length, so nothing inside one is taken for a heading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ebla::tools {

struct HistoryMessage {
  uint64_t number = 0;
  std::string role;
  uint64_t begin = 0;  // offsets in the file; the end is where the next thing begins
  uint64_t end = 0;
};

struct HistorySection {
  uint64_t ordinal = 0;
  uint64_t first = 0;  // numbers of its messages
  uint64_t last = 0;
  std::string written;  // "2026-02-03 04:05:06 UTC, after rewind to message 40"
  bool summary = false;
  uint64_t begin = 0;
  uint64_t end = 0;
  std::vector<HistoryMessage> messages;
};

class HistoryIndex {
 public:
  // The file's bytes in order, in pieces of any size.
  void feed(std::string_view piece);
  // After the last piece.
  void finish();

  const std::vector<HistorySection>& sections() const { return sections_; }

 private:
  void line(std::string_view text, uint64_t begin);
  void end_message(uint64_t at);

  std::vector<HistorySection> sections_;
  std::string cut_;          // start of a line whose end has not come yet
  uint64_t at_ = 0;          // offset of what comes next
  uint64_t skip_bytes_ = 0;  // of a block
};

}  // namespace ebla::tools
