// Arguments as models write them, and what a model is told about the wrong ones.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "context/tool_texts.h"
#include "daemon/agent_tools.h"
#include "schema/base/suggest.h"

namespace ebla::daemon {
namespace {

namespace texts = context::texts;

constexpr size_t kShownBytes = 60;
constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

std::string shown(const Json& value) {
  const std::string text = to_json(value);
  return printable(text.substr(0, kShownBytes)) + (text.size() > kShownBytes ? "\u2026" : "");
}

template <class Range>
std::string names_of(const Range& range) {
  std::string names;
  for (const auto& one : range) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  return names;
}

// The known name that was probably meant: the nearest one, or one that is part of it.
template <class Range>
std::string did_you_mean(std::string_view name, const Range& range) {
  std::vector<std::string_view> known;
  for (const auto& one : range) known.push_back(one.name);
  std::string_view meant = nearest(name, known);
  for (const std::string_view one : known) {
    if (meant.empty() && name.find(one) != std::string_view::npos) meant = one;
  }
  return meant.empty() ? "" : fmt::format(texts::kDidYouMean, meant);
}

std::optional<Json> as_integer(const Json& value) {
  Json number = value;
  number.kind = Json::Kind::number;
  if (!value.is(Json::Kind::number) && !value.is(Json::Kind::string)) return std::nullopt;
  if (!number.as_int64()) {
    const auto real = number.as_double();
    if (!real || std::trunc(*real) != *real || std::abs(*real) > kExactIntegers) {
      return std::nullopt;
    }
    number.text = std::to_string(static_cast<int64_t>(*real));
  }
  return number;
}

std::optional<Json> as_boolean(const Json& value) {
  if (value.is(Json::Kind::boolean)) return value;
  if (!value.is(Json::Kind::number) && !value.is(Json::Kind::string)) return std::nullopt;
  std::string text = value.text;
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  Json flag;
  flag.kind = Json::Kind::boolean;
  flag.boolean = text == "true" || text == "1";
  if (!flag.boolean && text != "false" && text != "0" && !text.empty()) return std::nullopt;
  return flag;
}

std::optional<Json> as_text(const Json& value) {
  Json text = value;
  text.kind = Json::Kind::string;
  switch (value.kind) {
    case Json::Kind::string:
    case Json::Kind::number:
      return text;
    case Json::Kind::boolean:
      text.text = value.boolean ? "true" : "false";
      return text;
    default:
      return std::nullopt;
  }
}

Result<Json> as_type(const ToolParam& param, const Json& value) {
  std::optional<Json> fit;
  std::string_view wanted;
  switch (param.type) {
    case ToolParam::Type::text:
      fit = as_text(value);
      wanted = "a text";
      break;
    case ToolParam::Type::integer:
      fit = as_integer(value);
      wanted = "a whole number";
      break;
    case ToolParam::Type::boolean:
      fit = as_boolean(value);
      wanted = "true or false";
      break;
  }
  if (fit) return *std::move(fit);
  return fail(Code::invalid_params,
              fmt::format(texts::kWrongArgument, param.name, shown(value), wanted));
}

// What is left out, null or an empty text is an object without members.
Result<Json> as_object(const Json& given) {
  Json none;
  none.kind = Json::Kind::object;
  if (given.is(Json::Kind::object)) return given;
  if (given.is(Json::Kind::null)) return none;
  std::string why;
  if (given.is(Json::Kind::string)) {
    if (given.text.find_first_not_of(" \t\r\n") == std::string::npos) return none;
    auto parsed = parse_json(given.text);
    if (parsed && parsed->is(Json::Kind::object)) return parsed;
    if (parsed && parsed->is(Json::Kind::null)) return none;
    if (!parsed) why = fmt::format(": {}", parsed.error().text);
  }
  return fail(Code::invalid_params, fmt::format(texts::kWrongArguments, why));
}

// What only the daemon's side can mend, or nobody waits for.
bool beyond_the_model(Code code) {
  return code == Code::internal_error || (code_info(code).retry && code != Code::io_error);
}

}  // namespace

Result<Json> tool_arguments(const AgentTool& tool, const Json& given) {
  auto object = as_object(given);
  if (!object) return object;
  Json out;
  out.kind = Json::Kind::object;
  for (const auto& [name, value] : object->members) {
    const auto param = std::ranges::find(tool.params, std::string_view(name), &ToolParam::name);
    if (param == tool.params.end()) {
      return fail(Code::invalid_params,
                  fmt::format(texts::kUnknownArgument, tool.name,
                              printable(std::string_view(name).substr(0, kShownBytes)),
                              did_you_mean(name, tool.params), names_of(tool.params)));
    }
    if (value.is(Json::Kind::null)) continue;
    auto fit = as_type(*param, value);
    if (!fit) return fit;
    out.members.emplace_back(name, *std::move(fit));
  }
  for (const ToolParam& param : tool.params) {
    if (param.required && out.find(param.name) == nullptr) {
      return fail(Code::invalid_params,
                  fmt::format(texts::kMissingArgument, tool.name, param.name));
    }
  }
  return out;
}

Result<ToolAnswer> call_tool(const MethodCall& call, const Session& session, std::string_view name,
                             const Json& arguments) {
  const auto tools = agent_tools();
  const auto tool = std::ranges::find(tools, name, &AgentTool::name);
  if (tool == tools.end()) {
    return ToolAnswer{
        fmt::format(texts::kUnknownTool, printable(name.substr(0, kShownBytes)), names_of(tools)),
        true};
  }
  auto typed = tool_arguments(*tool, arguments);
  if (!typed) return ToolAnswer{std::move(typed.error().text), true};
  auto text = tool->run(call, session, *typed);
  if (text) return ToolAnswer{*std::move(text), false};
  if (beyond_the_model(text.error().code)) return std::unexpected(std::move(text.error()));
  return ToolAnswer{std::move(text.error().text), true};
}

}  // namespace ebla::daemon
