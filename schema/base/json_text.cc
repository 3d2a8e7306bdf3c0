#include "schema/base/json_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "schema/base/utf8.h"

namespace ebla::json_text {
namespace {

// Four hex digits at `at`; -1 when they are not.
int32_t hex4(std::string_view text, size_t at) {
  if (text.size() < at + 4) return -1;
  int32_t value = 0;
  for (char c : text.substr(at, 4)) {
    int digit;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      return -1;
    }
    value = value << 4 | digit;
  }
  return value;
}

// What stands for a character behind a backslash; '\0': nothing does.
constexpr std::array<char, 256> simple_escapes() {
  std::array<char, 256> table{};
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
  for (size_t i = 0; i < kNames.size(); ++i) {
    table[static_cast<uint8_t>(kNames[i])] = kCharacters[i];
  }
  return table;
}
constexpr std::array<char, 256> kSimple = simple_escapes();

struct Escape {
  size_t taken = 0;  // source bytes, the backslash included
  char32_t code_point = 0;
  const char* fault = nullptr;
};

// The escape at the start of `text`. A pair of surrogates is one character.
Escape read_escape(std::string_view text) {
  if (text.size() < 2) return {0, 0, "a string without its end"};
  if (text[1] != 'u') {
    const char c = kSimple[static_cast<uint8_t>(text[1])];
    if (c == '\0') return {0, 0, "an unknown escape in a string"};
    return {2, static_cast<uint8_t>(c), nullptr};
  }
  const int32_t unit = hex4(text, 2);
  if (unit < 0) return {0, 0, "a \\u escape without four hex digits"};
  const bool high = unit >= 0xD800 && unit <= 0xDBFF;
  if (high && text.substr(6, 2) == "\\u") {
    const int32_t low = hex4(text, 8);
    if (low >= 0xDC00 && low <= 0xDFFF) {
      const int32_t pair = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      return {12, static_cast<char32_t>(pair), nullptr};
    }
  }
  return {6, static_cast<char32_t>(unit), nullptr};
}

// Blocks of text, and where the first backslash of one stands. Escapes stand close together in
// programs: that beats a call for each.
#ifdef __SSE2__

constexpr size_t kBlock = 16;
using Block = __m128i;

Block load_block(const char* at) {
  return _mm_loadu_si128(reinterpret_cast<const Block*>(at));
}
void store_block(char* to, Block block) {
  _mm_storeu_si128(reinterpret_cast<Block*>(to), block);
}
// kBlock: none.
size_t backslash_in(Block block) {
  const int at = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
  return static_cast<size_t>(std::countr_zero(static_cast<uint32_t>(at) | 1u << kBlock));
}

#else

constexpr size_t kBlock = 1;
using Block = char;

Block load_block(const char* at) {
  return *at;
}
void store_block(char* to, Block block) {
  *to = block;
}
size_t backslash_in(Block block) {
  return block == '\\' ? 0 : kBlock;
}

#endif

size_t find_backslash(std::string_view text, size_t at) {
  for (; at + kBlock <= text.size(); at += kBlock) {
    const size_t plain = backslash_in(load_block(&text[at]));
    if (plain < kBlock) return at + plain;
  }
  while (at < text.size() && text[at] != '\\') ++at;
  return at;
}

// A bit for each backslash of the 64 bytes.
constexpr size_t kBlocks = 64;
uint64_t backslashes(const char* at) {
  uint64_t found = 0;
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi8('\\');
  for (size_t i = 0; i < kBlocks; i += kBlock) {
    const int bits = _mm_movemask_epi8(_mm_cmpeq_epi8(load_block(at + i), wanted));
    found |= static_cast<uint64_t>(static_cast<uint32_t>(bits)) << i;
  }
#else
  for (size_t i = 0; i < kBlocks; ++i) found |= uint64_t{at[i] == '\\'} << i;
#endif
  return found;
}

// Copies up to the next backslash; returns where that is. `out` has room for all of `text`.
size_t copy_plain(std::string_view text, size_t at, char*& out) {
  for (; at + kBlock <= text.size(); at += kBlock, out += kBlock) {
    const Block block = load_block(&text[at]);
    store_block(out, block);
    if (const size_t plain = backslash_in(block); plain < kBlock) {
      out += plain;
      return at + plain;
    }
  }
  for (; at < text.size() && text[at] != '\\'; ++at) *out++ = text[at];
  return at;
}

// Decodes into `out`, which has room for all of `inside`; a faulty escape ends it. Returns the
// bytes written.
size_t decode_into(std::string_view inside, char* out) {
  char* const begin = out;
  for (size_t at = copy_plain(inside, 0, out); at < inside.size();) {
    const char simple =
        at + 1 < inside.size() ? kSimple[static_cast<uint8_t>(inside[at + 1])] : '\0';
    if (simple != '\0') {
      *out++ = simple;
      at += 2;
    } else {
      const Escape escape = read_escape(inside.substr(at));
      if (escape.fault != nullptr) break;
      std::string character;
      utf8::append(character, escape.code_point);
      out = std::copy(character.begin(), character.end(), out);
      at += escape.taken;
    }
    at = copy_plain(inside, at, out);
  }
  return static_cast<size_t>(out - begin);
}

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

}  // namespace

StringEnd unescape(std::string_view raw, std::string& out) {
  size_t at = 0;
  while (at < raw.size()) {
    size_t plain = at;
    while (plain < raw.size() && raw[plain] != '"' && raw[plain] != '\\' &&
           static_cast<uint8_t>(raw[plain]) >= 0x20) {
      ++plain;
    }
    out.append(raw.substr(at, plain - at));
    if (plain == raw.size()) break;
    if (raw[plain] == '"') return {plain + 1, nullptr};
    if (raw[plain] != '\\') return {0, "a control character inside a string"};
    const Escape escape = read_escape(raw.substr(plain));
    if (escape.fault != nullptr) return {0, escape.fault};
    utf8::append(out, escape.code_point);
    at = plain + escape.taken;
  }
  return {0, "a string without its end"};
}

const char* escape_fault(std::string_view inside) {
  const char* fault = nullptr;
  // Where the text goes on behind the escape at `at`.
  const auto behind = [&](size_t at) {
    const bool simple =
        at + 1 < inside.size() && kSimple[static_cast<uint8_t>(inside[at + 1])] != 0;
    const Escape escape = simple ? Escape{2, 0, nullptr} : read_escape(inside.substr(at));
    fault = escape.fault;
    return at + escape.taken;
  };
  size_t at = 0;
  while (at + kBlocks <= inside.size()) {
    const size_t block = std::exchange(at, at + kBlocks);
    for (uint64_t left = backslashes(&inside[block]); left != 0;) {
      const size_t next = behind(block + static_cast<size_t>(std::countr_zero(left)));
      if (fault != nullptr) return fault;
      at = std::max(at, next);
      left = next - block < kBlocks ? left & ~uint64_t{0} << (next - block) : 0;
    }
  }
  for (at = find_backslash(inside, at); at < inside.size(); at = find_backslash(inside, at)) {
    at = behind(at);
    if (fault != nullptr) return fault;
  }
  return nullptr;
}

void append_decoded(std::string_view inside, std::string& out) {
  const size_t before = out.size();
  // What is decoded is never longer than its source.
  out.resize_and_overwrite(before + inside.size(), [&](char* bytes, size_t) {
    return before + decode_into(inside, bytes + before);
  });
}

std::string decoded_start(std::string_view inside, size_t limit) {
  constexpr size_t kLongestCharacter = 12;  // a pair of surrogates, each escaped
  std::string out;
  // No character says less than one byte in twelve.
  if (inside.size() / kLongestCharacter > limit) {
    inside = inside.substr(0, (limit + 1) * kLongestCharacter);
  }
  append_decoded(inside, out);
  if (out.size() > limit) out.resize(utf8::floor_boundary(out, limit));
  return out;
}

size_t source_offset(std::string_view inside, size_t decoded) {
  std::string piece;
  size_t at = 0;
  while (at < inside.size()) {
    const size_t plain = std::min(inside.find('\\', at), inside.size());
    if (decoded <= plain - at) return at + decoded;
    decoded -= plain - at;
    if (plain == inside.size()) return plain;
    const Escape escape = read_escape(inside.substr(plain));
    if (escape.fault != nullptr || decoded == 0) return plain;
    piece.clear();
    utf8::append(piece, escape.code_point);
    if (decoded < piece.size()) return plain;
    decoded -= piece.size();
    at = plain + escape.taken;
  }
  return at;
}

bool is_number(std::string_view text) {
  size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t integer = at;
  at = skip_digits(text, at);
  if (at == integer || (at - integer > 1 && text[integer] == '0')) return false;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = at + 1;
    at = skip_digits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = at;
    at = skip_digits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\t' || token.back() == '\n' ||
                            token.back() == '\r')) {
    token.remove_suffix(1);
  }
  return token;
}

}  // namespace ebla::json_text
