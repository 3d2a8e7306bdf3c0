// Anthropic Messages: content is a string or a list of blocks; results of tools are blocks of the
// next message of the user.
#include "context/formats/table.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

bool read_block(PartReader& reader, Message& message, const JsonValue& block,
                std::string_view type) {
  if (type == "thinking" || type == "redacted_thinking") {
    reader.reasoning(message, block, block["thinking"]);
    return true;
  }
  if (type == "tool_use" || type == "server_tool_use" || type == "mcp_tool_use") {
    reader.call(message, block,
                {.id = block["id"].text(),
                 .name = block["name"].text(),
                 .arguments = block["input"],
                 .provider_side = type != "tool_use"});
    return true;
  }
  if (type == "tool_result" || type.ends_with("_tool_result")) {
    reader.result(message, block,
                  {.id = block["tool_use_id"].text(),
                   .name = {},
                   .content = block["content"],
                   .error = block["is_error"].is_true(),
                   .provider_side = type != "tool_result"});
    return true;
  }
  return false;
}

std::string read_message(PartReader& reader, const JsonValue& item, Message& message) {
  std::string scratch;
  const JsonValue role = item["role"];
  if (!role.is_string()) return "role is missing";
  message.role = role_of_name(role.text(scratch));
  message.id = item["id"].text();
  reader.content(message, item["content"], read_block);
  return {};
}

uint64_t cache_marks(const JsonValue& value) {
  uint64_t marks = 0;
  for (const JsonValue& child : value) {
    if (child.key_is("cache_control")) ++marks;
    if (!child.key_is("input") && !child.key_is("input_schema")) marks += cache_marks(child);
  }
  return marks;
}

class Anthropic final : public FormatBase {
 public:
  FormatId id() const override { return FormatId::anthropic; }

  int fitness(const Traits& traits) const override {
    if (!traits.messages || traits.has(kNoRole | kToolRole | kToolCalls)) return 0;
    int fit = 10;
    if (traits.whole && !traits.max_tokens) fit -= 5;
    if (traits.has(kSystemRole | kUrlBlock)) fit -= 5;
    if (traits.has(kToolBlock) || traits.schema_tools) fit += 60;
    if (traits.system) fit += 40;
    if (traits.model.starts_with("claude")) fit += 20;
    return fit;
  }

  Result<Conversation> read(const JsonTree& body) const override {
    auto found = find_list(body, "messages");
    if (!found) return std::unexpected(found.error());
    auto conversation = read_list(*found, "messages", read_message);
    if (!conversation) return conversation;
    conversation->format = id();
    conversation->max_output = found->request["max_tokens"].number();
    conversation->overhead_tokens = overhead_of(found->request, {"system", "tools"});
    return conversation;
  }

  std::string user_of(const Conversation&, std::string_view content) const override {
    return json_object({{"role", R"("user")"}, {"content", content}});
  }
  // Two messages of the user in a row pass with the vendor, not with all who speak this format.
  bool needs_alternation() const override { return true; }
  ResultPlace result_place() const override { return ResultPlace::blocks; }
  bool refuses_blank() const override { return true; }
  bool begins_with_user() const override { return true; }
  // A result may lack its content: the tool had nothing to say.
  bool takes(ContentShape shape, std::string_view body, const Part* result) const override {
    return shape == ContentShape::absent || FormatBase::takes(shape, body, result);
  }

  std::vector<std::vector<JsonValue>> call_ids(const JsonValue& message) const override {
    std::vector<std::vector<JsonValue>> ids(1);
    for (const JsonValue& block : message["content"]) {
      if (block["type"].equals("tool_use")) ids.front().push_back(block["id"]);
      if (block["type"].equals("tool_result")) ids.front().push_back(block["tool_use_id"]);
    }
    return ids;
  }
  std::string result_of(std::string_view, const Conversation&, const Part& call,
                        std::string_view text) const override {
    return json_object({{"type", R"("tool_result")"},
                        {"tool_use_id", json_string(call.call_id)},
                        {"content", json_string(text)}});
  }

  void own_rules(const JsonTree& body, const Conversation& conversation,
                 std::vector<std::string>& breaches) const override {
    if (cache_marks(body.root()) > limits::kCacheMarks) {
      breaches.push_back("more than 4 marks of cache_control");
    }
    for (const Message& message : conversation.messages) {
      if (message.role != Role::user && message.role != Role::tool && !is_model(message)) {
        breaches.push_back("a role other than user and assistant");
      }
    }
    for (const JsonValue& message : find_list(body, "messages").value_or(ListFound()).list) {
      for (const JsonValue& block : message["content"]) {
        const JsonValue type = block["type"];
        if (type.equals("thinking") && !block["signature"].is_string()) {
          breaches.push_back("a thinking block without its signature");
        }
        if (type.equals("redacted_thinking") && !block["data"].is_string()) {
          breaches.push_back("a redacted thinking block without its data");
        }
        if (type.equals("tool_use") && !block["input"].is_object()) {
          breaches.push_back("a tool_use whose input is no object");
        }
      }
    }
  }
};

}  // namespace

const Format& anthropic_format() {
  static const Anthropic format;
  return format;
}

}  // namespace ebla::context
