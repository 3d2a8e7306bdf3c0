#include "context/texts.h"

#include "schema/base/utf8.h"

namespace ebla::context::texts {
namespace {

constexpr size_t kMaxToolChars = 48;

bool shows_as_is(char32_t c) {
  if (c < 0x80) {
    return c > ' ' && c != '`' && c != '"' && c != '\'' && c != '[' && c != ']' && c != 0x7F;
  }
  const bool invisible =
      c < 0xA0 || (c >= 0x2000 && c <= 0x206F) || c == 0xFEFF || (c >= 0xE0000 && c <= 0xE0FFF);
  return !invisible;
}

}  // namespace

std::string grouped(uint64_t number) {
  std::string out = std::to_string(number);
  for (size_t i = out.size(); i > 3;) {
    i -= 3;
    out.insert(i, 1, ',');
  }
  return out;
}

std::string_view plural(uint64_t number, std::string_view one, std::string_view many) {
  return number == 1 ? one : many;
}

std::string tool_name(std::string_view name) {
  std::string out;
  for (size_t n = 0; !name.empty(); ++n) {
    if (n == kMaxToolChars) return out + kCut;
    const utf8::Decoded decoded = utf8::decode(name);
    utf8::append(out, decoded.valid && shows_as_is(decoded.code_point) ? decoded.code_point : U'_');
    name.remove_prefix(decoded.length);
  }
  return out;
}

}  // namespace ebla::context::texts
