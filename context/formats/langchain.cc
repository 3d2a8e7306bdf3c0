// LangChain messages as JSON, in the three ways that they are written: plain fields, a "data"
// object, a serialised class with "kwargs".
#include "context/formats/chat_fields.h"
#include "context/formats/table.h"

namespace ebla::context {
namespace {

enum Shape : uint8_t { kPlain, kData, kClass };

Shape shape_of(const JsonValue& item) {
  if (item["lc"]) return kClass;
  return item["data"].is_object() ? kData : kPlain;
}

// The object that holds a message's fields.
JsonValue fields_within(const JsonValue& item) {
  switch (shape_of(item)) {
    case kClass:
      return item["kwargs"];
    case kData:
      return item["data"];
    default:
      return item;
  }
}

struct Kind {
  std::string_view type;
  std::string_view class_name;
  Role role;
};
constexpr Kind kKinds[] = {
    {"human", "HumanMessage", Role::user},
    {"ai", "AIMessage", Role::assistant},
    {"tool", "ToolMessage", Role::tool},
    {"system", "SystemMessage", Role::system},
    {"function", "FunctionMessage", Role::tool},
    {"AIMessageChunk", "AIMessageChunk", Role::assistant},
    {"HumanMessageChunk", "HumanMessageChunk", Role::user},
    {"ToolMessageChunk", "ToolMessageChunk", Role::tool},
};

const Kind* kind_of(const JsonValue& item) {
  std::string scratch;
  std::string_view name;
  if (shape_of(item) == kClass) {
    JsonValue last;
    for (const JsonValue& step : item["id"]) last = step;
    name = last.text(scratch);
  } else {
    name = item["type"].text(scratch);
  }
  for (const Kind& kind : kKinds) {
    if (name == kind.type || name == kind.class_name) return &kind;
  }
  return nullptr;
}

// Blocks of calls repeat what tool_calls say.
bool read_block(PartReader& reader, Message& message, const JsonValue& block,
                std::string_view type) {
  if (type == "tool_use" || type == "tool_call" || type == "function_call" ||
      type == "input_json_delta" || type == "tool_call_chunk" || type == "invalid_tool_call") {
    return true;
  }
  if (type == "thinking" || type == "redacted_thinking" || type == "reasoning") {
    const JsonValue thinking = block["thinking"];
    reader.reasoning(message, block, thinking ? thinking : block["reasoning"]);
    return true;
  }
  return false;
}

void read_calls(PartReader& reader, Message& message, const JsonValue& fields) {
  const JsonValue calls = fields["tool_calls"];
  if (calls.first()) {
    for (const JsonValue& call : calls) {
      reader.call(
          message, call,
          {.id = call["id"].text(), .name = call["name"].text(), .arguments = call["args"]});
    }
    return;
  }
  const size_t before = message.parts.size();
  read_chat_calls(reader, message, fields["additional_kwargs"]);
  if (message.parts.size() > before || !fields["content"].is_list()) return;
  for (const JsonValue& block : fields["content"]) {
    if (!block["type"].equals("tool_use")) continue;
    reader.call(
        message, block,
        {.id = block["id"].text(), .name = block["name"].text(), .arguments = block["input"]});
  }
}

// Calls whose arguments could not be read. Some providers are told of them and some are not: they
// may have a result, and need none.
void read_broken_calls(PartReader& reader, Message& message, const JsonValue& fields) {
  for (const JsonValue& call : fields["invalid_tool_calls"]) {
    if (!call["id"].is_string()) continue;
    reader.call(message, call,
                {.id = call["id"].text(),
                 .name = call["name"].text(),
                 .arguments = call["args"],
                 .free_form = true,
                 .provider_side = true});
  }
}

std::string read_message(PartReader& reader, const JsonValue& item, Message& message) {
  const JsonValue fields = fields_within(item);
  if (!fields.is_object()) return "kwargs is missing";
  const Kind* kind = kind_of(item);
  std::string scratch;
  if (kind != nullptr) {
    message.role = kind->role;
  } else if (const JsonValue role = fields["role"]; role.is_string()) {
    message.role = role_of_name(role.text(scratch));
  } else {
    return "type is missing or unknown";
  }
  if (shape_of(item) != kPlain || !fields["id"].is_list()) message.id = fields["id"].text();
  if (message.role == Role::tool) {
    reader.result(message, item,
                  {.id = fields["tool_call_id"].text(),
                   .name = fields["name"].text(),
                   .content = fields["content"],
                   .error = fields["status"].equals("error")});
    return {};
  }
  read_reasoning_fields(reader, message, fields["additional_kwargs"]);
  reader.content(message, fields["content"], read_block);
  read_calls(reader, message, fields);
  read_broken_calls(reader, message, fields);
  return {};
}

class LangChain final : public FormatBase {
 public:
  FormatId id() const override { return FormatId::langchain; }

  int fitness(const Traits& traits) const override {
    if (!traits.messages) return 0;
    if (!traits.has(kChainType)) return traits.elements == 0 ? 1 : 0;
    return 90;
  }

  Result<Conversation> read(const JsonTree& body) const override {
    auto found = find_list(body, "messages");
    if (!found) return std::unexpected(found.error());
    auto conversation = read_list(*found, "messages", read_message);
    if (!conversation) return conversation;
    conversation->format = id();
    conversation->shape = found->list.first() ? shape_of(found->list.first()) : kPlain;
    conversation->max_output = found->request["max_tokens"].number();
    conversation->overhead_tokens = overhead_of(found->request, {"system", "tools"});
    return conversation;
  }

  std::string user_of(const Conversation& conversation, std::string_view content) const override {
    return wrapped(conversation, kKinds[0], content, {});
  }
  bool needs_alternation() const override { return false; }
  ResultPlace result_place() const override { return ResultPlace::messages; }
  // Every message has a content; strings may stand among its blocks.
  bool takes(ContentShape shape, std::string_view, const Part*) const override {
    return shape == ContentShape::text || shape == ContentShape::blocks ||
           shape == ContentShape::strings;
  }
  JsonValue content_of(const JsonValue& message) const override {
    return fields_within(message)["content"];
  }
  JsonValue fields_of(const JsonValue& message) const override { return fields_within(message); }

  std::vector<std::vector<JsonValue>> call_ids(const JsonValue& message) const override {
    const JsonValue fields = fields_within(message);
    return {ids_within(fields["tool_calls"]),
            ids_within(fields["additional_kwargs"]["tool_calls"]),
            ids_within(fields["content"]),
            ids_within(fields["content"], "call_id"),
            {fields["tool_call_id"]}};
  }
  std::string result_of(std::string_view, const Conversation& conversation, const Part& call,
                        std::string_view text) const override {
    return wrapped(conversation, kKinds[2], json_string(text), json_string(call.call_id));
  }

 private:
  static std::string wrapped(const Conversation& conversation, const Kind& kind,
                             std::string_view content, std::string_view call_id) {
    const std::string type = json_string(kind.type);
    const std::string rest =
        call_id.empty() ? std::string() : R"(,"tool_call_id":)" + std::string(call_id);
    const std::string fields = R"("content":)" + std::string(content) + rest;
    const std::string typed = R"({"type":)" + type;
    switch (conversation.shape) {
      case kData:
        return typed + R"(,"data":{)" + fields + R"(,"type":)" + type + "}}";
      case kClass:
        return R"({"lc":1,"type":"constructor","id":["langchain","schema","messages",)" +
               json_string(kind.class_name) + R"(],"kwargs":{)" + fields + "}}";
      default:
        return typed + "," + fields + "}";
    }
  }
};

}  // namespace

const Format& langchain_format() {
  static const LangChain format;
  return format;
}

}  // namespace ebla::context
