// JSON at the level of bytes: what the readers of trees and of request bodies share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ebla::json_text {

// A text that is to be read fast has so much room behind it, whatever stands there: readers look at
// blocks of this size (simdjson's padding).
inline constexpr size_t kReadAhead = 64;

// `raw` begins behind the opening quote of a string and may run beyond the closing one. Its bytes
// are appended to `out`, an escaped lone surrogate as its 3 bytes (WTF-8).
struct StringEnd {
  size_t taken = 0;             // of `raw`, the closing quote included
  const char* fault = nullptr;  // in words; then `taken` says nothing
};
StringEnd unescape(std::string_view raw, std::string& out);

// `inside` is what stands between the quotes of a string, known to hold no bare quote and no
// control character. nullptr, or the fault in words.
const char* escape_fault(std::string_view inside);
// The same, decoded. A faulty escape ends it.
void append_decoded(std::string_view inside, std::string& out);
// At most `limit` bytes of its start, whole characters.
std::string decoded_start(std::string_view inside, size_t limit);
// Where in `inside` the byte `decoded` of the decoded text begins.
size_t source_offset(std::string_view inside, size_t decoded);

bool is_number(std::string_view token);
// Without white space at its end.
std::string_view trimmed(std::string_view token);

}  // namespace ebla::json_text
