#include <algorithm>

#include "context/item/item_limit.h"
#include "context/plan/plan.h"

namespace ebla::context {
namespace {

uint64_t rule_sum_of(const Part& part, const Settings& settings) {
  const PartFacts& facts = item_facts(part);
  return rule_sum(facts.characters, facts.class_sum, settings.size_rule);
}

// Why a fresh result has to go; nullptr: it stays.
const char* reason_of(const Part& part, const WorkingPart& working, const Settings& settings,
                      const Room& room) {
  if (working.never) return nullptr;
  const ItemLimit limit = item_limit(settings, ArtifactKind::tool_result, part.tool, room.usable);
  if (over_limit(rule_sum_of(part, settings), limit.tokens)) {
    return limit.by_share ? "window_share" : "item_limit";
  }
  const PartFacts& facts = item_facts(part);
  if (over_host_limit(facts.characters, facts.bytes, facts.lines, settings.host_limit)) {
    return "host_limit";
  }
  return working.always ? "always" : nullptr;
}

void plan_results(const WorkingList& list, size_t index, const Settings& settings, const Room& room,
                  std::vector<ItemPlan>& plans) {
  const WorkingMessage& message = list.messages[index];
  for (size_t p = 0; p < message.parts.size(); ++p) {
    const Part& part = message.message->parts[p];
    const WorkingPart& working = message.parts[p];
    if (!is_answer(part) || working.replaced || working.kept || !is_fresh(message, p)) continue;
    const char* reason = reason_of(part, working, settings, room);
    if (reason != nullptr && !list.is_reader(message, p)) {
      plans.push_back({index, p, ArtifactKind::tool_result, "", reason, false, false});
    }
  }
}

// Texts that stand whole go, largest first, until those that are left are within the limit.
void plan_texts(const WorkingList& list, size_t index, const Settings& settings, const Room& room,
                std::vector<ItemPlan>& plans) {
  const WorkingMessage& message = list.messages[index];
  if (message.message->role != Role::user || !message.fresh) return;
  const ItemLimit limit = item_limit(settings, ArtifactKind::human, "", room.usable);
  std::vector<size_t> whole;
  uint64_t sum = 0;
  for (size_t p = 0; p < message.parts.size(); ++p) {
    const Part& part = message.message->parts[p];
    if (part.kind != PartKind::text || part.carried || message.parts[p].replaced) continue;
    sum += rule_sum_of(part, settings);
    if (!message.parts[p].kept) whole.push_back(p);
  }
  std::ranges::stable_sort(whole, std::ranges::greater(), [&](size_t p) {
    return rule_sum_of(message.message->parts[p], settings);
  });
  const size_t first = plans.size();
  for (const size_t p : whole) {
    if (!over_limit(sum, limit.tokens)) break;
    const uint64_t own = rule_sum_of(message.message->parts[p], settings);
    plans.push_back({index, p, ArtifactKind::human, "",
                     limit.by_share ? "window_share" : "item_limit", !over_limit(own, limit.tokens),
                     false});
    sum -= own;
  }
  std::sort(plans.begin() + static_cast<std::ptrdiff_t>(first), plans.end(),
            [](const ItemPlan& a, const ItemPlan& b) { return a.part < b.part; });
}

}  // namespace

std::vector<ItemPlan> plan_fresh(const WorkingList& list, const Settings& settings,
                                 const Room& room) {
  std::vector<ItemPlan> plans;
  for (size_t i = 0; i < list.messages.size(); ++i) {
    plan_results(list, i, settings, room, plans);
    plan_texts(list, i, settings, room, plans);
  }
  return plans;
}

}  // namespace ebla::context
