#include "context/text/terminal_text.h"

#include <algorithm>
#include <cstring>

#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr uint32_t kMaxParameter = 1'000'000;
constexpr uint8_t kEscape = 0x1B;
constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;

bool is_plain(char c) {
  return (c >= 0x20 && c < 0x7F) || c == '\t';
}

// Bytes that can still change a line whose visible columns are full.
bool moves_cursor(char c) {
  return c == '\r' || c == '\b' || c == static_cast<char>(kEscape);
}

uint64_t zero_bytes(uint64_t word) {  // nonzero if a byte of the word is zero
  return (word - kOnes) & ~word & kHighBits;
}

size_t skip_unmoving(std::string_view bytes) {
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[i], 8);
    if ((zero_bytes(word ^ kOnes * '\r') | zero_bytes(word ^ kOnes * '\b') |
         zero_bytes(word ^ kOnes * kEscape)) != 0) {
      break;
    }
  }
  while (i < bytes.size() && !moves_cursor(bytes[i])) ++i;
  return i;
}

bool incomplete(std::string_view bytes) {
  return bytes.size() < 4 && utf8::incomplete_tail(bytes) == bytes.size();
}

}  // namespace

void TerminalLine::feed(std::string_view bytes) {
  while (carry_size_ > 0 && !bytes.empty()) {
    carry_[carry_size_++] = bytes.front();
    bytes.remove_prefix(1);
    const std::string_view carried(carry_, carry_size_);
    if (incomplete(carried)) continue;
    // Not longer a prefix of anything: take it in, and what is left of it begins anew.
    std::string again(carried);
    carry_size_ = 0;
    feed(again);
  }
  size_t i = 0;
  while (i < bytes.size()) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    switch (state_) {
      case State::ground:
        i += ground(bytes.substr(i));
        if (carry_size_ > 0) return;
        break;
      case State::escape:
        escape(byte);
        if (state_ != State::ground || (byte >= 0x20 && byte < 0x7F)) ++i;
        break;
      case State::intermediate:
        if (byte < 0x20 || byte > 0x2F) state_ = State::ground;
        if (byte >= 0x20 && byte < 0x7F) ++i;
        break;
      case State::csi:
        csi(byte);
        if (state_ != State::ground || (byte >= 0x20 && byte < 0x7F)) ++i;
        break;
      case State::string:
        if (byte == kEscape) state_ = State::string_escape;
        if (byte == 0x07 || byte == 0x18 || byte == 0x1A) state_ = State::ground;
        ++i;
        break;
      case State::string_escape:
        // ESC \ ends the string; ESC and anything else begins a sequence of its own.
        state_ = byte == '\\' ? State::ground : State::escape;
        if (byte == '\\') ++i;
        break;
    }
  }
}

// Takes at least one byte, or keeps an incomplete sequence for the next slice.
size_t TerminalLine::ground(std::string_view bytes) {
  const bool full = in_cells_ ? cursor_ >= max_columns_ : columns_ >= max_columns_;
  if (full && cut_) {
    const size_t skipped = skip_unmoving(bytes);
    if (skipped > 0) return skipped;
  }
  const auto byte = static_cast<uint8_t>(bytes[0]);
  if (is_plain(bytes[0])) {
    size_t run = 1;
    while (run < bytes.size() && is_plain(bytes[run])) ++run;
    put_ascii(bytes.substr(0, run));
    return run;
  }
  if (byte < 0x80) {
    control(byte);
    return 1;
  }
  if (incomplete(bytes)) {
    carry_size_ = bytes.size();
    std::memcpy(carry_, bytes.data(), bytes.size());
    return bytes.size();
  }
  const utf8::Decoded decoded = utf8::decode(bytes);
  if (decoded.valid) {
    character(decoded.code_point);
  } else {
    invalid();
  }
  return decoded.length;
}

void TerminalLine::control(uint8_t byte) {
  switch (byte) {
    case '\r':
      move_to(0);
      break;
    case '\b':
      if (in_cells_ ? cursor_ > 0 && cursor_ < max_columns_
                    : columns_ > 0 && columns_ < max_columns_) {
        move_to((in_cells_ ? cursor_ : columns_) - 1);
      }
      break;
    case kEscape:
      state_ = State::escape;
      break;
    case 0x0B:
    case 0x0C:
      put(' ');
      break;
    default:  // BEL, NUL and the others leave no mark
      break;
  }
}

void TerminalLine::escape(uint8_t byte) {
  if (byte == kEscape) return;
  if (byte == '[') {
    state_ = State::csi;
    parameter_ = 0;
    first_parameter_ = true;
  } else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_') {
    state_ = State::string;
  } else if (byte >= 0x20 && byte <= 0x2F) {
    state_ = State::intermediate;
  } else {
    state_ = State::ground;  // a two-byte sequence, or no sequence at all
  }
}

void TerminalLine::csi(uint8_t byte) {
  if (byte >= '0' && byte <= '9') {
    if (first_parameter_) parameter_ = std::min(parameter_ * 10 + (byte - '0'), kMaxParameter);
  } else if (byte == ';' || byte == ':') {
    first_parameter_ = false;
  } else if (byte >= 0x40 && byte < 0x7F) {
    state_ = State::ground;
    run_csi(byte);
  } else if (byte == kEscape) {
    state_ = State::escape;
  } else if (byte < 0x20 || byte >= 0x7F) {
    state_ = State::ground;  // broken off: the byte stands for itself
  }
}

void TerminalLine::run_csi(uint8_t final) {
  const size_t here = in_cells_ ? cursor_ : columns_;
  const size_t by = std::max<uint32_t>(parameter_, 1);
  switch (final) {
    case 'K':
      erase(parameter_);
      break;
    case 'J':
      erase(parameter_ == 0 ? 0 : 2);
      break;
    case 'G':
      move_to(std::min(by - 1, max_columns_));
      break;
    case 'H':
      move_to(0);
      break;
    case 'D':
      move_to(here - std::min(here, by));
      break;
    case 'C':
      move_to(std::min(here + by, max_columns_));
      break;
    default:  // colours, and moves to other lines
      break;
  }
}

void TerminalLine::character(char32_t c) {
  if (c == 0x9B) {
    escape('[');
  } else if (c == 0x90 || c == 0x98 || c == 0x9D || c == 0x9E || c == 0x9F) {
    state_ = State::string;
  } else if (c == 0x85 || c == 0x2028 || c == 0x2029) {
    put(' ');  // some readers take these for the end of a line
  } else if (c >= 0xA0) {
    put(c);
  }
}

void TerminalLine::put(char32_t c) {
  after_invalid_ = false;
  if (!in_cells_) {
    if (columns_ >= max_columns_) {
      cut_ = true;
      return;
    }
    utf8::append(plain_, c);
    ++columns_;
    return;
  }
  if (cursor_ >= max_columns_) {
    cut_ = true;
    return;
  }
  if (cursor_ >= cells_.size()) cells_.resize(cursor_ + 1, U' ');
  cells_[cursor_++] = c;
}

void TerminalLine::put_ascii(std::string_view run) {
  if (in_cells_) {
    for (char c : run) {
      put(static_cast<char32_t>(c));
      if (cursor_ >= max_columns_ && cut_) break;
    }
    return;
  }
  after_invalid_ = false;
  const size_t room = std::min(run.size(), max_columns_ - columns_);
  plain_.append(run.substr(0, room));
  columns_ += room;
  cut_ = cut_ || room < run.size();
}

void TerminalLine::invalid() {
  if (!after_invalid_) put(kReplacement);
  after_invalid_ = true;
}

void TerminalLine::move_to(size_t column) {
  after_invalid_ = false;
  if (!in_cells_ && column == columns_) return;
  to_cells();
  cursor_ = column;
}

void TerminalLine::erase(unsigned how) {
  to_cells();
  if (how == 1) {
    const size_t end = std::min(cells_.size(), cursor_ + 1);
    std::fill_n(cells_.begin(), end, U' ');
    return;
  }
  const size_t from = how == 2 ? 0 : cursor_;
  if (cells_.size() > from) cells_.resize(from);
  if (from < max_columns_) cut_ = false;
}

void TerminalLine::to_cells() {
  if (in_cells_) return;
  in_cells_ = true;
  cells_.reserve(columns_);
  for (std::string_view rest = plain_; !rest.empty();) {
    const utf8::Decoded decoded = utf8::decode(rest);
    cells_.push_back(decoded.code_point);
    rest.remove_prefix(decoded.length);
  }
  cursor_ = cells_.size();
  plain_.clear();
}

std::string TerminalLine::text() const {
  std::string out = plain_;
  // A redraw that ends in blanks wiped out what was there before: they are not content.
  if (in_cells_) {
    const size_t end = cells_.find_last_not_of(U' ');
    for (size_t i = 0; end != std::u32string::npos && i <= end; ++i) utf8::append(out, cells_[i]);
  }
  const size_t column = in_cells_ ? cursor_ : columns_;
  if (carry_size_ > 0 && !after_invalid_ && column < max_columns_ && state_ == State::ground) {
    utf8::append(out, kReplacement);
  }
  return out;
}

std::string resolve_line(std::string_view line, size_t max_columns) {
  TerminalLine terminal(max_columns);
  terminal.feed(line);
  return terminal.text();
}

}  // namespace ebla::context
