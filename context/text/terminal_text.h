// What a terminal would show in the end of one line: escape sequences gone, carriage returns and
// backspaces carried out, no control byte left but TAB. Streaming, bounded by its column limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ebla::context {

// Every code point is one column: a redraw that mixes narrow and wide text may keep a wrong rest,
// never half a character. Invalid bytes become one U+FFFD for each run of them. The result does
// not depend on how the line is sliced. Not thread safe.
class TerminalLine {
 public:
  explicit TerminalLine(size_t max_columns) : max_columns_(max_columns) {}

  void feed(std::string_view bytes);  // without the LF that ends the line
  // The line so far, strict UTF-8; a sequence that the end cut counts as invalid.
  std::string text() const;
  bool cut() const { return cut_; }  // the line is longer than its column limit

 private:
  enum class State : uint8_t { ground, escape, intermediate, csi, string, string_escape };

  size_t ground(std::string_view bytes);
  void control(uint8_t byte);
  void escape(uint8_t byte);
  void csi(uint8_t byte);
  void run_csi(uint8_t final);
  void character(char32_t code_point);
  void put(char32_t code_point);
  void put_ascii(std::string_view run);
  void invalid();
  void move_to(size_t column);
  void erase(unsigned how);
  void to_cells();

  size_t max_columns_;
  // As long as text is only appended it stays UTF-8 in `plain_`; the first move of the cursor back
  // turns it into one code point a cell.
  std::string plain_;
  std::u32string cells_;
  bool in_cells_ = false;
  size_t columns_ = 0;  // in plain_
  size_t cursor_ = 0;   // in cells_
  bool cut_ = false;
  bool after_invalid_ = false;
  State state_ = State::ground;
  uint32_t parameter_ = 0;
  bool first_parameter_ = true;
  char carry_[4] = {};  // sequence that the last slice cut
  size_t carry_size_ = 0;
};

std::string resolve_line(std::string_view line, size_t max_columns);

}  // namespace ebla::context
