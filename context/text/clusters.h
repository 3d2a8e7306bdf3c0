// Where a text may be cut: on a code point always, and if it can be, not within what a reader takes
// for one character (accents, skin tones, joined emoji, flags).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ebla::context {

// Bytes of the longest start of `text` with at most so many code points and units.
size_t longest_start(std::string_view text, size_t characters, uint64_t units);
// The nearest good cut at or before (after) the code-point boundary `at`; `at` itself when none is
// near.
size_t cluster_floor(std::string_view text, size_t at);
size_t cluster_ceiling(std::string_view text, size_t at);

// Bytes at the start that belong to a character cut before it, 0 to 3.
size_t broken_start(std::string_view text);

}  // namespace ebla::context
