// Foreign text inside our own. What is quoted here can hold anything and still never passes for a
// line of ours: it stands in a fence that it cannot close, or on one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ebla::context {

// Backticks: at least three, more than any run in `text`.
std::string fence_for(std::string_view text);
// Opening fence with `info`, the text as it is, LF, closing fence, LF.
void append_fenced(std::string& out, std::string_view info, std::string_view text);
// Between double quotes on one line; \\ \" \n \xNN stand for what cannot be there. Strict UTF-8,
// and the text can be had back to the byte.
std::string quoted(std::string_view text);
// Back from that: takes the quotation off the start of `text`; nullopt when there is none whole.
std::optional<std::string> take_quoted(std::string_view& text);

// What a terminal would show in the end, line by line: strict UTF-8, no control byte but TAB and
// LF. A text without any of that comes back as it is.
std::string clean_text(std::string_view text);
// The same on one line: runs of white space are one space; at most so many code points, then "…"
// and what `cut_off` closes.
std::string one_line(std::string_view text, size_t characters);
// `start`, with which the line `whole` begins, for a place of its own: "…" behind it, and the
// quotation marks and backticks that it opens and `whole` closes later are closed.
std::string cut_off(std::string_view whole, std::string_view start);

// Starts of a valid text, cut where a reader sees a character end.
std::string_view first_characters(std::string_view text, size_t characters);
std::string_view first_tokens(std::string_view text, uint64_t tokens);  // by window count
// Its end, from where a character begins.
std::string_view last_tokens(std::string_view text, uint64_t tokens);

}  // namespace ebla::context
