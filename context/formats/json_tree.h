// A JSON text as a tree of spans: where each value stands, nothing copied. All of the text is
// checked (structure, UTF-8, escapes, numbers, depth), so that any span of it may be written again
// as it is. A tree is of use only together with the text it was read from.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "context/list/conversation.h"
#include "schema/base/result.h"

namespace ebla::context {

enum class JsonKind : uint8_t { absent, null, boolean, number, string, array, object };

struct JsonNode {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t key_begin = 0;  // the key's token, quotes included; nothing: an element
  uint32_t key_end = 0;
  uint32_t first = 0;  // index of the first child and the next sibling; 0: none
  uint32_t next = 0;
  JsonKind kind = JsonKind::absent;
  bool escaped = false;  // a string with escapes in it
};

class JsonTree;

// One value of a tree; `absent` where a member was asked for that is not there, and all its
// members are absent again. A handle: copy it.
class JsonValue {
 public:
  JsonValue() = default;
  JsonValue(const JsonTree* tree, uint32_t index) : tree_(tree), index_(index) {}

  JsonKind kind() const { return node().kind; }
  bool is(JsonKind k) const { return kind() == k; }
  explicit operator bool() const { return !is(JsonKind::absent); }
  bool is_string() const { return is(JsonKind::string); }
  bool is_list() const { return is(JsonKind::array); }
  bool is_object() const { return is(JsonKind::object); }

  Span span() const;             // empty when absent
  std::string_view raw() const;  // its JSON text
  Span key_span() const;         // of a member: its key's token
  std::string key() const;       // decoded
  bool key_is(std::string_view name) const;

  // Member by name: the last of equal ones.
  JsonValue operator[](std::string_view name) const;
  JsonValue first() const;
  JsonValue next() const;
  size_t size() const;

  // A string's text: decoded into `scratch` where it has escapes, else a view of the body.
  std::string_view text(std::string& scratch) const;
  std::string text() const;  // "" for what is no string
  bool equals(std::string_view text) const;
  uint64_t number() const;  // a whole number, 0 for all else
  bool is_true() const { return raw() == "true"; }

  class Iterator;
  Iterator begin() const;
  static std::default_sentinel_t end() { return {}; }

 private:
  const JsonNode& node() const;
  const JsonTree* tree_ = nullptr;
  uint32_t index_ = 0;
};

// `text` must outlive the tree and stay where it is. Thread safe once read.
class JsonTree {
 public:
  // invalid_params with the place of the first fault; too_large above limits::kBodyBytes
  // or limits::kJsonValues. `behind`: bytes that may be read behind the text, whatever they say;
  // with fewer than json_text::kReadAhead the text is copied first.
  static Result<JsonTree> read(std::string_view text, size_t behind = 0);

  std::string_view text() const { return text_; }
  JsonValue root() const { return {this, nodes_.size() > 1 ? 1u : 0u}; }

 private:
  friend class JsonValue;
  std::string_view text_;
  std::vector<JsonNode> nodes_;  // [0] stands for what is absent
};

class JsonValue::Iterator {
 public:
  explicit Iterator(JsonValue at) : at_(at) {}
  const JsonValue& operator*() const { return at_; }
  Iterator& operator++() {
    at_ = at_.next();
    return *this;
  }
  bool operator==(std::default_sentinel_t) const { return !at_; }

 private:
  JsonValue at_;
};

inline const JsonNode& JsonValue::node() const {
  static constexpr JsonNode kAbsent;
  return tree_ == nullptr ? kAbsent : tree_->nodes_[index_];
}
inline JsonValue JsonValue::first() const {
  return {tree_, node().first};
}
inline JsonValue JsonValue::next() const {
  return {tree_, node().next};
}
inline JsonValue::Iterator JsonValue::begin() const {
  return Iterator(first());
}

}  // namespace ebla::context
