#include "tests/context/plan/pass_driver.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ebla::context {
namespace {

// A step asks again at most so often: each time at least one item is done with.
constexpr int kRounds = 1'000;

// Replacements of usual size; by size rule and by count the same.
std::string replacement(const ItemPlan& plan, Hash128 hash) {
  const size_t tokens = plan.kind == ArtifactKind::argument     ? 35
                        : plan.kind == ArtifactKind::old_result ? 80
                        : plan.kind == ArtifactKind::media      ? 40
                                                                : 400;
  std::string text = hash.hex() + std::string(plan.reason);
  while (text.size() < tokens * 4) text += " word";
  return text;
}

const WorkingArgument* argument_of(const WorkingPart& part, const std::string& name) {
  const auto at = std::ranges::find(part.arguments, name, &WorkingArgument::name);
  return at == part.arguments.end() ? nullptr : &*at;
}

}  // namespace

bool PassRun::did(std::string_view step) const {
  return std::ranges::find(steps, step) != steps.end();
}

void PassDriver::carry_out(WorkingList& list, const std::vector<ItemPlan>& plans) {
  for (const ItemPlan& plan : plans) {
    WorkingMessage& message = (plan.pin ? list.pins : list.messages)[plan.message];
    const Part& part = message.message->parts[plan.part];
    const WorkingArgument* argument = argument_of(message.parts[plan.part], plan.argument);
    ASSERT_EQ(argument != nullptr, plan.kind == ArtifactKind::argument);
    const PartFacts facts = argument != nullptr ? argument->facts : part.facts;
    const std::string text = replacement(plan, facts.hash);
    const uint64_t tokens = estimate_tokens(text);
    const bool media = plan.kind == ArtifactKind::media;
    if (!media && !halves(facts.tokens, tokens)) {
      keep_part(message, plan.part, plan.argument);
      continue;
    }
    std::string id = plan.kind == ArtifactKind::human ? "" : part.call_id;
    if (media) {
      id = message.parts[plan.part].medium;
      if (is_fresh(message, plan.part)) id = fresh_medium_id(id);
    }
    store_.decision(plan.kind, id, facts, text);
    if (argument != nullptr) {
      replace_argument(message, plan.part, plan.argument, text, "/stored", tokens);
    } else {
      replace_part(message, plan.part, text, "/stored", tokens);
    }
  }
}

template <class Plan>
void PassDriver::step(PassRun& run, const char* name, Plan plan) {
  for (int round = 0;; ++round) {
    ASSERT_LT(round, kRounds) << name << " does not end";
    const std::vector<ItemPlan> plans = plan();
    if (plans.empty()) return;
    const uint64_t before = run.list.counted();
    carry_out(run.list, plans);
    EXPECT_LE(run.list.counted(), before) << name << " made the list larger";
    if (run.list.counted() < before && !run.did(name)) run.steps.emplace_back(name);
  }
}

void PassDriver::summarise(PassRun& run, const Room& room, bool smallest) {
  const auto cut = plan_cut(run.list, store_.settings, room, smallest);
  if (!cut) return;
  uint64_t removed = run.list.summary_tokens;
  for (size_t i = 0; i < *cut; ++i) {
    if (!run.list.messages[i].pinned) removed += run.list.messages[i].tokens;
  }
  const PassKey key = pass_key(run.list, *cut);
  std::string summary = "summary of " + key.prefix.hex();
  while (summary.size() < 400) summary += " word";
  if (!halves(removed, estimate_tokens(summary))) return;
  store_.pass(key, summary);
  const uint64_t before = run.list.counted();
  cover(run.list, *cut, summary, estimate_tokens(summary));
  EXPECT_LT(run.list.counted(), before);
  run.steps.emplace_back(smallest ? "smallest" : "summary");
}

void PassDriver::clip(PassRun& run, const Room& room, uint64_t refused) {
  const uint64_t target = clip_target(room, 0, refused);
  const auto over = [&] { return target > 0 && run.list.counted() > target; };
  step(run, "clip", [&] { return plan_clip(run.list, target); });
  if (over()) summarise(run, room, true);
  if (over()) step(run, "first_task", [&] { return plan_first_task(run.list); });
}

PassRun PassDriver::prepare(const Conversation& conversation, uint64_t refused) {
  const Settings& settings = store_.settings;
  const Room room = room_of(settings, window_, 0);
  PassRun run;
  run.conversation = std::make_shared<const Conversation>(conversation);
  run.list = store_.list(*run.conversation);
  run.before = run.list.counted();
  step(run, "fresh", [&] { return plan_fresh(run.list, settings, room); });
  step(run, "images", [&] { return plan_images(run.list, 20'000'000); });
  const auto budget = [&](TurnBudget which) {
    const uint64_t before = run.list.counted();
    step(run, "turn_budget", [&] { return plan_turn_budget(run.list, room, which); });
    return run.list.counted() < before;
  };
  budget(TurnBudget::whole_turn);
  run.late = late_pass_due(run.list, room, store_.last_pass_total);
  if (run.late && missing_relief(run.list, room) > 0) {
    step(run, "old_arguments", [&] { return plan_old_arguments(run.list, settings, room); });
    step(run, "old_results", [&] { return plan_old_results(run.list, settings, room); });
  }
  const bool closed = budget(TurnBudget::below_trigger) && run.list.counted() < room.trigger;
  if (run.late && !closed) {
    if (missing_relief(run.list, room) > 0) summarise(run, room, false);
    budget(TurnBudget::below_trigger);
    store_.last_pass_total = run.list.counted();
  }
  if (!fits(run.list, room) || refused > 0) clip(run, room, refused);
  run.after = run.list.counted();
  run.fits = fits(run.list, room);
  return run;
}

}  // namespace ebla::context
