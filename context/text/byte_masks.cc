#include "context/text/byte_masks.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ebla::context {

ByteMasks masks_of_rest(const char* at, size_t count, char before) {
  ByteMasks masks;
  for (size_t i = 0; i < count; ++i) {
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

#ifdef __SSE2__

namespace {

uint64_t bits(__m128i holds) {
  return static_cast<uint32_t>(_mm_movemask_epi8(holds));
}

// Bytes within [first, first + count): moved so that a signed comparison tells.
__m128i in_range(__m128i bytes, char first, int count) {
  const __m128i moved = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(-128 - first)));
  return _mm_cmplt_epi8(moved, _mm_set1_epi8(static_cast<char>(-128 + count)));
}

__m128i equal(__m128i bytes, char c) {
  return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
}

}  // namespace

ByteMasks masks_of_block(const char* at, char before) {
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

ByteMasks masks_of_block(const char* at, char before) {
  return masks_of_rest(at, kMaskBytes, before);
}

#endif

}  // namespace ebla::context
