#include "context/item/size_rule.h"

#include <algorithm>
#include <cstring>

#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;
constexpr size_t kBlock = 64;

uint64_t load_word(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// One bit (0x01) for each byte of `word` that is LF; exact also for bytes above 0x7F.
uint64_t newline_bits(uint64_t word) {
  const uint64_t x = word ^ (kOnes * '\n');
  const uint64_t low = (x & ~kHighBits) + ~kHighBits;
  return (~(low | x) & kHighBits) >> 7;
}

// Sum of the eight bytes of a word, which must stay below 256.
uint64_t add_bytes(uint64_t word) {
  return (word * kOnes) >> 56;
}

// Newlines of one block; whether all its bytes are ASCII is or-ed into `high`.
uint64_t block_newlines(const char* at, uint64_t& high) {
  uint64_t newlines = 0;
  uint64_t all = 0;
  for (size_t i = 0; i < kBlock; i += 8) {
    const uint64_t word = load_word(at + i);
    all |= word;
    newlines += newline_bits(word);
  }
  high = all & kHighBits;
  return add_bytes(newlines);
}

bool is_continuation(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

// Whether the bytes can be the start of a sequence that only more bytes would complete.
bool incomplete(std::string_view bytes) {
  return bytes.size() < 4 && utf8::incomplete_tail(bytes) == bytes.size();
}

}  // namespace

uint32_t units_of(char32_t c) {
  if (c < 0x80) return 1;
  if (c < 0x1100) return 2;
  if (c <= 0x11FF || (c >= 0x2E80 && c <= 0x9FFF) || (c >= 0xA960 && c <= 0xA97F) ||
      (c >= 0xAC00 && c <= 0xD7FF) || (c >= 0xF900 && c <= 0xFAFF) ||
      (c >= 0xFF00 && c <= 0xFFEF) || (c >= 0x1AFF0 && c <= 0x1B16F) ||
      (c >= 0x20000 && c <= 0x3FFFF)) {
    return 3;
  }
  return c >= 0x1F000 && c <= 0x1FAFF ? 8 : 2;
}

uint64_t count_newlines(std::string_view bytes) {
  uint64_t newlines = 0;
  size_t i = 0;
  uint64_t high = 0;
  for (; i + kBlock <= bytes.size(); i += kBlock) newlines += block_newlines(&bytes[i], high);
  return newlines + static_cast<uint64_t>(
                        std::count(bytes.begin() + static_cast<ptrdiff_t>(i), bytes.end(), '\n'));
}

// One sequence at the start of `bytes`, whose first byte is not ASCII. Returns the bytes taken; 0
// when more are needed to tell.
size_t SizeCounter::count_sequence(std::string_view bytes, bool last) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  // What nearly all text is made of needs no full decoding: two bytes (Latin, Greek, Cyrillic,
  // Arabic), U+3000 to U+9FFF (Chinese, Japanese), U+1F000 to U+1FFFF (emoji).
  if (lead >= 0xC2 && lead <= 0xDF && bytes.size() >= 2 && is_continuation(bytes[1])) {
    add_character(2);
    return 2;
  }
  if (lead >= 0xE3 && lead <= 0xE9 && bytes.size() >= 3 && is_continuation(bytes[1]) &&
      is_continuation(bytes[2])) {
    add_character(3);
    return 3;
  }
  if (lead == 0xF0 && bytes.size() >= 4 && static_cast<uint8_t>(bytes[1]) == 0x9F &&
      is_continuation(bytes[2]) && is_continuation(bytes[3])) {
    add_character(static_cast<uint8_t>(bytes[2]) <= 0xAB ? 8 : 2);
    return 4;
  }
  if (lead < 0xC2 || lead > 0xF4) {  // begins nothing
    add_character(2);
    ++invalid_;
    return 1;
  }
  if (!last && incomplete(bytes)) return 0;
  const utf8::Decoded decoded = utf8::decode(bytes);
  add_character(decoded.valid ? units_of(decoded.code_point) : 2);
  invalid_ += decoded.valid ? 0 : 1;
  return decoded.length;
}

// Returns the bytes taken: all but an incomplete sequence at the end, unless `last`.
size_t SizeCounter::count(std::string_view bytes, bool last) {
  size_t i = 0;
  while (i < bytes.size()) {
    while (i + kBlock <= bytes.size()) {
      uint64_t high = 0;
      const uint64_t newlines = block_newlines(&bytes[i], high);
      if (high != 0) break;
      sums_.lines += newlines;
      sums_.characters += kBlock;
      sums_.class_sum += kBlock;
      i += kBlock;
    }
    const size_t stop = std::min(bytes.size(), i + kBlock);
    while (i < stop) {
      const char byte = bytes[i];
      if (static_cast<uint8_t>(byte) < 0x80) {
        sums_.lines += byte == '\n' ? 1 : 0;
        ++sums_.characters;
        ++sums_.class_sum;
        ++i;
        continue;
      }
      const size_t taken = count_sequence(bytes.substr(i), last);
      if (taken == 0) return i;
      i += taken;
    }
  }
  return i;
}

void SizeCounter::feed(std::string_view bytes) {
  if (bytes.empty()) return;
  sums_.bytes += bytes.size();
  final_newline_ = bytes.back() == '\n';
  // Complete what the last slice cut, a byte at a time: at most three bytes are missing.
  while (carry_size_ > 0 && !bytes.empty()) {
    carry_[carry_size_++] = bytes.front();
    bytes.remove_prefix(1);
    const size_t taken = count({carry_, carry_size_}, false);
    std::memmove(carry_, carry_ + taken, carry_size_ - taken);
    carry_size_ -= taken;
  }
  const size_t taken = count(bytes, false);
  if (taken == bytes.size()) return;
  carry_size_ = bytes.size() - taken;
  std::memcpy(carry_, bytes.data() + taken, carry_size_);
}

void SizeCounter::finish() {
  count({carry_, carry_size_}, true);
  carry_size_ = 0;
  if (sums_.bytes > 0 && !final_newline_) ++sums_.lines;
}

uint64_t units_of_text(std::string_view text) {
  return measure(text).class_sum;
}

SizeSums measure(std::string_view text) {
  SizeCounter counter;
  counter.feed(text);
  counter.finish();
  return counter.sums();
}

uint64_t tokens_of_sum(uint64_t sum) {
  return sum / 4 + (sum % 4 == 0 ? 0 : 1);
}

}  // namespace ebla::context
