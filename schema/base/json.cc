#include "schema/base/json.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "schema/base/utf8.h"

namespace ebla {

const Json* Json::find(std::string_view key) const {
  for (auto it = members.rbegin(); it != members.rend(); ++it) {
    if (it->first == key) return &it->second;
  }
  return nullptr;
}

namespace {

template <class T>
std::optional<T> parse_number(const Json& value) {
  if (!value.is(Json::Kind::number)) return std::nullopt;
  T out{};
  const char* end = value.text.data() + value.text.size();
  auto [at, error] = std::from_chars(value.text.data(), end, out);
  if (error != std::errc() || at != end) return std::nullopt;
  return out;
}

void write_value(JsonWriter& out, const Json& value) {
  switch (value.kind) {
    case Json::Kind::null:
      out.null();
      break;
    case Json::Kind::boolean:
      out.boolean(value.boolean);
      break;
    case Json::Kind::number:
      out.raw(value.text);
      break;
    case Json::Kind::string:
      out.string(value.text);
      break;
    case Json::Kind::array:
      out.begin_array();
      for (const Json& item : value.items) write_value(out, item);
      out.end_array();
      break;
    case Json::Kind::object:
      out.begin_object();
      for (const auto& [name, member] : value.members) {
        out.key(name);
        write_value(out, member);
      }
      out.end_object();
      break;
  }
}

// Behind the string that begins at `at`.
size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// Behind the value that begins at `at`, in the members of an object or the items of an array.
size_t value_end(std::string_view text, size_t at) {
  size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '}')) break;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
    ++at;
  }
  return at;
}

}  // namespace

std::optional<int64_t> Json::as_int64() const {
  return parse_number<int64_t>(*this);
}
std::optional<uint64_t> Json::as_uint64() const {
  return parse_number<uint64_t>(*this);
}
std::optional<double> Json::as_double() const {
  return parse_number<double>(*this);
}

std::vector<std::string_view> member_sources(std::string_view object) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::string_view> sources;
  size_t at = object.find('{');
  for (;;) {
    at = object.find_first_of("\"}", at);
    if (at == std::string_view::npos || object[at] == '}') return sources;
    at = object.find_first_not_of(kSpace, object.find(':', string_end(object, at)) + 1);
    const size_t end = value_end(object, at);
    std::string_view value = object.substr(at, end - at);
    value = value.substr(0, value.find_last_not_of(kSpace) + 1);
    sources.push_back(value);
    at = end;
  }
}

std::string to_json(const Json& value) {
  JsonWriter out;
  write_value(out, value);
  return out.take();
}

std::string base64(std::string_view bytes) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < n ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    }
    out.push_back(kAlphabet[group >> 18 & 63]);
    out.push_back(kAlphabet[group >> 12 & 63]);
    out.push_back(n > 1 ? kAlphabet[group >> 6 & 63] : '=');
    out.push_back(n > 2 ? kAlphabet[group & 63] : '=');
  }
  return out;
}

std::string printable(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size());
  auto escape_bytes = [&out](std::string_view raw) {
    for (char c : raw) {
      const auto byte = static_cast<uint8_t>(c);
      out += "\\x";
      out.push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
  };
  while (!bytes.empty()) {
    const utf8::Decoded d = utf8::decode(bytes);
    const std::string_view raw = bytes.substr(0, d.length);
    const bool control = d.code_point < 0x20 || (d.code_point >= 0x7F && d.code_point < 0xA0);
    if (d.code_point == '\n') {
      out += "\\n";
    } else if (d.code_point == '\t') {
      out.push_back('\t');
    } else if (!d.valid || control) {
      escape_bytes(raw);
    } else {
      out.append(raw);
    }
    bytes.remove_prefix(d.length);
  }
  return out;
}

}  // namespace ebla
