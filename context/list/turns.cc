#include "context/list/turns.h"

#include <algorithm>
#include <utility>

namespace ebla::context {
namespace {

std::pair<size_t, size_t> key_of(PartAt at) {
  return {at.message, at.part};
}

std::vector<PartAt> calls_of(const Conversation& conversation) {
  std::vector<PartAt> calls;
  for (size_t m = 0; m < conversation.messages.size(); ++m) {
    const std::vector<Part>& parts = conversation.messages[m].parts;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].kind == PartKind::tool_call) calls.push_back({m, p});
    }
  }
  return calls;
}

}  // namespace

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
    const bool result = std::ranges::any_of(messages[i].parts, [](const Part& part) {
      return part.kind == PartKind::tool_result || part.carried;
    });
    if (result) needed = i;
  }
  const size_t live = live_turn(conversation);
  for (const PartAt& call : conversation.pairing.unanswered) {
    if (call.message >= live) return std::min(needed, call.message);
  }
  return needed;
}

std::vector<PartAt> late_results(const Conversation& sent, const Conversation& repaired) {
  // A repair neither moves nor drops a call: the n-th one is the n-th one again.
  const std::vector<PartAt> calls = calls_of(sent);
  const std::vector<PartAt> calls_now = calls_of(repaired);
  if (calls.size() != calls_now.size()) return {};
  const auto number = [](const std::vector<PartAt>& all, PartAt call) {
    const auto at = std::ranges::lower_bound(all, key_of(call), {}, key_of);
    return static_cast<size_t>(at - all.begin());
  };
  std::vector<bool> unread(calls.size());
  const size_t fresh = first_fresh(sent);
  for (const Pair& pair : sent.pairing.pairs) {
    if (pair.result.message >= fresh) unread[number(calls, pair.call)] = true;
  }
  std::vector<PartAt> late;
  const size_t fresh_now = first_fresh(repaired);
  for (const Pair& pair : repaired.pairing.pairs) {
    const bool moved = pair.result.message < fresh_now && unread[number(calls_now, pair.call)];
    if (moved) late.push_back(pair.result);
  }
  return late;
}

std::vector<Pair> belated_results(const Conversation& conversation) {
  const std::vector<Message>& messages = conversation.messages;
  if (!conversation.pairing.outdated.empty()) return {};
  std::vector<size_t> turn_end(messages.size() + 1, messages.size());  // of the model's turn
  std::vector<size_t> model(messages.size() + 1, messages.size());  // first of the model from it on
  for (size_t m = messages.size(); m-- > 0;) {
    turn_end[m] = is_model(messages[m]) ? turn_end[m + 1] : m;
    model[m] = is_model(messages[m]) ? m : model[m + 1];
  }
  std::vector<Pair> belated;
  for (const Pair& pair : conversation.pairing.pairs) {
    const Part& result = messages[pair.result.message].parts[pair.result.part];
    const size_t went_on = model[turn_end[pair.call.message]];
    if (!result.provider_side && went_on < pair.result.message) belated.push_back(pair);
  }
  return belated;
}

const PartAt* call_of(const Pairing& pairing, PartAt result) {
  const auto at = std::ranges::lower_bound(pairing.pairs, key_of(result), {},
                                           [](const Pair& pair) { return key_of(pair.result); });
  return at == pairing.pairs.end() || at->result != result ? nullptr : &at->call;
}

}  // namespace ebla::context
