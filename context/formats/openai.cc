// OpenAI chat completions, and the many that speak it: calls beside the content of the model's
// message, results as messages of the role tool right behind it; before that, one function_call and
// the role function.
#include "context/formats/chat_fields.h"
#include "context/formats/table.h"

namespace ebla::context {
namespace {

std::string read_message(PartReader& reader, const JsonValue& item, Message& message) {
  std::string scratch;
  const JsonValue role = item["role"];
  if (!role.is_string()) return "role is missing";
  const std::string_view name = role.text(scratch);
  message.role = role_of_name(name);
  message.id = item["id"].text();
  const JsonValue content = item["content"];
  if (message.role == Role::tool) {
    // A function's result is told by the function's name.
    reader.result(message, item,
                  {.id = name == "tool" ? item["tool_call_id"].text() : std::string(),
                   .name = item["name"].text(),
                   .content = content});
    return {};
  }
  read_reasoning_fields(reader, message, item);
  reader.content(message, content);
  if (const JsonValue refusal = item["refusal"]; refusal.is_string()) {
    reader.text(message, refusal.span(), refusal);
  }
  // What the model said aloud, by its id.
  if (const JsonValue audio = item["audio"]; audio.is_object()) reader.unknown(message, audio);
  read_chat_calls(reader, message, item);
  return {};
}

class OpenAi final : public FormatBase {
 public:
  FormatId id() const override { return FormatId::openai; }

  int fitness(const Traits& traits) const override {
    if (!traits.messages || traits.has(kNoRole)) return 0;
    int fit = 10;
    if (traits.has(kToolBlock | kItemBlock) || traits.schema_tools) fit -= 5;
    if (traits.system) fit -= 5;
    if (traits.model.starts_with("gpt")) fit += 20;
    if (traits.has(kToolRole | kToolCalls)) fit += 60;
    if (traits.has(kSystemRole | kUrlBlock) || traits.function_tools) fit += 40;
    return fit;
  }

  Result<Conversation> read(const JsonTree& body) const override {
    auto found = find_list(body, "messages");
    if (!found) return std::unexpected(found.error());
    auto conversation = read_list(*found, "messages", read_message);
    if (!conversation) return conversation;
    conversation->format = id();
    const JsonValue limit = found->request["max_completion_tokens"];
    conversation->max_output = (limit ? limit : found->request["max_tokens"]).number();
    conversation->overhead_tokens =
        overhead_of(found->request, {"tools", "functions", "response_format"});
    return conversation;
  }

  std::string user_of(const Conversation&, std::string_view content) const override {
    return json_object({{"role", R"("user")"}, {"content", content}});
  }
  bool needs_alternation() const override { return false; }
  ResultPlace result_place() const override { return ResultPlace::messages; }
  // A function, which has no id, may return null.
  bool takes(ContentShape shape, std::string_view body, const Part* result) const override {
    const bool function = result != nullptr && result->call_id.empty();
    return (function && shape == ContentShape::null) || FormatBase::takes(shape, body, result);
  }

  std::vector<std::vector<JsonValue>> call_ids(const JsonValue& message) const override {
    return {ids_within(message["tool_calls"]), {message["tool_call_id"]}};
  }
  std::string result_of(std::string_view, const Conversation&, const Part& call,
                        std::string_view text) const override {
    if (call.call_id.empty()) {
      return json_object({{"role", R"("function")"},
                          {"name", json_string(call.tool)},
                          {"content", json_string(text)}});
    }
    return json_object({{"role", R"("tool")"},
                        {"tool_call_id", json_string(call.call_id)},
                        {"content", json_string(text)}});
  }

  void own_rules(const JsonTree&, const Conversation& conversation,
                 std::vector<std::string>& breaches) const override {
    for (const Message& message : conversation.messages) {
      if (message.role == Role::other) breaches.push_back("an unknown role");
    }
  }
};

}  // namespace

void read_reasoning_fields(PartReader& reader, Message& message, const JsonValue& holder) {
  for (std::string_view name : {"reasoning_content", "reasoning", "thinking_blocks"}) {
    const JsonValue field = holder[name];
    if (field && !field.is(JsonKind::null)) reader.reasoning(message, field, field);
  }
}

void read_chat_calls(PartReader& reader, Message& message, const JsonValue& holder) {
  for (const JsonValue& call : holder["tool_calls"]) {
    const bool custom = call["custom"].is_object();
    const JsonValue function = call[custom ? "custom" : "function"];
    reader.call(message, call,
                {.id = call["id"].text(),
                 .name = function["name"].text(),
                 .arguments = function[custom ? "input" : "arguments"],
                 .free_form = custom});
  }
  if (const JsonValue call = holder["function_call"]; call.is_object()) {
    reader.call(message, call, {.name = call["name"].text(), .arguments = call["arguments"]});
  }
}

std::vector<JsonValue> ids_within(const JsonValue& list, std::string_view name) {
  std::vector<JsonValue> ids;
  for (const JsonValue& each : list) ids.push_back(each[name]);
  return ids;
}

const Format& openai_format() {
  static const OpenAi format;
  return format;
}

}  // namespace ebla::context
