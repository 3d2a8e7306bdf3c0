#include "context/formats/json_tree.h"

#include <simdjson.h>

#include <charconv>

#include "schema/base/json.h"
#include "schema/base/json_text.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kShownKeyBytes = 40;  // in the place of a fault
constexpr size_t kSmallTextBytes = 64 * limits::kKiB;
constexpr size_t kBytesPerValue = 48;  // what is reserved beforehand
constexpr char kTooMany[] = "more values than are read";

// One step on the way to the value being read.
struct Step {
  std::string_view key;  // raw, without quotes; without data: an element
  size_t index = 0;
};

class TreeBuilder {
 public:
  TreeBuilder(std::string_view source, std::vector<JsonNode>& nodes)
      : source_(source), nodes_(nodes) {}

  // 0, or the index of the new node.
  uint32_t read(ondemand::value value, size_t depth);
  bool failed() const { return fault_ != nullptr; }
  void fail_with(const char* fault) {
    if (fault_ == nullptr) fault_ = fault;
  }
  std::unexpected<Error> error() const;

 private:
  uint32_t fail_at(const char* fault) {
    fail_with(fault);
    return 0;
  }
  uint32_t fail_at(simdjson::error_code code) { return fail_at(simdjson::error_message(code)); }
  uint32_t offset(const char* at) const { return static_cast<uint32_t>(at - source_.data()); }

  uint32_t read_array(ondemand::value value, uint32_t self, size_t depth);
  uint32_t read_object(ondemand::value value, uint32_t self, size_t depth);
  uint32_t close(ondemand::value& value, uint32_t self);
  bool read_key(ondemand::field& field, Step& step, uint32_t& begin, uint32_t& end);
  bool check_scalar(std::string_view token, JsonNode& node);

  std::string_view source_;
  std::vector<JsonNode>& nodes_;
  std::vector<Step> path_;
  const char* fault_ = nullptr;
};

std::unexpected<Error> TreeBuilder::error() const {
  std::string place;
  for (const Step& step : path_) {
    if (step.key.data() == nullptr) {
      place += "[" + std::to_string(step.index) + "]";
    } else {
      if (!place.empty()) place += ".";
      place += printable(step.key.substr(0, kShownKeyBytes));
    }
  }
  const std::string subject = place.empty() ? "the request" : place;
  if (fault_ == kTooMany) {
    return fail(Code::too_large, subject + ": " + fault_ + " (" +
                                     std::to_string(limits::kJsonValues) + "): send less at once");
  }
  return fail(Code::invalid_params, subject + ": not valid JSON: " + fault_);
}

bool TreeBuilder::check_scalar(std::string_view token, JsonNode& node) {
  const char first = token.empty() ? '\0' : token.front();
  if (first == '"') {
    node.kind = JsonKind::string;
    if (token.size() < 2 || token.back() != '"') return fail_at("text behind a string") != 0;
    const std::string_view inside = token.substr(1, token.size() - 2);
    if (const size_t at = inside.find('\\'); at != std::string_view::npos) {
      node.escaped = true;
      if (const char* fault = json_text::escape_fault(inside.substr(at))) {
        return fail_at(fault) != 0;
      }
    }
  } else if (token == "true" || token == "false") {
    node.kind = JsonKind::boolean;
  } else if (token == "null") {
    node.kind = JsonKind::null;
  } else if (json_text::is_number(token)) {
    node.kind = JsonKind::number;
  } else {
    return fail_at("a value that is neither string, number, true, false nor null") != 0;
  }
  return true;
}

uint32_t TreeBuilder::read(ondemand::value value, size_t depth) {
  if (depth > limits::kJsonDepth) return fail_at("nested too deeply");
  if (nodes_.size() > limits::kJsonValues) return fail_at(kTooMany);
  ondemand::json_type type;
  if (auto error = value.type().get(type)) return fail_at(error);
  const std::string_view token = json_text::trimmed(value.raw_json_token());
  const auto self = static_cast<uint32_t>(nodes_.size());
  JsonNode& node = nodes_.emplace_back();
  node.begin = offset(token.data());
  node.end = node.begin + static_cast<uint32_t>(token.size());
  if (type == ondemand::json_type::array) return read_array(value, self, depth);
  if (type == ondemand::json_type::object) return read_object(value, self, depth);
  return check_scalar(token, node) ? self : 0;
}

// A bracket was closed: it is the last character before the next token.
uint32_t TreeBuilder::close(ondemand::value& value, uint32_t self) {
  const char* next = nullptr;
  size_t end = source_.size();
  if (!value.current_location().get(next)) end = offset(next);
  nodes_[self].end = static_cast<uint32_t>(json_text::trimmed(source_.substr(0, end)).size());
  return self;
}

uint32_t TreeBuilder::read_array(ondemand::value value, uint32_t self, size_t depth) {
  nodes_[self].kind = JsonKind::array;
  ondemand::array array;
  if (auto error = value.get_array().get(array)) return fail_at(error);
  path_.push_back({});
  uint32_t last = 0;
  for (auto element : array) {
    ondemand::value item;
    if (auto error = element.get(item)) return fail_at(error);
    const uint32_t child = read(item, depth + 1);
    if (child == 0) return 0;
    (last == 0 ? nodes_[self].first : nodes_[last].next) = child;
    last = child;
    ++path_.back().index;
  }
  path_.pop_back();
  return close(value, self);
}

bool TreeBuilder::read_key(ondemand::field& field, Step& step, uint32_t& begin, uint32_t& end) {
  begin = offset(field.key().raw()) - 1;
  size_t quote = source_.find('"', begin + 1);
  auto behind_backslash = [&] {
    const size_t plain = source_.find_last_not_of('\\', quote - 1);
    return (quote - 1 - plain) % 2 != 0;
  };
  while (quote != std::string_view::npos && behind_backslash()) {
    quote = source_.find('"', quote + 1);
  }
  if (quote == std::string_view::npos) return fail_at("a string without its end") != 0;
  end = static_cast<uint32_t>(quote) + 1;
  step.key = source_.substr(begin + 1, end - begin - 2);
  const char* fault = json_text::escape_fault(step.key);
  return fault == nullptr || fail_at(fault) != 0;
}

uint32_t TreeBuilder::read_object(ondemand::value value, uint32_t self, size_t depth) {
  nodes_[self].kind = JsonKind::object;
  ondemand::object object;
  if (auto error = value.get_object().get(object)) return fail_at(error);
  path_.push_back({"", 0});
  uint32_t last = 0;
  for (auto element : object) {
    ondemand::field field;
    if (auto error = std::move(element).get(field)) return fail_at(error);
    uint32_t begin = 0;
    uint32_t end = 0;
    if (!read_key(field, path_.back(), begin, end)) return 0;
    const uint32_t child = read(field.value(), depth + 1);
    if (child == 0) return 0;
    nodes_[child].key_begin = begin;
    nodes_[child].key_end = end;
    (last == 0 ? nodes_[self].first : nodes_[last].next) = child;
    last = child;
  }
  path_.pop_back();
  return close(value, self);
}

}  // namespace

Result<JsonTree> JsonTree::read(std::string_view text, size_t behind) {
  static_assert(json_text::kReadAhead >= simdjson::SIMDJSON_PADDING);
  if (text.size() > limits::kBodyBytes) {
    return fail(Code::too_large, "the request is longer than " +
                                     std::to_string(limits::kBodyBytes) +
                                     " bytes: send less at once");
  }
  if (text.starts_with("\xef\xbb\xbf")) {
    return fail(Code::invalid_params, "the request begins with a byte order mark: send it without");
  }
  JsonTree tree;
  tree.text_ = text;
  tree.nodes_.reserve(text.size() / kBytesPerValue + 16);
  tree.nodes_.emplace_back();
  simdjson::padded_string copy;
  if (behind < json_text::kReadAhead) copy = simdjson::padded_string(text);
  const simdjson::padded_string_view padded =
      behind < json_text::kReadAhead
          ? simdjson::padded_string_view(copy)
          : simdjson::padded_string_view(text.data(), text.size(), text.size() + behind);
  TreeBuilder builder({padded.data(), padded.size()}, tree.nodes_);
  // What a parser takes grows with the text: the one that stays is for the many small ones.
  thread_local ondemand::parser kept;
  ondemand::parser large;
  ondemand::parser& parser = text.size() <= kSmallTextBytes ? kept : large;
  ondemand::document document;
  ondemand::value root;
  simdjson::error_code error = parser.iterate(padded).get(document);
  if (!error) error = document.get_value().get(root);
  if (error == simdjson::SCALAR_DOCUMENT_AS_VALUE) {
    return fail(Code::invalid_params,
                "the request is neither a list of messages nor an object that holds one");
  }
  if (error) {
    builder.fail_with(simdjson::error_message(error));
    return builder.error();
  }
  if (builder.read(root, 1) == 0) return builder.error();
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    builder.fail_with("text behind the value");
    return builder.error();
  }
  return tree;
}

Span JsonValue::span() const {
  return {node().begin, node().end};
}

std::string_view JsonValue::raw() const {
  return tree_ == nullptr ? std::string_view() : span().of(tree_->text_);
}

Span JsonValue::key_span() const {
  return {node().key_begin, node().key_end};
}

std::string JsonValue::key() const {
  std::string out;
  const Span token = key_span();
  if (!token.empty()) {
    json_text::append_decoded(tree_->text_.substr(token.begin + 1, token.size() - 2), out);
  }
  return out;
}

bool JsonValue::key_is(std::string_view name) const {
  const Span token = key_span();
  if (token.empty()) return false;
  const std::string_view inside = tree_->text_.substr(token.begin + 1, token.size() - 2);
  if (inside == name) return true;
  // An escape takes more bytes than it says.
  return inside.size() > name.size() && inside.contains('\\') && key() == name;
}

JsonValue JsonValue::operator[](std::string_view name) const {
  JsonValue found;
  if (!is_object()) return found;
  for (const JsonValue& member : *this) {
    if (member.key_is(name)) found = member;
  }
  return found;
}

size_t JsonValue::size() const {
  size_t count = 0;
  for (JsonValue child = first(); child; child = child.next()) ++count;
  return count;
}

std::string_view JsonValue::text(std::string& scratch) const {
  if (!is_string()) return {};
  const std::string_view inside = raw().substr(1, node().end - node().begin - 2);
  if (!node().escaped) return inside;
  scratch.clear();
  json_text::append_decoded(inside, scratch);
  return scratch;
}

std::string JsonValue::text() const {
  std::string scratch;
  return std::string(text(scratch));
}

bool JsonValue::equals(std::string_view expected) const {
  std::string scratch;
  return is_string() && text(scratch) == expected;
}

uint64_t JsonValue::number() const {
  const std::string_view token = raw();
  uint64_t value = 0;
  const auto [at, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return is(JsonKind::number) && error == std::errc() && at == token.data() + token.size() ? value
                                                                                           : 0;
}

}  // namespace ebla::context
