#include "context/text/quote.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "context/text/clusters.h"
#include "context/text/open_marks.h"
#include "context/text/terminal_text.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr size_t kShortestFence = 3;
// A long text is cut to so many before it is counted: no text has more of them but white space.
constexpr size_t kBytesPerToken = 16;
// What one line is made from, at most: so many bytes for each character that is wanted, and some
// for escape sequences and white space before the first.
constexpr size_t kBytesPerCharacter = 16;
constexpr size_t kEscapeBytes = 4'096;
// Each step aims a little lower than needed, so that few are.
constexpr double kTowardsTarget = 0.98;

bool is_control(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7F;
}

// C1 controls too: their two bytes are valid UTF-8.
bool shows_as_is(std::string_view text) {
  return std::none_of(text.begin(), text.end(), is_control) && utf8::is_valid(text) &&
         text.find('\xc2') == std::string_view::npos;
}

// Also what takes no room at all.
bool is_space(char32_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == 0xA0 || c == 0x2028 || c == 0x2029 ||
         c == 0x3000 || c == 0x85 || c == 0x200B || c == 0x2060 || c == 0xFEFF;
}

}  // namespace

std::string fence_for(std::string_view text) {
  size_t longest = 0;
  for (size_t at = text.find('`'); at != std::string_view::npos; at = text.find('`', at)) {
    const size_t end = std::min(text.find_first_not_of('`', at), text.size());
    longest = std::max(longest, end - at);
    at = end;
  }
  return std::string(std::max(kShortestFence, longest + 1), '`');
}

void append_fenced(std::string& out, std::string_view info, std::string_view text) {
  const std::string fence = fence_for(text);
  out.append(fence).append(info).append("\n").append(text).append("\n").append(fence).append("\n");
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const utf8::Decoded d = utf8::decode(text);
    const char32_t c = d.code_point;
    if (d.valid && (c == '"' || c == '\\')) {
      out.append("\\").append(text.substr(0, 1));
    } else if (d.valid && c == '\n') {
      out += "\\n";
    } else if (!d.valid || c < 0x20 || (c >= 0x7F && c < 0xA0)) {
      for (char byte : text.substr(0, d.length)) {
        out += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
      }
    } else {
      out.append(text.substr(0, d.length));
    }
    text.remove_prefix(d.length);
  }
  return out + "\"";
}

std::optional<std::string> take_quoted(std::string_view& text) {
  std::string_view rest = text;
  if (!rest.starts_with('"')) return std::nullopt;
  rest.remove_prefix(1);
  std::string out;
  while (!rest.empty() && rest.front() != '"') {
    size_t bytes = 1;
    char c = rest.front();
    if (c == '\\') {
      if (rest.size() < 2) return std::nullopt;
      bytes = 2;
      c = rest[1] == 'n' ? '\n' : rest[1];
      if (rest[1] == 'x') {
        uint8_t value = 0;
        const std::string_view digits = rest.substr(2, 2);
        if (std::from_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr !=
            rest.data() + 4) {
          return std::nullopt;
        }
        bytes = 4;
        c = static_cast<char>(value);
      }
    }
    out += c;
    rest.remove_prefix(bytes);
  }
  if (rest.empty()) return std::nullopt;
  text = rest.substr(1);
  return out;
}

std::string clean_text(std::string_view text) {
  if (shows_as_is(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    // No line shows more columns than it has bytes, unless it moves the cursor beyond its text.
    out += shows_as_is(line) ? std::string(line) : resolve_line(line, line.size());
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string one_line(std::string_view text, size_t characters) {
  const size_t wanted = characters * kBytesPerCharacter + kEscapeBytes;
  const bool whole = text.size() <= wanted;
  const std::string clean = clean_text(text.substr(0, utf8::floor_boundary(text, wanted)));
  std::string joined;
  bool space = false;
  for (std::string_view rest = clean; !rest.empty();) {
    const utf8::Decoded d = utf8::decode(rest);
    if (is_space(d.code_point)) {
      space = !joined.empty();
    } else {
      if (space) joined += ' ';
      space = false;
      joined.append(rest.substr(0, d.length));
    }
    rest.remove_prefix(d.length);
  }
  const std::string_view start = first_characters(joined, characters);
  if (whole && start.size() == joined.size()) return joined;
  return cut_off(joined, start);
}

std::string cut_off(std::string_view whole, std::string_view start) {
  const std::string closing = closing_marks(whole, start);
  return std::string(start) + texts::kCut + closing;
}

std::string_view first_characters(std::string_view text, size_t characters) {
  if (text.size() <= characters) return text;
  const size_t bytes = longest_start(text, characters, UINT64_MAX);
  return bytes == text.size() ? text : text.substr(0, cluster_floor(text, bytes));
}

std::string_view first_tokens(std::string_view text, uint64_t tokens) {
  if (text.size() / kBytesPerToken > tokens) {
    text = text.substr(0, utf8::floor_boundary(text, tokens * kBytesPerToken));
  }
  for (uint64_t count = estimate_tokens(text); count > tokens; count = estimate_tokens(text)) {
    const double share = kTowardsTarget * static_cast<double>(tokens) / static_cast<double>(count);
    const auto wanted = static_cast<size_t>(static_cast<double>(text.size()) * share);
    const size_t bytes = utf8::floor_boundary(text, std::min(wanted, text.size() - 1));
    text = text.substr(0, cluster_floor(text, bytes));
  }
  return text;
}

std::string_view last_tokens(std::string_view text, uint64_t tokens) {
  if (text.size() / kBytesPerToken > tokens) {
    text = text.substr(utf8::floor_boundary(text, text.size() - tokens * kBytesPerToken));
  }
  for (uint64_t count = estimate_tokens(text); count > tokens; count = estimate_tokens(text)) {
    const double share = kTowardsTarget * static_cast<double>(tokens) / static_cast<double>(count);
    const auto wanted = static_cast<size_t>(static_cast<double>(text.size()) * share);
    const size_t from = cluster_floor(text, utf8::floor_boundary(text, text.size() - wanted));
    text = text.substr(from > 0 ? from : utf8::decode(text).length);
  }
  return text;
}

}  // namespace ebla::context
