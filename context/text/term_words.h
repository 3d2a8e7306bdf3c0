// What in a text one would search for: addresses, paths, ids, digests, codes, names of code, long
// numbers, as they stand there and can be searched for; escapes of JSON and of code are read.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace ebla::context {

// `telling`: 1 a little … 4 nothing else is called so.
using UseTerm = std::function<void(std::string_view term, uint32_t telling)>;

// Every such word of a clean text, in order. No term has a line feed; one with a space is a path.
void each_term(std::string_view text, const UseTerm& use);
// Whether a whole value, as an argument of a call has it, is a path, whatever is in it.
bool is_path(std::string_view value);
// 0 for a word like any other. ASCII punctuation around it is none of it.
uint32_t telling(std::string_view word);

}  // namespace ebla::context
