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

void look_at_block(const JsonValue& block, Traits& traits) {
  std::string scratch;
  const std::string_view type = block["type"].text(scratch);
  if (type == "tool_use" || type == "thinking" || type == "redacted_thinking" ||
      type.ends_with("tool_result") || type.ends_with("_tool_use") || block["source"].is_object()) {
    traits.tool_blocks = true;
  } else if (one_of(type, kItemBlocks)) {
    traits.item_blocks = true;
  } else if (one_of(type, kUrlBlocks)) {
    traits.url_blocks = true;
  }
}

void look_at_element(const JsonValue& element, Traits& traits) {
  std::string scratch;
  traits.empty = false;
  const JsonValue role = element["role"];
  if (role.is_string()) {
    traits.roles = true;
    const std::string_view name = role.text(scratch);
    if (name == "tool" || name == "function") traits.tool_roles = true;
    if (name == "system" || name == "developer") traits.system_roles = true;
    if (element["tool_calls"].is_list() || element["function_call"].is_object()) {
      traits.tool_calls = true;
    }
  } else {
    traits.no_role = true;
    const std::string_view type = element["type"].text(scratch);
    if (one_of(type, kChainTypes) || element["lc"]) {
      traits.chains = true;
    } else if (!type.empty()) {
      traits.items = true;
    }
  }
  const JsonValue content = element["content"];
  if (!content.is_list()) return;
  for (const JsonValue& block : content) look_at_block(block, traits);
}

}  // namespace

Traits traits_of(const JsonTree& body) {
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
  if (list.is_string()) traits.empty = false;
  if (!list.is_list()) return traits;
  for (const JsonValue& element : list) look_at_element(element, traits);
  return traits;
}

}  // namespace ebla::context
