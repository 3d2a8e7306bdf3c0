#include <algorithm>
#include <cmath>

#include "context/plan/plan.h"
#include "context/plan/tail.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

// What replacements usually cost, in tokens. Only plans reckon with it; what they really cost is
// counted before the next plan.
constexpr uint64_t kMarkTokens = 40;
constexpr uint64_t kStubTokens = 80;

// Takes items until what they free is enough.
class Relief {
 public:
  Relief(const WorkingList& list, const Room& room)
      : missing_(static_cast<double>(list.counted()) - static_cast<double>(room.goal)),
        ratio_(list.ratio) {}

  bool enough() const { return missing_ <= 0; }
  void add(ItemPlan plan, uint64_t tokens, uint64_t cost) {
    missing_ -= ratio_ * static_cast<double>(tokens - std::min(tokens, cost));
    plans.push_back(std::move(plan));
  }

  std::vector<ItemPlan> plans;

 private:
  double missing_;
  double ratio_;
};

}  // namespace

uint64_t missing_relief(const WorkingList& list, const Room& room) {
  const uint64_t goal = room.trigger - std::min(room.trigger, room.relief);
  const uint64_t total = list.counted();
  return total - std::min(total, goal);
}

bool late_pass_due(const WorkingList& list, const Room& room, uint64_t last_pass_total) {
  const uint64_t total = list.counted();
  if (total < room.trigger) return false;
  if (!fits(list, room) || last_pass_total == 0) return true;
  return total >= last_pass_total + room.relief;
}

std::vector<ItemPlan> plan_old_arguments(const WorkingList& list, const Settings& settings,
                                         const Room& room) {
  Relief relief(list, room);
  const size_t end = old_end(list, room, limits::kKeepOldMessages);
  for (size_t i = 0; i < end && !relief.enough(); ++i) {
    const WorkingMessage& message = list.messages[i];
    for (size_t p = 0; p < message.parts.size(); ++p) {
      const Part& part = message.message->parts[p];
      if (part.kind != PartKind::tool_call || part.provider_side ||
          !settings.argument_tools.contains(part.tool)) {
        continue;
      }
      for (const WorkingArgument& each : message.parts[p].arguments) {
        if (each.replaced || each.kept || each.facts.characters <= settings.argument_chars ||
            relief.enough()) {
          continue;
        }
        relief.add({i, p, ArtifactKind::argument, each.name, "old_argument", true, false},
                   each.facts.tokens, kMarkTokens);
      }
    }
  }
  return std::move(relief.plans);
}

std::vector<ItemPlan> plan_old_results(const WorkingList& list, const Settings& settings,
                                       const Room& room) {
  Relief relief(list, room);
  const size_t end = settings.old_results ? old_end(list, room, limits::kKeepOldMessages) : 0;
  for (size_t i = 0; i < end && !relief.enough(); ++i) {
    const WorkingMessage& message = list.messages[i];
    for (size_t p = 0; p < message.parts.size() && !relief.enough(); ++p) {
      const Part& part = message.message->parts[p];
      const WorkingPart& working = message.parts[p];
      if (!is_answer(part) || working.replaced || working.kept || working.never ||
          working.original_tokens <= limits::kOldResultTokens) {
        continue;
      }
      relief.add({i, p, ArtifactKind::old_result, "", "old_result", true, false}, working.tokens,
                 kStubTokens);
    }
  }
  return std::move(relief.plans);
}

}  // namespace ebla::context
