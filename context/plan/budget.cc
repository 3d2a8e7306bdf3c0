#include <algorithm>
#include <utility>

#include "context/list/turns.h"
#include "context/plan/plan.h"

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

std::vector<Candidate> candidates_of(const WorkingList& list) {
  std::vector<Candidate> found;
  for (size_t i = 0; i < list.messages.size(); ++i) {
    const WorkingMessage& message = list.messages[i];
    for (size_t p = 0; p < message.parts.size(); ++p) {
      const Part& part = message.message->parts[p];
      const WorkingPart& working = message.parts[p];
      if (!is_answer(part) || working.replaced || working.never || !is_fresh(message, p) ||
          list.is_reader(message, p)) {
        continue;
      }
      found.push_back({i, p, working.tokens, false, {}});
    }
  }
  return found;
}

void find_calls(const WorkingList& list, const Pairing& pairing,
                std::vector<Candidate>& candidates) {
  for (Candidate& each : candidates) {
    const PartAt* call = call_of(pairing, {list.messages[each.message].index, each.part});
    if (call == nullptr) continue;
    each.asked = true;
    each.call = *call;
  }
}

// Tokens that the fresh results may have together, of which there are `whole`.
double most_of(const WorkingList& list, const Room& room, TurnBudget budget, double whole) {
  const double half = static_cast<double>(room.usable > 0 ? room.usable : room.trigger) / 2;
  const double rest = static_cast<double>(list.counted()) - whole;
  const double below = static_cast<double>(room.trigger) - rest;
  if (budget == TurnBudget::whole_turn || below <= 0) return half;
  return std::min(half, std::max(below, static_cast<double>(room.relief)));
}

bool goes_before(const Candidate& a, const Candidate& b) {
  if (a.tokens != b.tokens) return a.tokens > b.tokens;
  if (a.asked != b.asked) return a.asked;
  if (a.asked && a.call != b.call) {
    return std::pair(a.call.message, a.call.part) < std::pair(b.call.message, b.call.part);
  }
  return std::pair(a.message, a.part) < std::pair(b.message, b.part);
}

// Many small results: notices would not make the list fit, lines that only name the file do.
void shorten_to_lines(const WorkingList& list, const Room& room, std::vector<ItemPlan>& plans) {
  double total = static_cast<double>(list.counted());
  for (const ItemPlan& plan : plans) {
    const uint64_t tokens = list.messages[plan.message].parts[plan.part].tokens;
    const uint64_t cost = std::min(tokens / 2, kUsualNoticeTokens);
    total -= static_cast<double>(tokens - cost) * list.ratio;
  }
  if (room.usable == 0 || total <= static_cast<double>(room.usable)) return;
  for (ItemPlan& plan : plans) plan.kind = ArtifactKind::old_result;
}

}  // namespace

std::vector<ItemPlan> plan_turn_budget(const WorkingList& list, const Room& room,
                                       TurnBudget budget) {
  if (list.conversation == nullptr) return {};
  std::vector<Candidate> candidates = candidates_of(list);
  double whole = 0;
  for (const Candidate& each : candidates) whole += static_cast<double>(each.tokens) * list.ratio;
  const double most = most_of(list, room, budget, whole);
  if (whole <= most) return {};
  const Pairing& pairing = list.conversation->pairing;
  if (!calls_are_answered(*list.conversation, pairing)) return {};
  find_calls(list, pairing, candidates);

  std::ranges::sort(candidates, goes_before);
  std::vector<ItemPlan> plans;
  for (const Candidate& each : candidates) {
    if (whole <= most) break;
    if (list.messages[each.message].parts[each.part].kept) continue;
    plans.push_back(
        {each.message, each.part, ArtifactKind::tool_result, "", "turn_budget", true, false});
    whole -= static_cast<double>(each.tokens) * list.ratio;
  }
  shorten_to_lines(list, room, plans);
  return plans;
}

}  // namespace ebla::context
