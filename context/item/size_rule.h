// The size rule, streamed: what an item counts for its limit. One pass, ASCII in bulk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "context/item/scan.h"

namespace ebla::context {

// Units of one code point: ASCII 1; CJK, kana, hangul 3; emoji 8; others 2.
uint32_t units_of(char32_t code_point);
// Units of a text that is valid UTF-8 (invalid bytes count as the rule says, 2 each).
uint64_t units_of_text(std::string_view text);
// Newlines in a span, eight bytes at a time.
uint64_t count_newlines(std::string_view bytes);

class SizeCounter {
 public:
  void feed(std::string_view bytes);
  void finish();  // a sequence cut by the end counts as invalid bytes

  const SizeSums& sums() const { return sums_; }  // `lines` is right after finish()
  uint64_t invalid_bytes() const { return invalid_; }
  bool final_newline() const { return final_newline_; }

 private:
  size_t count(std::string_view bytes, bool last);
  size_t count_sequence(std::string_view bytes, bool last);
  void add_character(uint64_t units) {
    ++sums_.characters;
    sums_.class_sum += units;
  }

  SizeSums sums_;
  uint64_t invalid_ = 0;
  bool final_newline_ = false;
  char carry_[4] = {};  // sequence that the last slice cut
  size_t carry_size_ = 0;
};

}  // namespace ebla::context
