#include "tests/context/list/list_builder.h"

#include "context/formats/pairs.h"
#include "context/list/identity.h"

namespace ebla::context {

PartFacts facts_of(std::string_view text, uint64_t tokens) {
  PartFacts facts;
  facts.hash = xxh3_128(text);
  facts.bytes = facts.characters = facts.class_sum = tokens * 4;
  facts.lines = tokens > 0 ? 1 : 0;
  facts.tokens = tokens;
  return facts;
}

Part ListBuilder::part(PartKind kind, uint64_t tokens, std::string_view text) {
  Part part;
  part.kind = kind;
  part.facts = facts_of(text.empty() ? "text " + std::to_string(next_++) : text, tokens);
  return part;
}

ListBuilder& ListBuilder::add(Role role, PartKind kind, uint64_t tokens, std::string_view text) {
  Message message;
  message.role = role;
  message.parts.push_back(part(kind, tokens, text));
  conversation.messages.push_back(std::move(message));
  return *this;
}

ListBuilder& ListBuilder::rules(uint64_t tokens, std::string_view text) {
  return add(Role::system, PartKind::text, tokens, text);
}
ListBuilder& ListBuilder::developer(uint64_t tokens, std::string_view text) {
  return add(Role::developer, PartKind::text, tokens, text);
}
ListBuilder& ListBuilder::user(uint64_t tokens, std::string_view text) {
  return add(Role::user, PartKind::text, tokens, text);
}
ListBuilder& ListBuilder::model(uint64_t tokens, std::string_view text) {
  return add(Role::assistant, PartKind::text, tokens, text);
}
ListBuilder& ListBuilder::reasoning(uint64_t tokens) {
  return add(Role::assistant, PartKind::reasoning, tokens, "");
}

ListBuilder& ListBuilder::calls(const std::vector<std::string>& ids, std::string_view tool,
                                uint64_t tokens) {
  Message message;
  message.role = Role::assistant;
  for (const std::string& id : ids) {
    message.parts.push_back(part(PartKind::tool_call, tokens, ""));
    message.parts.back().call_id = id;
    message.parts.back().tool = tool;
  }
  conversation.messages.push_back(std::move(message));
  return *this;
}

ListBuilder& ListBuilder::result(std::string_view id, uint64_t tokens, std::string_view tool) {
  add(Role::tool, PartKind::tool_result, tokens, "");
  last_part().call_id = id;
  last_part().tool = tool;
  return *this;
}

ListBuilder& ListBuilder::results(const std::vector<std::pair<std::string, uint64_t>>& results,
                                  std::string_view tool) {
  Message message;
  message.role = Role::tool;
  for (const auto& [id, tokens] : results) {
    message.parts.push_back(part(PartKind::tool_result, tokens, ""));
    message.parts.back().call_id = id;
    message.parts.back().tool = tool;
  }
  conversation.messages.push_back(std::move(message));
  return *this;
}

ListBuilder& ListBuilder::image(uint64_t bytes, PartKind kind) {
  add(Role::user, kind, 1'600, "");
  last_part().data = {1'000, 1'000 + bytes};
  last_part().facts.bytes = bytes / 4 * 3;
  return *this;
}

ListBuilder& ListBuilder::also_text(uint64_t tokens, std::string_view text) {
  conversation.messages.back().parts.push_back(part(PartKind::text, tokens, text));
  if (conversation.messages.back().role == Role::tool) {
    conversation.messages.back().role = Role::user;
  }
  return *this;
}

ListBuilder& ListBuilder::also_image(uint64_t bytes) {
  conversation.messages.back().parts.push_back(part(PartKind::image, 1'600, ""));
  last_part().data = {1'000, 1'000 + bytes};
  last_part().facts.bytes = bytes / 4 * 3;
  return *this;
}

Conversation ListBuilder::done() {
  for (Message& message : conversation.messages) {
    std::vector<Hash128> hashes;
    message.tokens = 0;
    for (const Part& part : message.parts) {
      hashes.push_back(part.facts.hash);
      message.tokens += part.facts.tokens;
    }
    message.identity = identity_of(message, hashes);
  }
  conversation.pairing = pair_calls(conversation);
  return conversation;
}

WorkingList list_of(const Conversation& conversation, const Settings& settings,
                    const std::vector<uint64_t>& pinned) {
  const Chain chain = chain_of(conversation, {}, {}, {}, nullptr);
  ListInput input;
  input.conversation = &conversation;
  input.settings = &settings;
  input.chain = &chain;
  input.pinned = pinned;
  return build_list(input);
}

std::vector<std::string> places(const std::vector<ItemPlan>& plans) {
  std::vector<std::string> out;
  for (const ItemPlan& plan : plans) {
    out.push_back(std::to_string(plan.message) + "." + std::to_string(plan.part));
  }
  return out;
}

}  // namespace ebla::context
