// What a search looks for: a text taken literally, or a regular expression of RE2. Works on any
// bytes. Immutable after compile(): any number of threads may search with one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"

namespace ebla::daemon {

struct PatternOptions {
  bool regex = false;
  bool ignore_case = false;
};

struct Span {
  size_t start = 0;
  size_t length = 0;
};

class Pattern {
 public:
  // invalid_params: empty, too long, or no regular expression, with what is wrong with it. A line
  // end within a literal pattern stands for LF and for CRLF.
  static Result<Pattern> compile(std::string_view text, PatternOptions options);
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // Whether a match depends on the whole line: `^`, `$` and `.*` do.
  bool by_line() const { return by_line_; }
  // Bytes of the longest match; by_line() ones may be longer, up to their line.
  size_t reach() const { return reach_; }

 private:
  friend class Finder;
  struct Regex;
  Pattern();

  std::vector<std::string> needles_;  // one, or the forms with LF and CRLF
  std::unique_ptr<Regex> regex_;      // in place of needles
  bool by_line_ = false;
  size_t reach_ = 0;
};

// Matches in one piece of memory, which must stay. A piece for a pattern by_line() is made of whole
// lines, but where a line is longer than the memory.
class Finder {
 public:
  // `from` is where the search begins: what stands before is seen by `^` and `\b` only.
  Finder(const Pattern& pattern, std::string_view text, size_t from);
  // The first match that starts at or after `from`, which never goes back. A CR before LF belongs
  // to the line end.
  std::optional<Span> next(size_t from);

 private:
  std::optional<Span> next_literal(size_t from);
  std::optional<Span> next_regex(size_t from) const;
  std::optional<Span> next_in_lines(size_t from) const;

  const Pattern& pattern_;
  std::string_view text_;
  bool line_by_line_ = false;
  std::array<size_t, 2> found_{};  // where each needle stands next, as far as it is known
};

// Whether a text that was searched literally was probably meant as a regular expression.
bool looks_like_regex(std::string_view text);

}  // namespace ebla::daemon
