#include "daemon/prepare/prepare_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <span>
#include <utility>
#include <vector>

#include "context/formats/call_ids.h"
#include "context/formats/pairs.h"
#include "context/list/marks.h"
#include "context/list/turns.h"
#include "context/plan/plan.h"
#include "daemon/prepare/calibration.h"
#include "daemon/prepare/known.h"
#include "daemon/prepare/late_pass.h"
#include "daemon/prepare/put_away.h"
#include "daemon/prepare/repair.h"
#include "daemon/prepare/replay.h"
#include "daemon/wait_for.h"

namespace ebla::daemon {
namespace {

using context::ItemPlan;
using context::Part;
using context::PartKind;
using context::WorkingMessage;

// By the client's own id, or the one that a repair gave to its call.
bool names(std::string_view id, const Part& result) {
  return id == result.call_id || (result.number > 0 && id == context::written_id(result));
}

// One result, and the media among its blocks.
void plan_result(const WorkingMessage& message, size_t index, size_t part,
                 std::vector<ItemPlan>& plans) {
  const auto& parts = message.message->parts;
  for (size_t p = part; p < parts.size(); ++p) {
    if (p > part && !context::stands_within(parts[p], parts[part])) break;
    const bool media = p > part && !parts[p].data.empty();
    if ((p > part && !media) || message.parts[p].replaced || message.parts[p].kept) continue;
    if (p == part && parts[p].texts.empty()) continue;
    plans.push_back({.message = index,
                     .part = p,
                     .kind = media ? ArtifactKind::media : ArtifactKind::tool_result,
                     .argument = {},
                     .reason = "asked",
                     .force = true});
  }
}

// Results that the caller wants to go, by their call ids.
std::vector<ItemPlan> plan_asked(const Work& work) {
  std::vector<ItemPlan> plans;
  const auto& ids = work.request().put_away;
  for (size_t m = 0; m < work.list.messages.size() && !ids.empty(); ++m) {
    const auto& parts = work.list.messages[m].message->parts;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (!context::is_answer(parts[p])) continue;
      if (std::ranges::none_of(ids, [&](const std::string& id) { return names(id, parts[p]); })) {
        continue;
      }
      plan_result(work.list.messages[m], m, p, plans);
    }
  }
  return plans;
}

// Ids that were named in vain. What a pass covers is put away.
void note_not_found(Work& work) {
  for (const std::string& id : work.request().put_away) {
    const Part* found = nullptr;
    for (const context::Message& message : work.current.conversation->messages) {
      const auto result = std::ranges::find_if(message.parts, [&](const Part& part) {
        return (part.kind == PartKind::tool_result || part.carried) && names(id, part);
      });
      if (result != message.parts.end()) found = &*result;
    }
    if (found != nullptr && !found->provider_side) continue;
    work.actions.push_back({.what = "not_put_away",
                            .id = id,
                            .reason = found == nullptr ? "no result of this id is in the list"
                                                       : "the provider keeps this result itself"});
  }
}

uint64_t media_budget(const Work& work) {
  if (work.settings().image_bytes > 0) return work.settings().image_bytes;
  if (work.sent.conversation->model.starts_with("gemini")) return limits::kGeminiMediaBytes;
  return work.format->id() == context::FormatId::anthropic ? limits::kAnthropicMediaBytes
                                                           : limits::kOpenAiMediaBytes;
}

// A model that copies the mark of a shortened argument has not said what it meant.
void find_copied_marks(Work& work) {
  const auto& messages = work.list.messages;
  const auto newest = std::ranges::find_if(
      messages.rbegin(), messages.rend(),
      [](const WorkingMessage& message) { return context::is_model(*message.message); });
  for (auto at = newest; at != messages.rend() && context::is_model(*at->message); ++at) {
    for (size_t p = 0; p < at->parts.size(); ++p) {
      const Part& part = at->message->parts[p];
      if (part.kind != PartKind::tool_call) continue;
      if (!context::has_mark(part.arguments.of(work.body()))) continue;
      ++work.services.prepares.copied_marks;
      work.actions.push_back({.what = "copied_mark",
                              .index = work.sent_index(*at),
                              .id = part.call_id,
                              .tool = part.tool});
    }
  }
}

Code code_of(const Health& health) {
  for (const Code code : {Code::no_space, Code::io_error, Code::corrupt, Code::busy}) {
    if (health.name == code_info(code).name) return code;
  }
  return Code::read_only;
}

// It does not try more often than it thinks worth while.
void until_it_may_try_again(Services& services) {
  std::promise<void> due;
  services.delays.at(
      std::chrono::steady_clock::now() + std::chrono::milliseconds(limits::kStoreRetryMs),
      [&due] { due.set_value(); });
  due.get_future().wait();
}

// A store in trouble finds out that it is over when it has something to write. It is asked twice:
// it may just have tried.
void look_at_store(Work& work) {
  Store& store = work.services.store;
  Health health = store.health();
  for (int question = 0; question < 2 && !health.writable; ++question) {
    if (question > 0) until_it_may_try_again(work.services);
    const auto synced = wait_briefly<void>(work.services, [&](Completion<void> done) {
      store.sync(durable_change(limits::kStoreWaitMs), std::move(done));
    });
    health = store.health();
    if (!synced && synced.error().code == Code::unavailable) break;
  }
  if (!health.writable) work.degrade({code_of(health), health.text});
}

void note_partial(Work& work) {
  if (!work.sent.conversation->partial) return;
  if (work.room.trigger == 0 || work.list.counted() < work.room.trigger) return;
  work.actions.push_back({.what = "needs_full_history"});
}

Result<void> know_again(Work& work) {
  const double ratio = work.list.ratio;
  work.known_messages = work.known_pass = work.newest = 0;
  if (auto known = apply_known(work); !known) return known;
  calibrate_again(work, ratio);
  return {};
}

// What another call decided a moment ago may not be on disk yet. Nothing stands for it before.
Result<void> prove(Work& work) {
  Services& services = work.services;
  if (work.newest <= services.proven.id()) return {};
  if (!work.degraded) {
    const auto synced = wait_briefly<void>(services, [&](Completion<void> done) {
      services.store.sync(durable_change(limits::kStoreWaitMs), std::move(done));
    });
    if (synced) {
      services.proven.raise(work.newest);
      return {};
    }
    work.degrade(synced.error());
  }
  work.horizon = services.proven.id();
  return know_again(work);
}

Result<void> check_indexes(const Work& work) {
  const size_t messages = work.sent.conversation->messages.size();
  for (const size_t index : work.request().pinned) {
    if (index < messages) continue;
    return fail(Code::invalid_params,
                fmt::format("pinned: {} is no index of a list of {} messages", index, messages));
  }
  return {};
}

Result<void> know_with(Work& work, std::span<const context::Pair> as_words) {
  repair(work, as_words);
  work.known_messages = work.known_pass = work.newest = 0;
  return apply_known(work);
}

// A pass stands for calls as they were when it was made. A result that came after it goes on as
// words, as it does for a client that has the summary in its list: put behind its call, it would
// make what the pass stands for another history. Which ones came later is seen by what fits the
// longest pass. One after the other, as they came: when one came, those behind it were not there.
Result<void> know_belated(Work& work) {
  constexpr size_t kMostTried = 16;
  if (work.replay || work.sent.conversation->partial || work.whole) return {};
  std::vector<context::Pair> as_words = context::belated_results(*work.sent.conversation);
  if (as_words.empty()) return {};
  if (as_words.size() > kMostTried) as_words.erase(as_words.begin(), as_words.end() - kMostTried);
  if (auto known = know_with(work, as_words); !known) return known;
  size_t longest = work.known_messages;
  for (size_t i = 0; i < as_words.size();) {
    std::vector<context::Pair> fewer = as_words;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (auto known = know_with(work, fewer); !known) return known;
    if (work.known_messages < longest) {
      ++i;
      continue;
    }
    longest = work.known_messages;
    as_words = std::move(fewer);
  }
  return know_with(work, as_words);
}

// The list with what is known of it, measured.
Result<void> know_and_count(Work& work) {
  find_room(work);
  if (auto room = context::check_room(work.settings(), work.room); !room) return room;
  if (auto fits = check_indexes(work); !fits) return fits;
  if (auto known = know_with(work, {}); !known) return known;
  if (auto known = know_belated(work); !known) return known;
  calibrate(work);
  if (work.replay && !replay_holds(work)) {
    work.anew = true;
    if (auto known = know_again(work); !known) return known;
  }
  return prove(work);
}

void decide_items(Work& work) {
  const context::Settings& settings = work.settings();
  note_not_found(work);
  carry_out(work, [&] { return plan_asked(work); });
  carry_out(work, [&] { return context::plan_fresh(work.list, settings, work.room); });
  carry_out(work, [&] { return context::plan_images(work.list, media_budget(work)); });
  carry_out(work, [&] {
    return context::plan_turn_budget(work.list, work.room, context::TurnBudget::whole_turn);
  });
}

}  // namespace

Result<void> run_steps(Work& work) {
  tell_late_changes(work.services);
  if (work.asked.trouble) {
    work.degrade(*work.asked.trouble);
  } else {
    look_at_store(work);
  }
  if (auto known = know_and_count(work); !known) return known;
  work.earlier = work.list.counted();
  if (work.request().dry_run) work.known_list = work.list;

  const bool closed = work.replay && work.replay->closed;
  if (!closed) decide_items(work);
  std::vector<uint64_t> pins(work.request().pinned.begin(), work.request().pinned.end());
  if (auto fit = context::check_pins(work.list, pins, work.room); !fit) return fit;
  find_copied_marks(work);
  if (work.sent.conversation->partial) {
    if (!closed) {
      carry_out(work, [&] {
        return context::plan_turn_budget(work.list, work.room, context::TurnBudget::below_trigger);
      });
    }
    note_partial(work);
    if (work.request().compact) work.not_compacted = "provider_keeps_list";
  } else if (!closed) {
    late_pass(work);
  }
  keep_replay(work);
  return {};
}

}  // namespace ebla::daemon
