#include "schema/base/utf8.h"

#include <algorithm>

namespace ebla::utf8 {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

uint8_t byte_at(std::string_view text, size_t i) {
  return static_cast<uint8_t>(text[i]);
}

bool is_continuation(uint8_t byte) {
  return (byte & 0xC0) == 0x80;
}

// Length that a lead byte announces; 0 for bytes that begin nothing.
uint8_t announced_length(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

bool is_encoded_surrogate(std::string_view text) {
  return text.size() >= 3 && byte_at(text, 0) == 0xED && byte_at(text, 1) >= 0xA0 &&
         byte_at(text, 1) <= 0xBF && is_continuation(byte_at(text, 2));
}

// The second byte has a narrower range after some leads: no overlong form, no surrogate, no end
// beyond U+10FFFF.
bool second_allowed(uint8_t lead, uint8_t second) {
  if (!is_continuation(second)) return false;
  switch (lead) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second <= 0x9F;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second <= 0x8F;
    default:
      return true;
  }
}

}  // namespace

Decoded decode(std::string_view text) {
  const uint8_t lead = byte_at(text, 0);
  const uint8_t length = announced_length(lead);
  if (length == 1) return {lead, 1, true};
  if (length == 0 || text.size() < length || !second_allowed(lead, byte_at(text, 1))) {
    return {kReplacement, 1, false};
  }
  char32_t code_point = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const uint8_t byte = byte_at(text, i);
    if (!is_continuation(byte)) return {kReplacement, 1, false};
    code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {code_point, length, true};
}

void append(std::string& out, char32_t code_point) {
  auto push = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    push(code_point);
  } else if (code_point < 0x800) {
    push(0xC0 | code_point >> 6);
    push(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    push(0xE0 | code_point >> 12);
    push(0x80 | (code_point >> 6 & 0x3F));
    push(0x80 | (code_point & 0x3F));
  } else {
    push(0xF0 | code_point >> 18);
    push(0x80 | (code_point >> 12 & 0x3F));
    push(0x80 | (code_point >> 6 & 0x3F));
    push(0x80 | (code_point & 0x3F));
  }
}

bool is_valid(std::string_view text) {
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (!d.valid) return false;
    text.remove_prefix(d.length);
  }
  return true;
}

size_t count(std::string_view text) {
  size_t n = 0;
  for (; !text.empty(); ++n) text.remove_prefix(decode(text).length);
  return n;
}

std::string to_valid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (d.valid) {
      out.append(text.substr(0, d.length));
    } else {
      append(out, kReplacement);
    }
    text.remove_prefix(is_encoded_surrogate(text) ? 3 : d.length);
  }
  return out;
}

size_t floor_boundary(std::string_view text, size_t limit) {
  if (limit >= text.size()) return text.size();
  // A valid sequence that crosses the limit begins at most three bytes before it.
  for (size_t back = 1; back <= 3 && back <= limit; ++back) {
    const size_t start = limit - back;
    if (is_continuation(byte_at(text, start))) continue;
    const Decoded d = decode(text.substr(start));
    return d.valid && start + d.length > limit ? start : limit;
  }
  return limit;
}

size_t incomplete_tail(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const size_t start = text.size() - back;
    const uint8_t lead = byte_at(text, start);
    if (is_continuation(lead)) continue;
    if (announced_length(lead) <= back) return 0;
    if (back >= 2 && !second_allowed(lead, byte_at(text, start + 1))) return 0;
    return back;
  }
  return 0;
}

}  // namespace ebla::utf8
