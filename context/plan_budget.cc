#include <algorithm>
#include <utility>

#include "context/plan.h"
#include "context/turns.h"

namespace ebla::context {
namespace {

// A fresh result that stands whole.
struct Candidate {
  size_t message = 0;
  size_t part = 0;
  uint64_t tokens = 0;
  bool asked = false;  // a call of the list
  PartAt call;
};

// Calls that the model made last, of one message or, where each call is one of its own, of all
// that follow each other.
bool calls_are_answered(const Conversation& conversation, const Pairing& pairing) {
  size_t begin = first_fresh(conversation);
  const size_t end = begin;
  while (begin > 0 && is_model(conversation.messages[begin - 1])) --begin;
  return std::ranges::none_of(pairing.unanswered, [&](const PartAt& call) {
    return call.message >= begin && call.message < end &&
           !conversation.messages[call.message].parts[call.part].provider_side;
  });
}

std::vector<Candidate> candidates_of(const WorkingList& list, const Pairing& pairing) {
  std::vector<Candidate> found;
  for (size_t i = 0; i < list.messages.size(); ++i) {
    const WorkingMessage& message = list.messages[i];
    for (size_t p = 0; message.fresh && p < message.parts.size(); ++p) {
      const Part& part = message.message->parts[p];
      const WorkingPart& working = message.parts[p];
      if (part.kind != PartKind::tool_result || part.provider_side || working.replaced ||
          working.reader || working.never) {
        continue;
      }
      Candidate each{i, p, working.tokens, false, {}};
      if (const PartAt* call = call_of(pairing, {message.index, p})) {
        each.asked = true;
        each.call = *call;
      }
      found.push_back(each);
    }
  }
  return found;
}

bool goes_before(const Candidate& a, const Candidate& b) {
  if (a.tokens != b.tokens) return a.tokens > b.tokens;
  if (a.asked != b.asked) return a.asked;
  if (a.asked && a.call != b.call) {
    return std::pair(a.call.message, a.call.part) < std::pair(b.call.message, b.call.part);
  }
  return std::pair(a.message, a.part) < std::pair(b.message, b.part);
}

}  // namespace

std::vector<ItemPlan> plan_turn_budget(const WorkingList& list, const Room& room) {
  if (list.conversation == nullptr) return {};
  const Pairing pairing = pair_calls(*list.conversation);
  if (!calls_are_answered(*list.conversation, pairing)) return {};
  std::vector<Candidate> candidates = candidates_of(list, pairing);
  double whole = 0;
  for (const Candidate& each : candidates) whole += static_cast<double>(each.tokens) * list.ratio;

  const double rest = static_cast<double>(list.counted()) - whole;
  double budget = static_cast<double>(room.usable > 0 ? room.usable : room.trigger) / 2;
  const double below = static_cast<double>(room.trigger) - rest;
  if (below > 0) budget = std::min(budget, below);

  std::ranges::sort(candidates, goes_before);
  std::vector<ItemPlan> plans;
  for (const Candidate& each : candidates) {
    if (whole <= budget) break;
    if (list.messages[each.message].parts[each.part].kept) continue;
    plans.push_back(
        {each.message, each.part, ArtifactKind::tool_result, "", "turn_budget", true, false});
    whole -= static_cast<double>(each.tokens) * list.ratio;
  }
  return plans;
}

}  // namespace ebla::context
