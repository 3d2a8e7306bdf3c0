#include <algorithm>

#include "context/list/turns.h"
#include "context/plan/plan.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

// What a notice costs at least, with a short path and next to no preview; and what a reader's
// result is shortened to, of long words. A plan that reckoned with more would take more items than
// it needs: what is missing is counted and planned next.
constexpr uint64_t kNoticeTokens = 60;
constexpr uint64_t kReaderTokens = limits::kReaderClipChars / 8;

struct Candidate {
  ItemPlan plan;
  int turn = 0;  // results of all tools, then of readers, then those that should stay
  uint64_t tokens = 0;
};

std::vector<Candidate> candidates_of(const WorkingList& list) {
  std::vector<Candidate> found;
  const bool partial = list.conversation != nullptr && list.conversation->partial;
  for (size_t i = 0; i < list.messages.size(); ++i) {
    const WorkingMessage& message = list.messages[i];
    if (partial && !message.fresh) continue;
    for (size_t p = 0; p < message.parts.size(); ++p) {
      const Part& part = message.message->parts[p];
      const WorkingPart& working = message.parts[p];
      if (!is_answer(part) || working.replaced || working.kept) continue;
      int turn = list.is_reader(message, p) ? 1 : 0;
      if (working.never) turn = 2;
      found.push_back(
          {{i, p, ArtifactKind::tool_result, "", "overflow", true, false}, turn, working.tokens});
    }
  }
  return found;
}

// The user spoke after its first task in what the list no longer shows.
bool asked_since(const WorkingList& list, const WorkingMessage& task) {
  if (list.conversation == nullptr) return false;
  const std::vector<Message>& messages = list.conversation->messages;
  for (size_t i = task.index + 1; i < list.covered; ++i) {
    if (is_request(messages[i]) && list.carrier != i &&
        !std::ranges::binary_search(list.pins, i, {}, &WorkingMessage::index)) {
      return true;
    }
  }
  return false;
}

void plan_task(const WorkingMessage& message, size_t index, bool pin,
               std::vector<ItemPlan>& plans) {
  for (size_t p = 0; p < message.parts.size(); ++p) {
    if (message.message->parts[p].kind != PartKind::text || message.parts[p].replaced ||
        message.parts[p].kept) {
      continue;
    }
    plans.push_back({index, p, ArtifactKind::human, "", "first_task", true, pin});
  }
}

}  // namespace

std::vector<ItemPlan> plan_clip(const WorkingList& list, uint64_t target) {
  std::vector<Candidate> candidates = candidates_of(list);
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.turn != b.turn ? a.turn < b.turn : a.tokens > b.tokens;
  });
  auto total = static_cast<double>(list.counted());
  // What notices would leave of it: if that is too much, lines that only name the files are made.
  double noticed = total;
  for (const Candidate& each : candidates) {
    noticed -= static_cast<double>(each.tokens - std::min(each.tokens / 2, kUsualNoticeTokens)) *
               list.ratio;
  }
  const bool lines = noticed > static_cast<double>(target);
  std::vector<ItemPlan> plans;
  for (Candidate& each : candidates) {
    if (total <= static_cast<double>(target)) break;
    const uint64_t cost = std::min(each.tokens / 2, each.turn == 1 ? kReaderTokens : kNoticeTokens);
    total -= static_cast<double>(each.tokens - cost) * list.ratio;
    if (lines && each.turn == 0) each.plan.kind = ArtifactKind::old_result;
    plans.push_back(std::move(each.plan));
  }
  return plans;
}

std::vector<ItemPlan> plan_first_task(const WorkingList& list) {
  std::vector<ItemPlan> plans;
  bool later = false;  // another request comes after the task: that one never yields
  for (size_t i = list.messages.size(); i > 0; --i) {
    const WorkingMessage& message = list.messages[i - 1];
    if (message.first_task && later) plan_task(message, i - 1, false, plans);
    later = later || is_request(*message.message);
  }
  for (size_t i = 0; i < list.pins.size(); ++i) {
    if (list.pins[i].first_task && (later || asked_since(list, list.pins[i]))) {
      plan_task(list.pins[i], i, true, plans);
    }
  }
  return plans;
}

}  // namespace ebla::context
