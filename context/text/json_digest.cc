#include "context/text/json_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "context/text/ascii.h"
#include "context/text/quote.h"
#include "schema/base/json.h"

namespace ebla::context {
namespace {

constexpr size_t kParsedBytes = 262'144;
constexpr size_t kFacts = 6;
constexpr size_t kFactChars = 60;
constexpr size_t kErrorChars = 200;
constexpr int kDepth = 4;

constexpr std::string_view kErrorNames[] = {"error", "errors", "exception", "fault"};
constexpr std::string_view kMessageNames[] = {"code",   "type",   "message",
                                              "detail", "reason", "description"};

bool is_scalar(const Json& value) {
  return value.is(Json::Kind::string) || value.is(Json::Kind::number) ||
         value.is(Json::Kind::boolean);
}

std::string scalar(const Json& value) {
  if (value.is(Json::Kind::boolean)) return value.boolean ? "true" : "false";
  return one_line(value.text, kFactChars);
}

bool is_false(const Json* value) {
  return value != nullptr && value->is(Json::Kind::boolean) && !value->boolean;
}
bool is_true(const Json* value) {
  return value != nullptr && value->is(Json::Kind::boolean) && value->boolean;
}

void add_facts(const Json& value, std::string_view name, int depth, std::vector<std::string>& out) {
  if (out.size() >= kFacts || depth == 0) return;
  const std::string shown = one_line(name, kFactChars);
  if (is_scalar(value)) {
    out.push_back(shown.empty() ? scalar(value) : fmt::format("{}={}", shown, scalar(value)));
  } else if (value.is(Json::Kind::array)) {
    const size_t size = value.items.size();
    const std::string_view noun = size == 1 ? "item" : "items";
    out.push_back(shown.empty() ? fmt::format("{} {}", size, noun)
                                : fmt::format("{}: {} {}", shown, size, noun));
  }
  // What is near says more than what is deep.
  for (const auto& [key, member] : value.members) {
    if (!member.is(Json::Kind::object)) add_facts(member, key, depth - 1, out);
  }
  for (const auto& [key, member] : value.members) {
    if (member.is(Json::Kind::object)) add_facts(member, key, depth - 1, out);
  }
}

std::string joined(const std::vector<std::string>& facts) {
  std::string out;
  for (const std::string& fact : facts) out.append(out.empty() ? "" : ", ").append(fact);
  return out;
}

// "FORBIDDEN: label p0 is protected".
std::string error_text(const Json& error) {
  if (is_scalar(error)) return one_line(error.text, kErrorChars);
  if (error.is(Json::Kind::array)) return error.items.empty() ? "" : error_text(error.items[0]);
  std::string out;
  for (const std::string_view name : kMessageNames) {
    const Json* value = error.find(name);
    if (value == nullptr || !is_scalar(*value)) continue;
    out.append(out.empty() ? "" : ": ").append(one_line(value->text, kErrorChars));
  }
  return out;
}

}  // namespace

std::optional<JsonDigest> json_digest(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text.size() > kParsedBytes) return std::nullopt;
  if (text[begin] != '{' && text[begin] != '[') return std::nullopt;
  const Result<Json> json = parse_json(text);
  if (!json) return std::nullopt;
  JsonDigest out;
  for (const std::string_view name : kErrorNames) {
    const Json* error = json->find(name);
    if (error == nullptr || is_false(error)) continue;
    const std::string message = is_true(error) ? error_text(*json) : error_text(*error);
    if (message.empty() && !is_true(error)) continue;
    out.failed = true;
    out.text = message;
    if (!message.empty()) return out;
  }
  for (const std::string_view name : {"ok", "success"}) out.failed |= is_false(json->find(name));
  for (const std::string_view name : {"isError", "is_error"})
    out.failed |= is_true(json->find(name));
  std::vector<std::string> facts;
  add_facts(*json, "", kDepth, facts);
  out.text = joined(facts);
  return out;
}

}  // namespace ebla::context
