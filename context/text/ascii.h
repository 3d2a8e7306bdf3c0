// Letters as names and headings are compared by: ASCII only, all other bytes as they are.
#pragma once

#include <string>
#include <string_view>

namespace ebla::context {

inline char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lowered(c);
  return out;
}

}  // namespace ebla::context
