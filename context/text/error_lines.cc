#include "context/text/error_lines.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "context/text/terminal_text.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"error", "failed", "fatal", "panic",
                                                    "traceback"};

using Bytes16 = uint8_t __attribute__((vector_size(16)));

char fold(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

bool is_alpha(char c) {
  return fold(c) >= 'a' && fold(c) <= 'z';
}

bool is_word(char c) {
  return is_alpha(c) || (c >= '0' && c <= '9') || c == '_' || static_cast<uint8_t>(c) >= 0x80;
}

bool shows_as_is(char c) {
  return (c >= 0x20 && c < 0x7F) || c == '\t';
}

bool word_at(std::string_view bytes, size_t at, std::string_view word) {
  if (at > bytes.size() || bytes.size() - at < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (fold(bytes[at + i]) != word[i]) return false;
  }
  return true;
}

// The word that a hit of the vector search stands for: start offset, or npos.
size_t confirm(std::string_view bytes, size_t at) {
  switch (fold(bytes[at])) {
    case 'r':
      return at >= 1 && word_at(bytes, at - 1, "error") ? at - 1 : std::string_view::npos;
    case 'f':
      return word_at(bytes, at, "failed") || word_at(bytes, at, "fatal") ? at
                                                                         : std::string_view::npos;
    case 'p':
      return word_at(bytes, at, "panic") ? at : std::string_view::npos;
    case 'c':
      return at >= 3 && word_at(bytes, at - 3, "traceback") ? at - 3 : std::string_view::npos;
    default:
      return std::string_view::npos;
  }
}

Bytes16 load(const char* at) {
  Bytes16 v;
  std::memcpy(&v, at, sizeof v);
  return v | 0x20;
}

// Whether a rare pair of letters of one of the words begins in the 16 bytes at `at`; reads 18.
bool may_begin(const char* at) {
  const Bytes16 a = load(at);
  const Bytes16 b = load(at + 1);
  const Bytes16 c = load(at + 2);
  const auto hit = ((a == 'r') & (b == 'r')) |
                   ((a == 'f') & (b == 'a') & ((c == 'i') | (c == 't'))) |
                   ((a == 'p') & (b == 'a') & (c == 'n')) | ((a == 'c') & (b == 'e') & (c == 'b'));
  uint64_t halves[2];
  std::memcpy(halves, &hit, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

std::string_view before(std::string_view line, size_t at) {
  const std::string_view head = line.substr(0, at);
  const size_t end = head.find_last_not_of(" \t");
  if (end == std::string_view::npos) return {};
  const size_t start = head.find_last_of(" \t([{,;:=\"'", end);
  return head.substr(start == std::string_view::npos ? 0 : start + 1,
                     end - (start == std::string_view::npos ? 0 : start + 1) + 1);
}

// "0 errors", "no error", "without error".
bool denied_before(std::string_view line, size_t at) {
  const std::string_view word = before(line, at);
  constexpr std::array<std::string_view, 5> kDenials = {"0", "no", "zero", "without", "any"};
  return std::any_of(kDenials.begin(), kDenials.end(), [word](std::string_view denial) {
    return word.size() == denial.size() && word_at(word, 0, denial);
  });
}

// "errors: 0", "failed=0", "\"error\": null".
bool denied_after(std::string_view rest) {
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("\"' ")));
  if (rest.empty() || (rest[0] != ':' && rest[0] != '=')) return false;
  rest.remove_prefix(1);
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t")));
  for (const std::string_view nothing : {"0", "null", "none", "nil", "false", "\"\""}) {
    if (!word_at(rest, 0, nothing)) continue;
    if (rest.size() == nothing.size() || !is_word(rest[nothing.size()])) return true;
  }
  return false;
}

// Paths and identifiers: "/usr/include/error.h", "on_error", "libgpg-error0", "error-prone".
bool part_of_name(std::string_view line, size_t at, size_t end) {
  const char next = end < line.size() ? line[end] : ' ';
  const char after = end + 1 < line.size() ? line[end + 1] : ' ';
  if (is_word(next) || next == '-' || next == '/' || next == '\\') return true;
  if (next == '.' && is_word(after)) return true;
  if (at == 0) return false;
  const char previous = line[at - 1];
  // "ValueError: …" is what a Python or JavaScript exception prints.
  if (is_alpha(previous) && line[at] == 'E' && next == ':') return false;
  return is_word(previous) || std::string_view("-./\\@$").find(previous) != std::string_view::npos;
}

bool all_capitals(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

ErrorTier tier_at(std::string_view line, size_t at, std::string_view word) {
  size_t end = at + word.size();
  const bool panicked = word == "panic" && word_at(line, end, "ked");
  if (word == "error" && end < line.size() && fold(line[end]) == 's') ++end;
  if (panicked) end += 3;
  if (part_of_name(line, at, end) || denied_before(line, at) || denied_after(line.substr(end))) {
    return ErrorTier::none;
  }
  std::string_view rest = line.substr(end);
  if (rest.starts_with('"')) rest.remove_prefix(1);  // a key of JSON
  const char next = rest.empty() ? ' ' : rest.front();
  const bool called_out = next == ':' || next == '!' || next == '[' || next == ']';
  const bool thrown = panicked || word == "traceback";
  return called_out || thrown || all_capitals(line.substr(at, word.size())) ? ErrorTier::error
                                                                            : ErrorTier::mention;
}

}  // namespace

size_t find_error_word(std::string_view bytes, size_t from) {
  constexpr size_t kStep = 16;
  size_t i = from;
  while (i < bytes.size()) {
    const bool whole = i + kStep + 2 <= bytes.size();
    if (whole && !may_begin(&bytes[i])) {
      i += kStep;
      continue;
    }
    const size_t stop = std::min(bytes.size(), i + kStep);
    for (; i < stop; ++i) {
      const size_t start = confirm(bytes, i);
      if (start != std::string_view::npos && start >= from) return start;
    }
  }
  return std::string_view::npos;
}

ErrorTier error_tier(std::string_view line) {
  line = line.substr(0, kErrorProbeBytes);
  if (find_error_word(line, 0) == std::string_view::npos) return ErrorTier::none;
  std::string resolved;
  std::string_view shown = line.substr(0, limits::kPreviewLineChars);
  if (!std::all_of(line.begin(), line.end(), shows_as_is)) {
    resolved = resolve_line(line, limits::kPreviewLineChars);
    shown = resolved;
  }
  ErrorTier best = ErrorTier::none;
  for (size_t at = 0; (at = find_error_word(shown, at)) != std::string_view::npos;) {
    for (const std::string_view word : kWords) {
      if (!word_at(shown, at, word)) continue;
      best = std::max(best, tier_at(shown, at, word));
      at += word.size();
      break;
    }
  }
  return best;
}

}  // namespace ebla::context
