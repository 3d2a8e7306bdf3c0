// Classes of bytes, 64 at a time: bit i of a mask speaks of byte i. Inline, so that a caller that
// is compiled for a newer processor gets them compiled for it as well.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace ebla::context {

struct ByteMasks {
  uint64_t lower = 0;    // a-z
  uint64_t upper = 0;    // A-Z
  uint64_t digit = 0;    // 0-9
  uint64_t space = 0;    // space, tab
  uint64_t newline = 0;  // LF
  uint64_t high = 0;     // not ASCII
  uint64_t repeat = 0;   // equal to the byte before it
  bool operator==(const ByteMasks&) const = default;
};

inline constexpr size_t kMaskBytes = 64;

// Of kMaskBytes. `before` is the byte that stands before the first.
#ifdef __SSE2__

namespace masks {

inline uint64_t bits(__m128i holds) {
  return static_cast<uint32_t>(_mm_movemask_epi8(holds));
}

// Bytes within [first, first + count): moved so that a signed comparison tells.
inline __m128i in_range(__m128i bytes, char first, int count) {
  const __m128i moved = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(-128 - first)));
  return _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(-128 + count)));
}

inline __m128i equal(__m128i bytes, char c) {
  return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
}

}  // namespace masks

inline ByteMasks masks_of_block(const char* at, char before) {
  using masks::bits;
  using masks::equal;
  using masks::in_range;
  ByteMasks masks;
  __m128i last = _mm_slli_si128(_mm_cvtsi32_si128(static_cast<uint8_t>(before)), 15);
  for (size_t shift = 0; shift < kMaskBytes; shift += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + shift));
    const __m128i lowered = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const uint64_t letter = bits(in_range(lowered, 'a', 26));
    const uint64_t small = bits(_mm_slli_epi16(bytes, 2));  // bit 5 of each byte, as its sign
    masks.lower |= (letter & small) << shift;
    masks.upper |= (letter & ~small) << shift;
    masks.digit |= bits(in_range(bytes, '0', 10)) << shift;
    masks.space |= bits(_mm_or_si128(equal(bytes, ' '), equal(bytes, '\t'))) << shift;
    masks.newline |= bits(equal(bytes, '\n')) << shift;
    masks.high |= bits(bytes) << shift;
    const __m128i moved = _mm_or_si128(_mm_slli_si128(bytes, 1), _mm_srli_si128(last, 15));
    masks.repeat |= bits(_mm_cmpeq_epi8(bytes, moved)) << shift;
    last = bytes;
  }
  return masks;
}

#else

inline ByteMasks masks_of_block(const char* at, char before) {
  ByteMasks masks;
  for (size_t i = 0; i < kMaskBytes; ++i) {
    const char c = at[i];
    const auto bit = [i](bool holds) { return uint64_t{holds} << i; };
    masks.lower |= bit(c >= 'a' && c <= 'z');
    masks.upper |= bit(c >= 'A' && c <= 'Z');
    masks.digit |= bit(c >= '0' && c <= '9');
    masks.space |= bit(c == ' ' || c == '\t');
    masks.newline |= bit(c == '\n');
    masks.high |= bit(static_cast<uint8_t>(c) >= 0x80);
    masks.repeat |= bit(c == before);
    before = c;
  }
  return masks;
}

#endif

#ifdef __x86_64__
#define EBLA_RECENT_PROCESSOR gnu::target("avx2,bmi,bmi2,lzcnt,popcnt")

// What that macro asks for.
inline bool is_recent_processor() {
  return __builtin_cpu_supports("x86-64-v3") != 0;
}

namespace masks {

[[EBLA_RECENT_PROCESSOR]] inline uint64_t bits_of_32(__m256i holds) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(holds));
}
[[EBLA_RECENT_PROCESSOR]] inline __m256i in_range_32(__m256i bytes, char first, int count) {
  const __m256i moved = _mm256_add_epi8(bytes, _mm256_set1_epi8(static_cast<char>(-128 - first)));
  return _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(-128 + count)), moved);
}
[[EBLA_RECENT_PROCESSOR]] inline __m256i equal_32(__m256i bytes, char c) {
  return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
}

}  // namespace masks

// The same with registers twice as wide.
[[EBLA_RECENT_PROCESSOR]] inline ByteMasks masks_of_block_recent(const char* at, char before) {
  using namespace masks;
  ByteMasks masks;
  for (size_t shift = 0; shift < kMaskBytes; shift += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + shift));
    const __m256i lowered = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
    const uint64_t letter = bits_of_32(in_range_32(lowered, 'a', 26));
    const uint64_t small = bits_of_32(_mm256_slli_epi16(bytes, 2));
    masks.lower |= (letter & small) << shift;
    masks.upper |= (letter & ~small) << shift;
    masks.digit |= bits_of_32(in_range_32(bytes, '0', 10)) << shift;
    const __m256i space = _mm256_or_si256(equal_32(bytes, ' '), equal_32(bytes, '\t'));
    masks.space |= bits_of_32(space) << shift;
    masks.newline |= bits_of_32(equal_32(bytes, '\n')) << shift;
    masks.high |= bits_of_32(bytes) << shift;
    const __m256i moved =
        shift > 0 ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + shift - 1))
                  : _mm256_alignr_epi8(bytes, _mm256_permute2x128_si256(bytes, bytes, 0x08), 15);
    masks.repeat |= bits_of_32(_mm256_cmpeq_epi8(bytes, moved)) << shift;
  }
  masks.repeat = (masks.repeat & ~uint64_t{1}) | uint64_t{at[0] == before};
  return masks;
}
#endif

// Of fewer: NUL bytes stand for those that are not there.
template <auto kBlock>
ByteMasks masks_of_rest(const char* at, size_t count, char before) {
  std::array<char, kMaskBytes> block{};
  std::memcpy(block.data(), at, count);
  return kBlock(block.data(), before);
}

}  // namespace ebla::context
