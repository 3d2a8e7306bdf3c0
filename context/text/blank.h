// Texts that show nothing.
#pragma once

#include <string_view>

#include "schema/base/utf8.h"

namespace ebla::context {

// White space as Unicode has it, the separators of ASCII among it: what Python's str.strip() takes
// off, and a provider that refuses empty texts takes for nothing.
inline bool is_white(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

inline bool is_blank(std::string_view text) {
  while (!text.empty()) {
    const utf8::Decoded decoded = utf8::decode(text);
    if (!decoded.valid || !is_white(decoded.code_point)) return false;
    text.remove_prefix(decoded.length);
  }
  return true;
}

}  // namespace ebla::context
