#include "context/list/turns.h"

#include <algorithm>
#include <utility>

namespace ebla::context {

bool is_request(const Message& message) {
  return message.role == Role::user && !has_tools(message) &&
         std::ranges::any_of(message.parts, [](const Part& part) {
           return part.kind == PartKind::text && !part.stand_in;
         });
}

bool is_system(const Message& message) {
  return message.role == Role::system || message.role == Role::developer;
}

bool has_tools(const Message& message) {
  return std::ranges::any_of(message.parts, [](const Part& part) {
    return part.kind == PartKind::tool_call || part.kind == PartKind::tool_result;
  });
}

size_t first_fresh(const Conversation& conversation) {
  size_t fresh = conversation.messages.size();
  while (fresh > 0 && !is_model(conversation.messages[fresh - 1])) --fresh;
  return fresh;
}

size_t live_turn(const Conversation& conversation) {
  const std::vector<Message>& messages = conversation.messages;
  size_t end = messages.size();
  while (end > 0 && messages[end - 1].role == Role::tool) --end;
  size_t begin = end;
  // What the model says in one turn is one message, or several items.
  while (begin > 0 && is_model(messages[begin - 1])) --begin;
  return begin == end ? messages.size() : begin;
}

size_t first_needed(const Conversation& conversation) {
  const std::vector<Message>& messages = conversation.messages;
  size_t needed = messages.empty() ? 0 : messages.size() - 1;
  for (size_t i = first_fresh(conversation); i < needed; ++i) {
    const bool result = std::ranges::any_of(
        messages[i].parts, [](const Part& part) { return part.kind == PartKind::tool_result; });
    if (result) needed = i;
  }
  const size_t live = live_turn(conversation);
  for (const PartAt& call : pair_calls(conversation).unanswered) {
    if (call.message >= live) return std::min(needed, call.message);
  }
  return needed;
}

const PartAt* call_of(const Pairing& pairing, PartAt result) {
  const auto key = [](PartAt at) { return std::pair(at.message, at.part); };
  const auto at = std::ranges::lower_bound(pairing.pairs, key(result), {},
                                           [&](const Pair& pair) { return key(pair.result); });
  return at == pairing.pairs.end() || at->result != result ? nullptr : &at->call;
}

}  // namespace ebla::context
