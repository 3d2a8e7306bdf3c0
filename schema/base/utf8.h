// UTF-8, strict: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ebla::utf8 {

struct Decoded {
  char32_t code_point;  // U+FFFD when not valid
  uint8_t length;       // bytes consumed, at least 1; an invalid sequence consumes one byte
  bool valid;
};

// Decodes at `text[0]`; text must not be empty.
Decoded decode(std::string_view text);
void append(std::string& out, char32_t code_point);
bool is_valid(std::string_view text);
// Code points; an invalid byte counts one.
size_t count(std::string_view text);
// The text with each invalid byte, and each surrogate that was encoded as 3 bytes, replaced by one
// U+FFFD; equal to the input when that is valid.
std::string to_valid(std::string_view text);
// Largest n <= limit that does not cut a valid sequence in two.
size_t floor_boundary(std::string_view text, size_t limit);
// Length of the valid but incomplete sequence at the end (0 to 3): what a streaming reader keeps
// for its next slice.
size_t incomplete_tail(std::string_view text);

}  // namespace ebla::utf8
