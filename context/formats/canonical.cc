#include "context/formats/canonical.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "context/list/identity.h"
#include "schema/base/json_text.h"

namespace ebla::context {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out.push_back('"');
  for (char c : text) {
    if (const size_t at = kShort.find(c); at != std::string_view::npos) {
      out.push_back('\\');
      out.push_back(kLetters[at]);
    } else if (const auto byte = static_cast<uint8_t>(c); byte < 0x20) {
      out += "\\u00";
      out.push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

// Most strings are already written the one way.
void append_string(std::string& out, const JsonValue& value) {
  const std::string_view raw = value.raw();
  bool odd = false;
  for (size_t at = raw.find('\\'); at != std::string_view::npos && !odd; at = raw.find('\\', at)) {
    odd = raw[at + 1] == 'u' || raw[at + 1] == '/';
    at += 2;
  }
  if (!odd) {
    out.append(raw);
    return;
  }
  std::string scratch;
  append_escaped(out, value.text(scratch));
}

void append_object(std::string& out, const JsonValue& value, std::string_view without) {
  std::vector<std::pair<std::string, JsonValue>> members;
  for (const JsonValue& member : value) {
    if (without.empty() || !member.key_is(without)) members.emplace_back(member.key(), member);
  }
  std::ranges::sort(members, {}, [](const auto& member) {
    return std::pair(std::string_view(member.first), member.second.span().begin);
  });
  out.push_back('{');
  bool first = true;
  for (size_t i = 0; i < members.size(); ++i) {
    if (i + 1 < members.size() && members[i].first == members[i + 1].first) continue;
    if (!first) out.push_back(',');
    first = false;
    append_escaped(out, members[i].first);
    out.push_back(':');
    append_canonical(out, members[i].second);
  }
  out.push_back('}');
}

}  // namespace

std::string canonical_arguments(std::string_view text) {
  return json_text::trimmed(text).empty() ? "{}" : canonical_json(text);
}

void append_canonical(std::string& out, const JsonValue& value, std::string_view without) {
  switch (value.kind()) {
    case JsonKind::string:
      append_string(out, value);
      break;
    case JsonKind::object:
      append_object(out, value, without);
      break;
    case JsonKind::array: {
      char separator = '[';
      for (const JsonValue& item : value) {
        out.push_back(separator);
        append_canonical(out, item);
        separator = ',';
      }
      if (separator == '[') out.push_back('[');
      out.push_back(']');
      break;
    }
    default:
      out.append(value.raw());
  }
}

}  // namespace ebla::context
