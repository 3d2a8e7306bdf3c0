#include "daemon/prepare/late_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "context/plan/plan.h"
#include "daemon/prepare/facts.h"
#include "daemon/prepare/passes.h"
#include "daemon/prepare/put_away.h"
#include "daemon/prepare/summaries.h"

namespace ebla::daemon {
namespace {

using context::ItemPlan;

// Summaries one after the other in one call: a second one where the first did not bring enough.
constexpr int kPassesInACall = 3;

std::string fact_name(const Work& work) {
  return fmt::format("late/{}", work.session().serial);
}

// From here on a summary is not made beside: it is due now.
bool must_be_now(const Work& work) {
  const PrepareRequest& request = work.request();
  if (request.compact || request.overflow || !context::fits(work.list, work.room)) return true;
  // Where the window is unknown, the trigger stands for the usual share of it.
  const double window = work.room.window > 0
                            ? static_cast<double>(work.room.window)
                            : static_cast<double>(work.room.trigger) / work.settings().trigger;
  return static_cast<double>(work.list.counted()) >= limits::kMustShare * window;
}

bool over(const Work& work) {
  return context::missing_relief(work.list, work.room) > 0;
}

// True when a summary was made; false when there is none now, or nothing to be summarised.
bool summarise(Work& work, bool smallest) {
  auto cut = context::plan_cut(work.list, work.settings(), work.room, smallest);
  if (!cut) {
    if (!smallest) work.not_compacted = "nothing_old";
    return false;
  }
  if (!smallest) {
    // One that was asked for before is still the one that is wanted.
    if (const auto pending = pending_cut(work)) cut = pending;
  }
  const bool must = must_be_now(work);
  const auto summary = smallest ? extract_for(work, *cut) : summary_for(work, *cut, must);
  if (!summary) return false;
  const bool made = make_pass(work, *cut, *summary);
  if (!made && !smallest && !work.stopped()) work.not_compacted = "not_smaller";
  return made;
}

void use_handed(Work& work) {
  if (const auto handed = handed_summary(work)) make_pass(work, handed->cut, handed->summary);
}

// Results of the tail, then the tail itself, then the first task.
void clip(Work& work) {
  const uint64_t refused = work.request().overflow ? work.earlier : 0;
  const uint64_t target = context::clip_target(work.room, work.refused_limit, refused);
  if (target == 0 || work.list.counted() <= target) return;
  carry_out(work, [&] { return context::plan_clip(work.list, target); });
  if (work.stopped() || work.list.counted() <= target) return;
  if (summarise(work, true)) work.actions.push_back({.what = "clip", .reason = "newest_group"});
  if (work.stopped() || context::fits(work.list, work.room)) return;
  carry_out(work, [&] { return context::plan_first_task(work.list); });
}

// The steps that lose nothing. True when they freed something.
bool shorten_old(Work& work) {
  const uint64_t before = work.list.counted();
  carry_out(work,
            [&] { return context::plan_old_arguments(work.list, work.settings(), work.room); });
  carry_out(work, [&] { return context::plan_old_results(work.list, work.settings(), work.room); });
  return work.list.counted() < before;
}

// The budget of the turn, by what the rest of the list now leaves. True when results went.
bool close_turn(Work& work) {
  const uint64_t before = work.list.counted();
  carry_out(work, [&] {
    return context::plan_turn_budget(work.list, work.room, context::TurnBudget::below_trigger);
  });
  return work.list.counted() < before;
}

void summarise_while_over(Work& work) {
  bool compacts = work.request().compact;
  bool made = true;
  for (int i = 0; i < kPassesInACall && made && !work.stopped(); ++i) {
    if (!compacts && !over(work)) break;
    made = summarise(work, false);
    compacts = false;
  }
  const bool any = std::ranges::any_of(
      work.actions, [](const Action& action) { return action.what == "summary"; });
  if (!work.request().compact || any) work.not_compacted = {};
}

// Tokens after the last late pass, if this list goes on from the one that it was made on.
uint64_t last_total(const Work& work) {
  const std::string value = read_fact(work.services, fact_name(work)).value_or("");
  const auto chain = Hash128::from_hex(value.substr(std::min(value.find(' ') + 1, value.size())));
  if (!chain) return 0;
  const bool goes_on = std::ranges::any_of(
      work.list.messages, [&](const auto& message) { return message.chain == *chain; });
  return goes_on ? number_field(value, 0) : 0;
}

void remember(Work& work) {
  if (work.request().dry_run || work.stopped() || work.list.messages.empty()) return;
  write_fact(work.services, fact_name(work),
             fmt::format("{} {}", work.list.counted(), work.list.messages.back().chain.hex()));
}

}  // namespace

void late_pass(Work& work) {
  if (work.stopped()) return;
  use_handed(work);
  if (work.stopped()) return;
  const PrepareRequest& request = work.request();
  const bool asked = request.compact || request.overflow;
  const bool due = asked || context::late_pass_due(work.list, work.room, last_total(work));

  const bool shortened = due && (request.overflow || over(work)) && shorten_old(work);
  const bool closed = close_turn(work);
  if (!due || work.stopped()) return;
  // What the turn itself gave way to brings it below the trigger: no summary in the same call.
  if (closed && !asked && work.list.counted() < work.room.trigger) {
    if (shortened) remember(work);
    return;
  }
  summarise_while_over(work);
  // A summary that is asked for or being made comes before a clip.
  if (work.stopped() || work.offer || work.summary_begun) return;
  close_turn(work);
  if (request.overflow || !context::fits(work.list, work.room)) clip(work);
  work.irreducible = request.overflow && work.list.counted() >= work.earlier;
  remember(work);
}

}  // namespace ebla::daemon
