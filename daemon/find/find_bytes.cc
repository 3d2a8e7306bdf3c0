#include "daemon/find/find_bytes.h"

#include <cstdint>
#include <cstring>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ebla::daemon {
namespace {

size_t search(std::string_view text, std::string_view needle, size_t from) {
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

#ifdef __SSE2__
// How often a byte stands in texts and logs, roughly.
int commonness(char byte) {
  if (std::string_view(" etaoinsr").find(byte) != std::string_view::npos) return 3;
  if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9')) return 2;
  return byte == '\n' || byte == '.' || byte == '-' || byte == '/' || byte == ':' ? 2 : 1;
}

// Two places of the needle whose bytes are rare, so that few places of the text have both.
std::pair<size_t, size_t> rare_places(std::string_view needle) {
  size_t first = 0;
  for (size_t i = 1; i < needle.size(); ++i) {
    if (commonness(needle[i]) < commonness(needle[first])) first = i;
  }
  size_t second = first == 0 ? needle.size() - 1 : 0;
  for (size_t i = 0; i < needle.size(); ++i) {
    if (i == first || needle[i] == needle[first]) continue;
    const bool same = needle[second] == needle[first];
    if (same || commonness(needle[i]) < commonness(needle[second])) second = i;
  }
  return {first, second};
}

// Bit i: both rare bytes stand where they should for a needle that begins at `at` + i.
class Candidates {
 public:
  static constexpr size_t kWidth = 16;

  explicit Candidates(std::string_view needle)
      : places_(rare_places(needle)),
        first_(_mm_set1_epi8(needle[places_.first])),
        second_(_mm_set1_epi8(needle[places_.second])) {}

  __m128i both(const char* at) const {
    return _mm_and_si128(_mm_cmpeq_epi8(load(at + places_.first), first_),
                         _mm_cmpeq_epi8(load(at + places_.second), second_));
  }
  static uint32_t bits(__m128i mask) { return static_cast<uint32_t>(_mm_movemask_epi8(mask)); }

 private:
  static __m128i load(const char* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  }

  std::pair<size_t, size_t> places_;
  __m128i first_;
  __m128i second_;
};
#endif

}  // namespace

size_t find_bytes(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size() || text.size() - from < needle.size()) return std::string_view::npos;
  if (needle.size() == 1) return text.find(needle.front(), from);
#ifdef __SSE2__
  constexpr size_t kWidth = Candidates::kWidth;
  constexpr size_t kStep = 4 * kWidth;
  const Candidates candidates(needle);
  const size_t starts = text.size() - needle.size() + 1;  // places where it could begin
  size_t at = from;
  while (at + kStep <= starts) {
    const char* p = text.data() + at;
    const __m128i a = candidates.both(p);
    const __m128i b = candidates.both(p + kWidth);
    const __m128i c = candidates.both(p + 2 * kWidth);
    const __m128i d = candidates.both(p + 3 * kWidth);
    if (Candidates::bits(_mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))) != 0) {
      uint64_t bits = static_cast<uint64_t>(Candidates::bits(a)) |
                      static_cast<uint64_t>(Candidates::bits(b)) << kWidth |
                      static_cast<uint64_t>(Candidates::bits(c)) << 2 * kWidth |
                      static_cast<uint64_t>(Candidates::bits(d)) << 3 * kWidth;
      for (; bits != 0; bits &= bits - 1) {
        const auto start = at + static_cast<size_t>(__builtin_ctzll(bits));
        if (std::memcmp(text.data() + start, needle.data(), needle.size()) == 0) return start;
      }
    }
    at += kStep;
  }
  return search(text, needle, at);
#else
  return search(text, needle, from);
#endif
}

}  // namespace ebla::daemon
