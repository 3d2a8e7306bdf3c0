#include "context/text/clusters.h"

#include <algorithm>

#include "context/item/size_rule.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr int kMaxSteps = 16;  // a longer cluster is no text
constexpr char32_t kJoiner = 0x200D;

bool is_flag_letter(char32_t c) {
  return c >= 0x1F1E6 && c <= 0x1F1FF;
}

bool joins_previous(char32_t c) {
  return c == kJoiner || (c >= 0x300 && c <= 0x36F) || (c >= 0x1AB0 && c <= 0x1AFF) ||
         (c >= 0x1DC0 && c <= 0x1DFF) || (c >= 0x20D0 && c <= 0x20FF) ||
         (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0xFE20 && c <= 0xFE2F) ||
         (c >= 0x1F3FB && c <= 0x1F3FF) || (c >= 0xE0020 && c <= 0xE01EF);
}

size_t previous(std::string_view text, size_t at) {
  size_t before = at - 1;
  while (before > 0 && at - before < 4 && (static_cast<uint8_t>(text[before]) & 0xC0) == 0x80) {
    --before;
  }
  return before;
}

char32_t code_point_at(std::string_view text, size_t at) {
  return utf8::decode(text.substr(at)).code_point;
}

// Flags are pairs: whether an odd number of letters stands before `at`.
bool splits_flag(std::string_view text, size_t at) {
  if (!is_flag_letter(code_point_at(text, at))) return false;
  int letters = 0;
  while (at > 0 && letters < 2 * kMaxSteps) {
    at = previous(text, at);
    if (!is_flag_letter(code_point_at(text, at))) break;
    ++letters;
  }
  return letters % 2 == 1;
}

bool good_cut(std::string_view text, size_t at) {
  if (at == 0 || at >= text.size()) return true;
  return !joins_previous(code_point_at(text, at)) &&
         code_point_at(text, previous(text, at)) != kJoiner && !splits_flag(text, at);
}

}  // namespace

size_t longest_start(std::string_view text, size_t characters, uint64_t units) {
  size_t at = 0;
  while (at < text.size() && characters > 0) {
    const utf8::Decoded decoded = utf8::decode(text.substr(at));
    const uint64_t size = decoded.valid ? units_of(decoded.code_point) : 2;
    if (size > units) break;
    units -= size;
    --characters;
    at += decoded.length;
  }
  return at;
}

size_t cluster_floor(std::string_view text, size_t at) {
  size_t cut = at;
  for (int step = 0; step < kMaxSteps; ++step) {
    if (good_cut(text, cut)) return cut;
    cut = previous(text, cut);
  }
  return at;
}

size_t cluster_ceiling(std::string_view text, size_t at) {
  size_t cut = at;
  for (int step = 0; step < kMaxSteps; ++step) {
    if (good_cut(text, cut)) return cut;
    cut += utf8::decode(text.substr(cut)).length;
  }
  return at;
}

size_t broken_start(std::string_view text) {
  size_t n = 0;
  while (n < std::min<size_t>(3, text.size()) && (static_cast<uint8_t>(text[n]) & 0xC0) == 0x80) {
    ++n;
  }
  return n;
}

}  // namespace ebla::context
