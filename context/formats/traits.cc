#include "context/formats/traits.h"

#include <algorithm>
#include <array>

namespace ebla::context {
namespace {

template <size_t N>
bool one_of(std::string_view value, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, value) != names.end();
}

constexpr std::array<std::string_view, 6> kChainTypes = {"human",  "ai",       "tool",
                                                         "system", "function", "AIMessageChunk"};
constexpr std::array<std::string_view, 6> kItemBlocks = {
    "input_text", "output_text", "input_image", "input_file", "refusal", "summary_text"};
constexpr std::array<std::string_view, 3> kUrlBlocks = {"image_url", "input_audio", "file"};

ElementTraits traits_of_block(const JsonValue& block) {
  std::string scratch;
  const std::string_view type = block["type"].text(scratch);
  if (type == "tool_use" || type == "thinking" || type == "redacted_thinking" ||
      type.ends_with("tool_result") || type.ends_with("_tool_use") || block["source"].is_object()) {
    return kToolBlock;
  }
  if (one_of(type, kItemBlocks)) return kItemBlock;
  return one_of(type, kUrlBlocks) ? kUrlBlock : 0;
}

ElementTraits traits_of_element(const JsonValue& element) {
  std::string scratch;
  ElementTraits traits = 0;
  const JsonValue role = element["role"];
  if (role.is_string()) {
    traits |= kRole;
    const std::string_view name = role.text(scratch);
    if (name == "tool" || name == "function") traits |= kToolRole;
    if (name == "system" || name == "developer") traits |= kSystemRole;
    if (element["tool_calls"].is_list() || element["function_call"].is_object()) {
      traits |= kToolCalls;
    }
  } else {
    traits |= kNoRole;
    const std::string_view type = element["type"].text(scratch);
    if (one_of(type, kChainTypes) || element["lc"]) {
      traits |= kChainType;
    } else if (!type.empty()) {
      traits |= kItemType;
    }
  }
  const JsonValue content = element["content"];
  if (!content.is_list()) return traits;
  for (const JsonValue& block : content) traits |= traits_of_block(block);
  return traits;
}

}  // namespace

Traits traits_of(const JsonTree& body, std::vector<ElementTraits>& each) {
  Traits traits;
  const JsonValue root = body.root();
  JsonValue list = root;
  if (root.is_object()) {
    traits.whole = true;
    traits.messages = root["messages"].is_list();
    traits.input = root["input"].is_list() || root["input"].is_string();
    list = traits.messages ? root["messages"] : root["input"];
    traits.max_tokens = static_cast<bool>(root["max_tokens"]);
    traits.system = root["system"] || root["anthropic_version"];
    traits.model = root["model"].text();
    for (const JsonValue& tool : root["tools"]) {
      if (tool["input_schema"]) traits.schema_tools = true;
      if (tool["function"].is_object()) traits.function_tools = true;
    }
  } else if (root.is_list()) {
    traits.messages = traits.input = true;
  }
  if (!list.is_list()) return traits;
  for (const JsonValue& element : list) {
    each.push_back(traits_of_element(element));
    traits.elements |= each.back();
  }
  return traits;
}

}  // namespace ebla::context
