// OpenAI Responses: a list of items, or one string. Calls, results and reasoning are items of their
// own; the provider may hold what came before.
#include "context/formats/table.h"

namespace ebla::context {
namespace {

// An item of a call that the client answers, and its members.
struct CallItem {
  std::string_view type = {};
  std::string_view arguments = {};
  std::string_view name = {};  // of the tool, where the type tells it
  bool free_form = false;
  // A result in words, around the JSON string; "": it cannot be said in words.
  std::string_view output = R"("output":)";
  std::string_view output_end = {};
};
constexpr CallItem kCalls[] = {
    {.type = "function_call", .arguments = "arguments"},
    {.type = "custom_tool_call", .arguments = "input", .free_form = true},
    {.type = "local_shell_call", .arguments = "action", .name = "local_shell"},
    {.type = "shell_call",
     .arguments = "action",
     .name = "shell",
     .output = R"("output":[{"stdout":"","outcome":{"type":"exit","exit_code":1},"stderr":)",
     .output_end = "}]"},
    {.type = "apply_patch_call",
     .arguments = "operation",
     .name = "apply_patch",
     .output = R"("status":"failed","output":)"},
    {.type = "computer_call", .arguments = "action", .name = "computer", .output = ""},
};
// Items by which the provider tells of tools that it ran itself, result included.
constexpr std::string_view kProviderCalls[] = {
    "web_search_call", "file_search_call", "code_interpreter_call",
    "mcp_call",        "mcp_list_tools",   "tool_search_call",
};
constexpr std::string_view kOutput = "_output";

const CallItem* call_item(std::string_view type) {
  for (const CallItem& item : kCalls) {
    if (item.type == type) return &item;
  }
  return nullptr;
}

bool is_provider_call(std::string_view type) {
  for (std::string_view known : kProviderCalls) {
    if (known == type) return true;
  }
  return false;
}

JsonValue id_token(const JsonValue& item) {
  const JsonValue id = item["call_id"];
  return id.is_string() ? id : item["id"];
}
std::string call_id_of(const JsonValue& item) {
  return id_token(item).text();
}

void read_reasoning(PartReader& reader, Message& message, const JsonValue& item) {
  message.role = Role::assistant;
  const JsonValue content = item["content"];
  const JsonValue token = text_token(content.first());
  reader.reasoning(message, item, token);
}

// A kind of call that is not known here, answered under its id by an item "…_output".
bool is_other_call(const JsonValue& item, std::string_view type) {
  return type.ends_with("_call") && item["call_id"].is_string();
}

// Results of unknown kinds of calls are left as they are.
void read_output(PartReader& reader, const JsonValue& item, std::string_view type,
                 Message& message) {
  const bool known = call_item(type.substr(0, type.size() - kOutput.size())) != nullptr;
  message.role = item["execution"].equals("server") ? Role::assistant : Role::tool;
  reader.result(
      message, item,
      {.id = call_id_of(item), .content = known ? item["output"] : item, .provider_side = !known});
}

std::string read_item(PartReader& reader, const JsonValue& item, Message& message) {
  std::string scratch;
  const std::string_view type = item["type"].text(scratch);
  message.id = item["id"].text();
  if (type.empty() || type == "message") {
    std::string role_scratch;
    const JsonValue role = item["role"];
    if (!role.is_string()) return "neither a role nor a type of item";
    message.role = role_of_name(role.text(role_scratch));
    reader.content(message, item["content"]);
  } else if (type == "reasoning") {
    read_reasoning(reader, message, item);
  } else if (const CallItem* call = call_item(type)) {
    message.role = Role::assistant;
    reader.call(message, item,
                {.id = call_id_of(item),
                 .name = call->name.empty() ? item["name"].text() : std::string(call->name),
                 .arguments = item[call->arguments],
                 .free_form = call->free_form});
  } else if (type == "image_generation_call") {
    message.role = Role::assistant;
    reader.content(message, item);
    message.shape = ContentShape::text;
  } else if (type == "mcp_approval_request" || is_other_call(item, type)) {
    message.role = Role::assistant;
    reader.call(message, item,
                {.id = call_id_of(item),
                 .name = std::string(type),
                 .arguments = item,
                 .provider_side = true});
  } else if (type == "mcp_approval_response") {
    message.role = Role::tool;
    reader.result(
        message, item,
        {.id = item["approval_request_id"].text(), .content = item, .provider_side = true});
  } else if (type.ends_with(kOutput)) {
    read_output(reader, item, type, message);
  } else {
    message.role = is_provider_call(type) ? Role::assistant : Role::other;
    reader.unknown(message, item);
  }
  return {};
}

// The input as one string is one message of the user.
Conversation one_string(const JsonValue& input) {
  Conversation conversation;
  conversation.list = input.span();
  conversation.whole_request = true;
  PartReader reader;
  Message& message = conversation.messages.emplace_back();
  message.role = Role::user;
  message.span = input.span();
  reader.content(message, input);
  reader.finish(message);
  return conversation;
}

class Responses final : public FormatBase {
 public:
  FormatId id() const override { return FormatId::responses; }

  int fitness(const Traits& traits) const override {
    if (!traits.input || traits.has(kChainType | kToolCalls | kToolRole)) return 0;
    int fit = 5;
    if (traits.whole) fit += 80;
    if (traits.has(kItemType | kItemBlock)) fit += 60;
    return fit;
  }

  Result<Conversation> read(const JsonTree& body) const override {
    auto found = find_list(body, "input");
    if (!found) return std::unexpected(found.error());
    Result<Conversation> conversation = found->list.is_string()
                                            ? Result<Conversation>(one_string(found->list))
                                            : read_list(*found, "input", read_item);
    if (!conversation) return conversation;
    const JsonValue& request = found->request;
    conversation->format = id();
    conversation->model = request["model"].text();
    conversation->max_output = request["max_output_tokens"].number();
    conversation->overhead_tokens = overhead_of(request, {"instructions", "tools", "text"});
    const auto given = [&request](std::string_view name) {
      const JsonValue member = request[name];
      return member && !member.is(JsonKind::null);
    };
    conversation->partial = given("previous_response_id") || given("conversation");
    // A reference stands for an item that only the provider knows.
    for (const JsonValue& item : found->list) {
      if (item["type"].equals("item_reference")) conversation->partial = true;
    }
    return conversation;
  }

  std::string user_of(const Conversation&, std::string_view content) const override {
    return json_object({{"type", R"("message")"}, {"role", R"("user")"}, {"content", content}});
  }
  std::string plain_content(std::string_view text) const override {
    return "[" + text_block(false, json_string(text)) + "]";
  }
  std::string user_media(std::string_view block) const override;
  bool takes(ContentShape shape, std::string_view body, const Part* result) const override;
  std::string_view result_member() const override { return "output"; }
  bool needs_alternation() const override { return false; }
  ResultPlace result_place() const override { return ResultPlace::anywhere; }

  std::string text_block(bool of_model, std::string_view token) const override {
    return json_object(
        {{"type", of_model ? R"("output_text")" : R"("input_text")"}, {"text", token}});
  }
  JsonValue content_of(const JsonValue& message) const override {
    const JsonValue content = message["content"];
    return content ? content : message["output"];
  }

  std::vector<std::vector<JsonValue>> call_ids(const JsonValue& message) const override {
    return {{id_token(message)}};
  }
  std::string result_of(std::string_view body, const Conversation&, const Part& call,
                        std::string_view text) const override {
    const Result<JsonTree> item = JsonTree::read(call.span.of(body));
    const std::string type = item ? item->root()["type"].text() : std::string();
    const CallItem* known = call_item(type);
    if (known == nullptr || known->output.empty()) return {};
    return R"({"type":)" + json_string(type + std::string(kOutput)) + R"(,"call_id":)" +
           json_string(call.call_id) + "," + std::string(known->output) + json_string(text) +
           std::string(known->output_end) + "}";
  }

  void own_rules(const JsonTree&, const Conversation& conversation,
                 std::vector<std::string>& breaches) const override;
};

bool Responses::takes(ContentShape shape, std::string_view body, const Part* result) const {
  if (result == nullptr || shape == ContentShape::text || shape == ContentShape::blocks) {
    return FormatBase::takes(shape, body, result);
  }
  const Result<JsonTree> item = JsonTree::read(result->span.of(body));
  const std::string type = item ? item->root()["type"].text() : std::string();
  if (type == "computer_call_output") return shape == ContentShape::object;
  // A patch that went well needs no words.
  const bool nothing = shape == ContentShape::null || shape == ContentShape::absent;
  return nothing && type == "apply_patch_call_output";
}

// What a computer shows has a type of its own in a result.
std::string Responses::user_media(std::string_view block) const {
  const Result<JsonTree> tree = JsonTree::read(block);
  if (!tree || !tree->root()["type"].equals("computer_screenshot")) return std::string(block);
  std::string out = R"({"type":"input_image")";
  for (const JsonValue& member : tree->root()) {
    if (member.key_is("type")) continue;
    out.append(",").append(member.key_span().of(block)).append(":").append(member.raw());
  }
  return out + "}";
}

// A reasoning item is refused without an item of the model behind it.
void Responses::own_rules(const JsonTree&, const Conversation& conversation,
                          std::vector<std::string>& breaches) const {
  const std::vector<Message>& messages = conversation.messages;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::vector<Part>& parts = messages[i].parts;
    if (parts.empty() || parts.front().kind != PartKind::reasoning) continue;
    if (i + 1 < messages.size() && !is_model(messages[i + 1])) {
      breaches.push_back("a reasoning item without the item that it led to");
    }
  }
}

}  // namespace

const Format& responses_format() {
  static const Responses format;
  return format;
}

}  // namespace ebla::context
