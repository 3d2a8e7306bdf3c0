#include "context/list/marks.h"

#include <fmt/format.h>

#include "context/text/quote.h"
#include "context/texts.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// More than enough raw bytes for a start of kStubChars, however much of them is escape sequences.
constexpr size_t kStubSourceBytes = 16 * limits::kKiB;
// Stands for the path while a pattern is filled: no text that is put in beside it can hold a NUL.
constexpr std::string_view kHole{"\0", 1};

// The pattern's text with the path where the hole is.
NamedText with_path(const std::string& text, const NamedText& path) {
  const size_t hole = text.find(kHole);
  NamedText out;
  out.text(std::string_view(text).substr(0, hole));
  out.append(path);
  return out.text(std::string_view(text).substr(hole + kHole.size()));
}

}  // namespace

NamedText path_in(std::string_view folder) {
  NamedText out;
  return out.text(printable(folder)).text("/").name();
}

NamedText known_path(std::string_view path) {
  NamedText out;
  return out.text(printable(path));
}

NamedText argument_mark(uint64_t characters, const NamedText& path) {
  return with_path(fmt::format(texts::kArgumentMark, texts::grouped(characters),
                               texts::plural(characters, "character", "characters"), kHole),
                   path);
}

bool has_mark(std::string_view text) {
  constexpr std::string_view kStart = texts::kArgumentMarkStart;
  for (size_t at = text.find(kStart); at != std::string_view::npos; at = text.find(kStart, at)) {
    at += kStart.size();
    if (at < text.size() && text[at] >= '0' && text[at] <= '9') return true;
  }
  return false;
}

NamedText old_result_stub(std::string_view tool, uint64_t tokens, const NamedText& path,
                          std::string_view text) {
  const std::string start = one_line(text.substr(0, kStubSourceBytes), limits::kStubChars);
  const std::string count = texts::grouped(tokens);
  const std::string_view unit = texts::plural(tokens, "token", "tokens");
  return with_path(tool.empty() ? fmt::format(texts::kOldResult, count, unit, kHole, start)
                                : fmt::format(texts::kOldResultOf, texts::tool_name(tool), count,
                                              unit, kHole, start),
                   path);
}

NamedText media_link(std::string_view media_type, uint64_t bytes, const NamedText& path) {
  return with_path(fmt::format(texts::kMediaLink, texts::tool_name(media_type),
                               texts::grouped(bytes), texts::plural(bytes, "byte", "bytes"), kHole),
                   path);
}

std::string reader_clip(std::string_view page, std::string_view path) {
  const std::string text = utf8::to_valid(page);
  const size_t characters = utf8::count(text);
  if (characters <= limits::kReaderClipChars) return text;
  const std::string_view start = first_characters(text, limits::kReaderClipChars);
  return fmt::format(texts::kReaderClip, texts::grouped(utf8::count(start)),
                     texts::grouped(characters), printable(path))
      .append(start);
}

}  // namespace ebla::context
