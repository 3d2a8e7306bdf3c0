// What tools really return, for every test folder: generated shapes with exact sizes, and real
// files of this machine where they are. All generators are deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ebla::kit {

// Exactly `characters` ASCII characters, LF included: the last line is cut to fit.
std::string prose(size_t characters);
std::string numbered_rows(size_t characters);  // "row 1\nrow 2\n…"
std::string one_line(size_t characters);       // no line end
// `lines` lines of equal width (61 characters and LF at 240,000 in 3,886: rounded), each with its
// own number; exactly `characters` in all.
std::string even_lines(size_t characters, size_t lines);

std::string chinese(size_t characters);  // U+4E00…, no line ends, 3 bytes each
std::string emoji(size_t characters);    // U+1F600…, no line ends, 4 bytes each

std::string ansi_log(size_t lines);       // coloured test log with progress redrawn by CR
std::string crlf_rows(size_t lines);      // "row 1\r\n…"
std::string with_nul(size_t bytes);       // binary-like: NUL and every other byte value in turn
std::string invalid_utf8(size_t bytes);   // overlong forms, surrogates, lone bytes between text
std::string minified_json(size_t bytes);  // one valid object in one line, exactly that long

// Every byte differs with `seed`; nothing compresses or repeats.
std::string random_bytes(size_t bytes, uint64_t seed);

struct NamedText {
  std::string name;
  std::string text;
};
// One of each shape above of moderate size, plus real_outputs().
std::vector<NamedText> all_shapes();
// Real tool output of this machine: the listing of an installed package, a changelog, a system
// header. Those that are absent are left out, so it may be empty.
std::vector<NamedText> real_outputs();

}  // namespace ebla::kit
