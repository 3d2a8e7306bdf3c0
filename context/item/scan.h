// One pass over a content of any size in bounded memory: everything that a decision about it and
// the notice for it need. Bytes come in any slicing; the result does not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/hash.h"
#include "schema/base/limits.h"

namespace ebla::context {

// `characters` counts code points, an invalid byte one each. `class_sum` is the size rule's sum:
// ASCII 1, CJK, kana, hangul 3, emoji 8, others and invalid bytes 2.
struct SizeSums {
  uint64_t bytes = 0;
  uint64_t characters = 0;
  uint64_t class_sum = 0;
  uint64_t lines = 0;  // LF ends a line; text after the last LF is one more
};

// A line kept for the preview: its number from 1, and what a terminal would show of it at its end
// (terminal_text.h): strict UTF-8, at most kKeptLineChars characters.
struct KeptLine {
  uint64_t number = 0;
  std::string text;
  bool cut = false;  // the line has more
};
// A little more than a preview shows, so that a cut sees what follows it.
inline constexpr size_t kKeptLineChars = limits::kPreviewLineChars + 16;

struct ScanOptions {
  size_t head_lines = 5;
  size_t tail_lines = 5;
  size_t tail_characters = 0;             // last characters kept whole (human texts): tail_text
  size_t edge_bytes = 64 * limits::kKiB;  // first and last raw bytes kept: head_edge, tail_edge
};

class ContentScan {
 public:
  explicit ContentScan(ScanOptions options);
  ~ContentScan();
  ContentScan(ContentScan&&) noexcept;
  ContentScan& operator=(ContentScan&&) noexcept;

  void feed(std::string_view bytes);
  void finish();  // no feed after it; the readers below are valid from here

  const SizeSums& sums() const;
  Hash128 hash() const;
  bool valid_utf8() const;
  bool binary() const;  // a NUL in the first 8 KiB, or mostly invalid bytes
  bool final_newline() const;
  const std::vector<KeptLine>& head() const;
  const std::vector<KeptLine>& tail() const;         // after the head, never overlapping it
  const std::vector<KeptLine>& error_lines() const;  // of the middle, at most kPreviewErrorLines
  // The last tail_characters as they are in the content (raw bytes, cut on a character).
  std::string_view tail_text() const;
  // The first and last raw bytes, at most edge_bytes and at most half of the content each, so that
  // they never overlap; cut on a code point.
  std::string_view head_edge() const;
  std::string_view tail_edge() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The size rule over a text at once.
SizeSums measure(std::string_view text);
// Tokens of one item: sum / 4 rounded up.
uint64_t tokens_of_sum(uint64_t sum);

}  // namespace ebla::context
