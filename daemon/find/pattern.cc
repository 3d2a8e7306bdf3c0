#include "daemon/find/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/find/find_bytes.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

constexpr std::string_view kByLine = "(?m)";
constexpr int64_t kRegexMemoryBytes = 16 * limits::kMiB;
// Folding may turn one byte into three: K is U+212A too.
constexpr size_t kFoldedBytes = 3;
// How far matches may lie over the border between two pieces of one overlong line.
constexpr size_t kRegexReachBytes = 64 * limits::kKiB;

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  for (;;) {
    const size_t at = text.find(what);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += by;
    text.remove_prefix(at + what.size());
  }
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

std::optional<Span> match(const RE2& regex, std::string_view text, size_t from) {
  re2::StringPiece found;
  if (!regex.Match(piece(text), from, text.size(), RE2::UNANCHORED, &found, 1)) return std::nullopt;
  return Span{static_cast<size_t>(found.data() - text.data()), found.size()};
}

Error not_a_regex(const RE2& regex) {
  std::string_view where(regex.error_arg());
  if (where.starts_with(kByLine)) where.remove_prefix(kByLine.size());
  std::string_view why(regex.error());
  why = why.substr(0, std::min(why.find(':'), why.size()));
  return {Code::invalid_params,
          fmt::format("pattern: no regular expression (RE2): {}{}{}; leave regex out to search "
                      "the text as it is",
                      why, where.empty() ? "" : ": ", printable(where.substr(0, 80)))};
}

}  // namespace

struct Pattern::Regex {
  std::unique_ptr<RE2> utf8;
  std::unique_ptr<RE2> bytes;  // for lines that are no UTF-8; may be absent
  bool literal = false;        // no class that could hold a line end or half a character
};

Pattern::Pattern() = default;
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

Result<Pattern> Pattern::compile(std::string_view text, PatternOptions options) {
  if (text.empty()) return fail(Code::invalid_params, "pattern: empty; name the text to look for");
  if (text.size() > limits::kPatternBytes) {
    return fail(Code::invalid_params, fmt::format("pattern: {} bytes, at most {} are taken",
                                                  text.size(), limits::kPatternBytes));
  }
  Pattern pattern;
  const std::string plain = replaced(text, "\r\n", "\n");
  if (!options.regex && !options.ignore_case) {
    pattern.needles_.push_back(plain);
    if (plain.find('\n') != std::string::npos) {
      pattern.needles_.push_back(replaced(plain, "\n", "\r\n"));
    }
    pattern.reach_ = pattern.needles_.back().size();
    return pattern;
  }
  RE2::Options flags(RE2::Quiet);
  flags.set_max_mem(kRegexMemoryBytes);
  flags.set_case_sensitive(!options.ignore_case);
  flags.set_never_nl(options.regex);
  std::string source(kByLine);
  if (options.regex) {
    source += text;
  } else {
    source += replaced(RE2::QuoteMeta(plain), "\\\n", "\\r?\\n");
  }
  auto regex = std::make_unique<Regex>();
  regex->literal = !options.regex;
  regex->utf8 = std::make_unique<RE2>(source, flags);
  if (!regex->utf8->ok()) return std::unexpected(not_a_regex(*regex->utf8));
  if (options.regex && is_ascii(text)) {
    flags.set_encoding(RE2::Options::EncodingLatin1);
    auto bytes = std::make_unique<RE2>(source, flags);
    if (bytes->ok()) regex->bytes = std::move(bytes);  // else a class that needs UTF-8
  }
  pattern.by_line_ = options.regex;
  pattern.reach_ = options.regex ? kRegexReachBytes : plain.size() * kFoldedBytes;
  pattern.regex_ = std::move(regex);
  return pattern;
}

Finder::Finder(const Pattern& pattern, std::string_view text, size_t from)
    : pattern_(pattern), text_(text) {
  if (pattern.regex_ == nullptr || pattern.regex_->literal) return;
  // RE2 knows neither CRLF nor bytes that are no UTF-8: such a text is given to it line by line.
  const std::string_view rest = text.substr(from);
  line_by_line_ = rest.find('\r') != std::string_view::npos ||
                  !simdjson::validate_utf8(rest.data(), rest.size());
}

std::optional<Span> Finder::next(size_t from) {
  if (from > text_.size()) return std::nullopt;
  if (pattern_.regex_ == nullptr) return next_literal(from);
  return line_by_line_ ? next_in_lines(from) : next_regex(from);
}

std::optional<Span> Finder::next_literal(size_t from) {
  std::optional<Span> first;
  for (size_t i = 0; i < pattern_.needles_.size(); ++i) {
    const std::string& needle = pattern_.needles_[i];
    // A form that is not there must not be looked for again after each match of the other.
    if (found_.at(i) < from || from == 0) found_.at(i) = find_bytes(text_, needle, from);
    if (found_.at(i) == std::string_view::npos) continue;
    if (!first || found_.at(i) < first->start) first = Span{found_.at(i), needle.size()};
  }
  return first;
}

std::optional<Span> Finder::next_regex(size_t from) const {
  auto found = match(*pattern_.regex_->utf8, text_, from);
  // What matches the empty text does so behind the last line end too, where no line is.
  if (found && found->start == text_.size() && (text_.empty() || text_.back() == '\n')) return {};
  return found;
}

std::optional<Span> Finder::next_in_lines(size_t from) const {
  const Pattern::Regex& regex = *pattern_.regex_;
  size_t begin = from == 0 ? 0 : text_.rfind('\n', from - 1) + 1;  // npos + 1 is 0
  while (begin < text_.size()) {
    const size_t end = std::min(text_.find('\n', begin), text_.size());
    std::string_view line = text_.substr(begin, end - begin);
    if (end < text_.size() && line.ends_with('\r')) line.remove_suffix(1);
    const size_t within = from > begin ? from - begin : 0;
    if (within <= line.size()) {
      auto found = match(*regex.utf8, line, within);
      if (!found && regex.bytes && !simdjson::validate_utf8(line.data(), line.size())) {
        found = match(*regex.bytes, line, within);
      }
      if (found) return Span{begin + found->start, found->length};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

bool looks_like_regex(std::string_view text) {
  static const RE2 kSigns(
      R"re(\\[dDwWsSbB.()\[\]{}|+*?^$]|[.)\]][*+?]|\[[^\]]*[-^][^\]]*\]|\w\|\w|^\^|\w\$$)re",
      RE2::Latin1);
  return RE2::PartialMatch(piece(text), kSigns);
}

}  // namespace ebla::daemon
