#include <simdjson.h>

#include "schema/base/json.h"
#include "schema/base/json_text.h"
#include "schema/base/limits.h"

namespace ebla {
namespace {

namespace ondemand = simdjson::ondemand;

std::unexpected<Error> malformed(std::string_view what) {
  return fail(Code::parse_error, "not valid JSON: " + std::string(what));
}

std::unexpected<Error> malformed(simdjson::error_code error) {
  return malformed(simdjson::error_message(error));
}

// The reader keeps the end of the input, since a key's raw text knows only its start.
class TreeReader {
 public:
  explicit TreeReader(std::string_view source) : source_(source) {}

  Result<Json> scalar(std::string_view token) const {
    Json out;
    token = json_text::trimmed(token);
    if (token.starts_with('"')) {
      const json_text::StringEnd end = json_text::unescape(token.substr(1), out.text);
      if (end.fault != nullptr) return malformed(end.fault);
      if (end.taken + 1 != token.size()) return malformed("text behind a string");
      out.kind = Json::Kind::string;
    } else if (token == "true" || token == "false") {
      out.kind = Json::Kind::boolean;
      out.boolean = token == "true";
    } else if (token == "null") {
      out.kind = Json::Kind::null;
    } else if (json_text::is_number(token)) {
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
      std::string key;
      const json_text::StringEnd end = json_text::unescape(source_.substr(key_at), key);
      if (end.fault != nullptr) return malformed(end.fault);
      auto member = read(field.value(), depth + 1);
      if (!member) return member;
      out.members.emplace_back(std::move(key), std::move(*member));
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
