// Text for people: tables, sizes, times, and what a terminal may safely be shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ebla::tools {

// Control bytes and invalid UTF-8 as visible escapes; LF and tab stay.
std::string terminal_text(std::string_view bytes);
// A word of a shell line that can be copied back: quoted only where it must be.
std::string shell_word(std::string_view word);

std::string format_bytes(uint64_t bytes);  // "80001" below 1 MiB, else "1.5 MiB (1572864)"
// A time of the protocol, "2026-01-31T12:34:56.123456789Z", as local "2026-01-31 13:34:56"; any
// other text as it is.
std::string format_time(std::string_view utc);
std::string format_duration(uint64_t seconds);  // "3 d 04:05:06"

// Columns padded to their widest cell, two blanks between; nothing is cut.
class Table {
 public:
  enum class Align { left, right };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ebla::tools
