#include <simdjson.h>

#include <cstdint>

#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla {
namespace {

namespace ondemand = simdjson::ondemand;

std::unexpected<Error> malformed(std::string_view what) {
  return fail(Code::parse_error, "not valid JSON: " + std::string(what));
}

std::unexpected<Error> malformed(simdjson::error_code error) {
  return malformed(simdjson::error_message(error));
}

// Four hex digits at `at`; -1 when they are not.
int32_t hex4(std::string_view text, size_t at) {
  if (text.size() < at + 4) return -1;
  int32_t value = 0;
  for (char c : text.substr(at, 4)) {
    int digit;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      digit = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = c - 'A' + 10;
    } else {
      return -1;
    }
    value = value << 4 | digit;
  }
  return value;
}

// Appends the character of a \u escape at `at` (behind the u); returns how many source bytes it
// took, 0 when it is not one. A pair of surrogates is one character, a lone one its 3 bytes.
size_t unescape_unicode(std::string_view text, size_t at, std::string& out) {
  const int32_t unit = hex4(text, at);
  if (unit < 0) return 0;
  const bool high = unit >= 0xD800 && unit <= 0xDBFF;
  if (high && text.substr(at + 4, 2) == "\\u") {
    const int32_t low = hex4(text, at + 6);
    if (low >= 0xDC00 && low <= 0xDFFF) {
      const int32_t pair = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      utf8::append(out, static_cast<char32_t>(pair));
      return 10;
    }
  }
  utf8::append(out, static_cast<char32_t>(unit));
  return 4;
}

char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

// A string's bytes and how much of the source it took, the closing quote included.
struct Unescaped {
  std::string bytes;
  size_t taken = 0;
};

// `raw` begins behind the opening quote and may run beyond the closing one.
Result<Unescaped> unescape(std::string_view raw) {
  std::string out;
  size_t at = 0;
  while (at < raw.size()) {
    size_t plain = at;
    while (plain < raw.size() && raw[plain] != '"' && raw[plain] != '\\' &&
           static_cast<uint8_t>(raw[plain]) >= 0x20) {
      ++plain;
    }
    out.append(raw.substr(at, plain - at));
    if (plain == raw.size()) break;
    if (raw[plain] == '"') return Unescaped{std::move(out), plain + 1};
    if (raw[plain] != '\\') return malformed("a control character inside a string");
    if (plain + 1 == raw.size()) break;
    const char kind = raw[plain + 1];
    at = plain + 2;
    if (kind == 'u') {
      const size_t taken = unescape_unicode(raw, at, out);
      if (taken == 0) return malformed("a \\u escape without four hex digits");
      at += taken;
    } else if (const char c = simple_escape(kind); c != '\0') {
      out.push_back(c);
    } else {
      return malformed("an unknown escape in a string");
    }
  }
  return malformed("a string without its end");
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\t' || token.back() == '\n' ||
                            token.back() == '\r')) {
    token.remove_suffix(1);
  }
  return token;
}

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

bool is_number(std::string_view text) {
  size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t integer = at;
  at = skip_digits(text, at);
  if (at == integer || (at - integer > 1 && text[integer] == '0')) return false;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = at + 1;
    at = skip_digits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = at;
    at = skip_digits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

// The reader keeps the end of the input, since a key's raw text knows only its start.
class TreeReader {
 public:
  explicit TreeReader(std::string_view source) : source_(source) {}

  Result<Json> scalar(std::string_view token) const {
    Json out;
    token = trimmed(token);
    if (token.starts_with('"')) {
      auto text = unescape(token.substr(1));
      if (!text) return std::unexpected(text.error());
      if (text->taken + 1 != token.size()) return malformed("text behind a string");
      out.kind = Json::Kind::string;
      out.text = std::move(text->bytes);
    } else if (token == "true" || token == "false") {
      out.kind = Json::Kind::boolean;
      out.boolean = token == "true";
    } else if (token == "null") {
      out.kind = Json::Kind::null;
    } else if (is_number(token)) {
      out.kind = Json::Kind::number;
      out.text = token;
    } else {
      return malformed("a value that is neither string, number, true, false nor null");
    }
    return out;
  }

  Result<Json> read(ondemand::value value, size_t depth) {
    if (depth > limits::kJsonDepth) return malformed("nested too deeply");
    ondemand::json_type type;
    if (auto error = value.type().get(type)) return malformed(error);
    if (type == ondemand::json_type::array) return read_array(value, depth);
    if (type == ondemand::json_type::object) return read_object(value, depth);
    return scalar(value.raw_json_token());
  }

 private:
  Result<Json> read_array(ondemand::value value, size_t depth) {
    Json out;
    out.kind = Json::Kind::array;
    ondemand::array array;
    if (auto error = value.get_array().get(array)) return malformed(error);
    for (auto element : array) {
      ondemand::value item;
      if (auto error = element.get(item)) return malformed(error);
      auto read_item = read(item, depth + 1);
      if (!read_item) return read_item;
      out.items.push_back(std::move(*read_item));
    }
    return out;
  }

  Result<Json> read_object(ondemand::value value, size_t depth) {
    Json out;
    out.kind = Json::Kind::object;
    ondemand::object object;
    if (auto error = value.get_object().get(object)) return malformed(error);
    for (auto element : object) {
      ondemand::field field;
      if (auto error = std::move(element).get(field)) return malformed(error);
      const char* key_start = field.key().raw();
      const auto key_at = static_cast<size_t>(key_start - source_.data());
      auto key = unescape(source_.substr(key_at));
      if (!key) return std::unexpected(key.error());
      auto member = read(field.value(), depth + 1);
      if (!member) return member;
      out.members.emplace_back(std::move(key->bytes), std::move(*member));
    }
    return out;
  }

  std::string_view source_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (text.size() > limits::kParsedRequestBytes) {
    return fail(Code::too_large, "the JSON text is larger than 64 MiB");
  }
  const simdjson::padded_string padded(text);
  const std::string_view source(padded.data(), padded.size());
  ondemand::parser parser;
  ondemand::document document;
  if (auto error = parser.iterate(padded).get(document)) return malformed(error);
  TreeReader reader(source);
  bool is_scalar = false;
  if (auto error = document.is_scalar().get(is_scalar)) return malformed(error);
  if (is_scalar) {
    // simdjson checks a lone scalar's end only when it reads the value itself.
    size_t start = source.find_first_not_of(" \t\r\n");
    return reader.scalar(source.substr(start == std::string_view::npos ? source.size() : start));
  }
  ondemand::value root;
  if (auto error = document.get_value().get(root)) return malformed(error);
  auto out = reader.read(root, 1);
  if (!out) return out;
  const bool at_end = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  if (!at_end) return malformed("text behind the value");
  return out;
}

}  // namespace ebla
