#include "context/text/tokens.h"

#include <algorithm>
#include <bit>

#include "context/item/size_rule.h"
#include "context/text/byte_masks.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// Everything is counted in 1/1400 of a token, in which each weight is a whole number: the count is
// exact.
constexpr uint64_t kToken = 1400;
constexpr uint64_t kLongLetter = kToken / 7;  // each letter of a part after the seventh
constexpr uint64_t kMixedByte = 875;          // 1 / 1.6: of a word that changes class too often
constexpr uint64_t kMark = 868;               // 0.62: punctuation
constexpr uint64_t kRepeatedMark = 420;       // 0.3
constexpr uint64_t kHalf = kToken / 2;        // a newline; a run of spaces beyond one
constexpr uint64_t kEastAsian = 1050;         // 0.75
constexpr uint64_t kLetter = 560;             // 0.4: other letters
constexpr uint64_t kSymbol = 840;             // 0.6
constexpr uint64_t kEmoji = 2 * kToken;
constexpr uint64_t kDigitsPerToken = 3;

// Bits that are set; std::popcount is a call where the processor may be an old one.
uint64_t ones(uint64_t mask) {
  mask -= mask >> 1 & 0x5555555555555555;
  mask = (mask & 0x3333333333333333) + (mask >> 2 & 0x3333333333333333);
  mask = (mask + (mask >> 4)) & 0x0F0F0F0F0F0F0F0F;
  return mask * 0x0101010101010101 >> 56;
}
size_t first_of(uint64_t mask) {
  return static_cast<size_t>(std::countr_zero(mask));
}
// The lowest `count` bits.
uint64_t low(size_t count) {
  return count >= kMaskBytes ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Digits cost one token for the first of each three; this is what comes after the first token.
uint64_t more_digits(uint64_t digits) {
  uint64_t fourth = digits & digits << 1;
  fourth &= digits << 2 & digits << 3;
  uint64_t more = 0;
  while (fourth != 0) {
    const size_t begin = first_of(fourth);
    const auto run = static_cast<size_t>(std::countr_one(fourth >> begin));
    more += (run + kDigitsPerToken - 1) / kDigitsPerToken;
    fourth &= ~(low(run) << begin);
  }
  return more;
}

bool is_mixed(uint64_t length, uint64_t changes, bool digit) {
  return (digit && changes >= 2 && 100 * changes > 18 * length) ||
         (length >= 12 && 10 * changes > 3 * length);
}
uint64_t mixed_weight(uint64_t length) {
  return std::max(kToken, kMixedByte * length);
}

uint64_t weight_of(char32_t c) {
  const bool east = (c >= 0x2E80 && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7AF) ||
                    (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFFEF) ||
                    (c >= 0x20000 && c <= 0x3FFFF);
  if (east) return kEastAsian;
  if (c < 0x2000) return kLetter;
  return c >= 0x1F000 ? kEmoji : kSymbol;
}

// What a word of 64 bytes and more costs, byte by byte.
class LongWord {
 public:
  enum Class : uint8_t { none, lower, upper, digit };
  static Class class_of(char c) {
    if (c >= 'a' && c <= 'z') return lower;
    if (c >= 'A' && c <= 'Z') return upper;
    return c >= '0' && c <= '9' ? digit : none;
  }

  void add(Class next) {
    ++length_;
    digits_ = digits_ || next == digit;
    if (next != class_) {
      if (class_ == upper && next == lower && part_ == 1) {
        class_ = lower;
      } else {
        changes_ += class_ == none ? 0 : 1;
        class_ = next;
        part_ = 0;
        weight_ += kToken;
      }
    }
    ++part_;
    if (class_ == digit) {
      weight_ += part_ > 1 && part_ % kDigitsPerToken == 1 ? kToken : 0;
    } else {
      weight_ += part_ > 7 ? kLongLetter : 0;
    }
  }
  uint64_t weight() const {
    return is_mixed(length_, changes_, digits_) ? mixed_weight(length_) : weight_;
  }

 private:
  Class class_ = none;
  bool digits_ = false;
  uint64_t length_ = 0;
  uint64_t changes_ = 0;
  uint64_t part_ = 0;  // length of the part so far
  uint64_t weight_ = 0;
};

// One pass over a text. Blocks end where a word begins, so that no word lies in two.
class TokenCounter {
 public:
  template <auto kBlock>  // how the masks of a block are found
  void count(std::string_view text);
  uint64_t tokens() const { return (weight_ + kToken - 1) / kToken; }
  uint64_t characters() const { return characters_; }
  uint64_t class_sum() const { return class_sum_; }
  uint64_t newlines() const { return newlines_; }

 private:
  void add_ascii(const ByteMasks& masks, size_t size);
  void add_mixed_words(const ByteMasks& masks, uint64_t changes, uint64_t parts,
                       uint64_t long_letters);
  size_t add_long_word(std::string_view text);
  size_t add_character(std::string_view text);
  // What stands before the next block.
  void stand_behind(char last, bool space, bool space_before) {
    last_ = last;
    spaces_ = space ? (space_before ? 3 : 2) : 0;
  }
  void end_spaces() {
    if (spaces_ == 3) weight_ += kHalf;
  }

  uint64_t weight_ = 0;
  uint64_t characters_ = 0;
  uint64_t class_sum_ = 0;
  uint64_t newlines_ = 0;
  char last_ = 'a';      // byte before the next one; at the start one that no mark repeats
  uint64_t spaces_ = 0;  // bit 1: the byte before is a space; bit 0: the one before that
};

template <auto kBlock>
void TokenCounter::count(std::string_view text) {
  while (!text.empty()) {
    const bool whole = text.size() >= kMaskBytes;
    const ByteMasks masks =
        whole ? kBlock(text.data(), last_) : masks_of_rest<kBlock>(text.data(), text.size(), last_);
    size_t size = std::min({text.size(), kMaskBytes, first_of(masks.high)});
    if (size == 0) {
      do {
        text.remove_prefix(add_character(text));
      } while (!text.empty() && static_cast<uint8_t>(text.front()) >= 0x80);
      continue;
    }
    if (size == kMaskBytes) {
      const uint64_t word = masks.lower | masks.upper | masks.digit;
      size -= static_cast<size_t>(std::countl_one(word));
      if (size == 0) {
        text.remove_prefix(add_long_word(text));
        continue;
      }
    }
    add_ascii(masks, size);
    stand_behind(text[size - 1], (masks.space >> (size - 1) & 1) != 0,
                 size == 1 ? spaces_ >= 2 : (masks.space >> (size - 2) & 1) != 0);
    text.remove_prefix(size);
  }
}

void TokenCounter::add_ascii(const ByteMasks& masks, size_t size) {
  const uint64_t valid = low(size);
  const uint64_t lower = masks.lower & valid;
  const uint64_t upper = masks.upper & valid;
  const uint64_t digit = masks.digit & valid;
  const uint64_t space = masks.space & valid;
  const uint64_t newline = masks.newline & valid;
  const uint64_t letter = lower | upper;
  const uint64_t word = letter | digit;

  // A word is split at lower-to-upper and letter-to-digit changes, and before the last of several
  // capitals' successor; a single capital goes with what follows it.
  const uint64_t changes = (lower << 1 & upper) | (letter << 1 & digit) | (digit << 1 & letter) |
                           (upper << 1 & upper << 2 & lower);
  const uint64_t parts = (word & ~(word << 1)) | changes;
  uint64_t run = letter & ~parts;  // letters that go on with a part; seven in a row: the eighth
  run &= run << 1;
  run &= run << 2;
  run &= run << 3;
  weight_ += kToken * ones(parts) + kLongLetter * ones(run) + kToken * more_digits(digit);
  if ((changes & (changes - 1)) != 0) {
    add_mixed_words({.lower = lower, .upper = upper, .digit = digit}, changes, parts, run);
  }

  const uint64_t mark = valid & ~(word | space | newline);
  const uint64_t repeated = mark & masks.repeat;
  weight_ += kMark * ones(mark) - (kMark - kRepeatedMark) * ones(repeated);
  if (newline != 0) {
    newlines_ += ones(newline);
    const uint64_t behind_digit = digit << 1 | uint64_t{last_ >= '0' && last_ <= '9'};
    weight_ += kHalf * (ones(newline) + ones(newline & behind_digit));
  }
  const uint64_t behind_space = space << 1 | spaces_ >> 1;
  const uint64_t behind_two = behind_space & (space << 2 | spaces_);
  weight_ += kHalf * ones(valid & ~space & behind_two);
  characters_ += size;
  class_sum_ += size;
}

// Words of two changes and more may cost by their length instead.
void TokenCounter::add_mixed_words(const ByteMasks& masks, uint64_t changes, uint64_t parts,
                                   uint64_t long_letters) {
  const uint64_t word = masks.lower | masks.upper | masks.digit;
  while ((changes & (changes - 1)) != 0) {
    const size_t first = first_of(changes);
    const size_t end = first + static_cast<size_t>(std::countr_one(word >> first));
    const uint64_t until = low(end);
    const uint64_t inside = changes & until;
    changes &= ~until;
    if ((inside & (inside - 1)) == 0) continue;
    const uint64_t gaps = ~word & low(first);
    const size_t begin = kMaskBytes - static_cast<size_t>(std::countl_zero(gaps));
    const uint64_t all = until & ~low(begin);
    const uint64_t length = end - begin;
    if (!is_mixed(length, ones(inside), (masks.digit & all) != 0)) continue;
    weight_ -= kToken * ones(parts & all) + kLongLetter * ones(long_letters & all) +
               kToken * more_digits(masks.digit & all);
    weight_ += mixed_weight(length);
  }
}

size_t TokenCounter::add_long_word(std::string_view text) {
  LongWord word;
  size_t size = 0;
  for (; size < text.size(); ++size) {
    const LongWord::Class next = LongWord::class_of(text[size]);
    if (next == LongWord::none) break;
    word.add(next);
  }
  end_spaces();
  weight_ += word.weight();
  characters_ += size;
  class_sum_ += size;
  stand_behind(text[size - 1], false, false);
  return size;
}

size_t TokenCounter::add_character(std::string_view text) {
  const utf8::Decoded decoded = utf8::decode(text);
  end_spaces();
  weight_ += weight_of(decoded.code_point);
  ++characters_;
  class_sum_ += decoded.valid ? units_of(decoded.code_point) : 2;
  stand_behind(text[decoded.length - 1u], false, false);
  return decoded.length;
}

#ifdef __x86_64__
// Counting bits and finding the first are one instruction each on every processor of the last ten
// years, and a call or a dozen instructions where the compiler must not count on that.
[[EBLA_RECENT_PROCESSOR, gnu::flatten]]
void count_recent(TokenCounter& counter, std::string_view text) {
  counter.count<masks_of_block_recent>(text);
}
#endif

void count_into(TokenCounter& counter, std::string_view text) {
#ifdef __x86_64__
  static const bool recent = is_recent_processor();
  if (recent) return count_recent(counter, text);
#endif
  counter.count<masks_of_block>(text);
}

}  // namespace

uint64_t estimate_tokens(std::string_view text) {
  TokenCounter counter;
  count_into(counter, text);
  return counter.tokens();
}

PartFacts measure_part(std::string_view text) {
  TokenCounter counter;
  count_into(counter, text);
  const bool open_line = !text.empty() && text.back() != '\n';
  return {.hash = xxh3_128(text),
          .bytes = text.size(),
          .characters = counter.characters(),
          .lines = counter.newlines() + (open_line ? 1 : 0),
          .class_sum = counter.class_sum(),
          .tokens = counter.tokens()};
}

}  // namespace ebla::context
