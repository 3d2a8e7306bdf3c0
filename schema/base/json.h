// JSON as the control plane needs it: a small owned tree that keeps number text, and a writer
// whose output is always strict UTF-8. Request bodies of agents do not go through this tree.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/base/result.h"

namespace ebla {

class Json {
 public:
  enum class Kind { null, boolean, number, string, array, object };

  Json() noexcept;  // defined below, where clang knows the size of a member

  Kind kind = Kind::null;
  bool boolean = false;
  // string: the unescaped bytes, a lone surrogate as its 3 bytes (WTF-8); number: source text.
  std::string text;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;  // in source order, duplicates kept

  bool is(Kind k) const { return kind == k; }
  const Json* find(std::string_view key) const;  // last one of equal keys; nullptr if absent
  // Integers are exact: "1.0", "1e2" and values out of range give nullopt.
  std::optional<int64_t> as_int64() const;
  std::optional<uint64_t> as_uint64() const;
  std::optional<double> as_double() const;
};

// Depth and size are limited (limits.h). Code::parse_error names the first fault. Invalid UTF-8
// is a fault; an escaped lone surrogate is not.
Result<Json> parse_json(std::string_view text);
// Source text of each member's value, in source order. `object` must be the text of a valid object;
// what is around it is white space.
std::vector<std::string_view> member_sources(std::string_view object);
// The tree back as compact JSON (numbers as their source text).
std::string to_json(const Json& value);

inline Json::Json() noexcept = default;

class JsonWriter {
 public:
  JsonWriter();
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);  // invalid UTF-8 becomes U+FFFD
  JsonWriter& number(int64_t value);
  JsonWriter& number(uint64_t value);
  JsonWriter& number(int value) { return number(static_cast<int64_t>(value)); }
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // must be one valid JSON value

  // Shorthands for the members of an object.
  JsonWriter& member(std::string_view name, std::string_view text) {
    return key(name).string(text);
  }
  JsonWriter& member(std::string_view name, const char* text) { return key(name).string(text); }
  JsonWriter& member(std::string_view name, int64_t value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, uint64_t value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, int value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& member(std::string_view name, bool value) { return key(name).boolean(value); }

  std::string take();  // the finished text; the writer is empty again

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string base64(std::string_view bytes);
// Replaces control bytes and invalid UTF-8 by visible escapes: what a terminal or a log may show.
std::string printable(std::string_view bytes);

}  // namespace ebla
