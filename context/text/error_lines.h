// Lines that look like errors, found at the speed of a scan: error, failed, fatal, panic,
// Traceback as words, not in paths ("error.h"), counts of nothing ("0 errors") or identifiers.
#pragma once

#include <cstddef>
#include <string_view>

namespace ebla::context {

// A line counts by its first bytes only: what stands further on no preview would show.
inline constexpr size_t kErrorProbeBytes = 4096;

enum class ErrorTier { none, mention, error };  // "1 test failed" and "error: no such file"

// Offset at or after `from` of something that may be one of the words, npos for none. A hit says
// only that the line is worth error_tier.
size_t find_error_word(std::string_view bytes, size_t from);
// `line` holds its raw bytes, at most the first kErrorProbeBytes are looked at.
ErrorTier error_tier(std::string_view line);

}  // namespace ebla::context
