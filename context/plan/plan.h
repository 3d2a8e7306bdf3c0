// What is to be done with a list, step by step, each a pure function of the list, the settings and
// the room there is. The caller carries a step out (stores first), counts again, and asks the same
// step again until it plans nothing: a plan reckons with what replacements usually cost. An item
// whose replacement would not halve it is marked with keep_part(), and is not planned again; so
// every step ends, and none makes the list larger.
//
// Planners cost one walk over the list, and a sort of what they choose from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "context/list/working_list.h"
#include "context/settings.h"
#include "schema/base/result.h"

namespace ebla::context {

// Tokens. window 0: unknown; trigger then is the fixed one. Shares are of the usable window.
struct Room {
  uint64_t window = 0;
  uint64_t reserve = 0;  // for the answer
  uint64_t usable = 0;   // window - reserve; 0: unknown
  uint64_t trigger = 0;  // total at which a late pass begins
  uint64_t relief = 0;   // 5 %: how far below the trigger a pass goes at least
  uint64_t goal = 0;     // where old arguments and results stop to yield, once they must
  uint64_t keep = 0;     // newest tokens that late steps leave alone; 0: messages count
};
Room room_of(const Settings& settings, uint64_t window, uint64_t max_output);
// invalid_params for one that nothing can work in; 0, unknown, is none of these.
Result<void> check_window(uint64_t window);
// invalid_params with the numbers: what leaves no room to work in. Everything else works with any
// room, if only by saying that the list does not fit.
Result<void> check_room(const Settings& settings, const Room& room);
bool fits(const WorkingList& list, const Room& room);

// What a notice with its preview usually costs, in tokens; a smaller result at most half.
inline constexpr uint64_t kUsualNoticeTokens = 260;
// One item to put away.
struct ItemPlan {
  size_t message = 0;  // index within WorkingList::messages, or pins
  size_t part = 0;
  ArtifactKind kind = ArtifactKind::tool_result;
  std::string argument;  // kind argument: its name
  // item_limit, window_share, host_limit, always, turn_budget, image_bytes, image_count,
  // old_argument, old_result, overflow, first_task
  const char* reason = "";
  bool force = false;  // whatever its size, if only that halves it
  bool pin = false;    // `message` is an index of pins
};

// ---- What is fresh.

// Fresh results and human texts over their limits. Several texts of one message count together: the
// largest go first.
std::vector<ItemPlan> plan_fresh(const WorkingList& list, const Settings& settings,
                                 const Room& room);
// Fresh results together over the budget of the turn. Largest first, ties by the position of the
// call in the model's message. Nothing while a call of the turn has no result yet.
//
// whole_turn: half of what is usable, whatever else is in the list. below_trigger: also what the
// rest of the list leaves below the trigger, but the `relief` at least, so that a full list never
// hides what is small; and nothing more where the rest alone is over the trigger. It is asked when
// old items have yielded as far as they can: what was just asked for is of more use than they.
enum class TurnBudget : uint8_t { whole_turn, below_trigger };
std::vector<ItemPlan> plan_turn_budget(const WorkingList& list, const Room& room,
                                       TurnBudget budget);
// Media over the provider's byte budget (0: none), or images over limits::kImages: the oldest go
// until half of the budget or number is left, so that the next ones find room for many calls. What
// the model has not seen, and the newest, go only where that is over by itself.
std::vector<ItemPlan> plan_images(const WorkingList& list, uint64_t byte_budget);

// ---- The late pass.

// At or over the trigger, and not within the relief of the last one unless the list does not fit.
// `last_pass_total`: tokens after the last late pass over a beginning of this list, 0 none.
bool late_pass_due(const WorkingList& list, const Room& room, uint64_t last_pass_total);
// The two steps that lose nothing go on to `goal`, oldest first: each pass costs the prompt cache
// of everything behind the first change, so one that goes far is cheaper than many that do not.
// Nothing newer than the tail's beginning, fresh, pinned or of the newest group.
std::vector<ItemPlan> plan_old_arguments(const WorkingList& list, const Settings& settings,
                                         const Room& room);
std::vector<ItemPlan> plan_old_results(const WorkingList& list, const Settings& settings,
                                       const Room& room);
// How far the late pass has still to go to come `relief` below the trigger, in tokens: less is
// reason enough for a summary.
uint64_t missing_relief(const WorkingList& list, const Room& room);
// How many of list.messages the summary stands for: everything before the tail, cut between whole
// groups; nullopt when nothing can go. The tail: the newest `keep` tokens (window unknown:
// settings.keep_messages messages) or the newest whole group, whichever is larger, and all that is
// fresh. `smallest`: only the newest group stays.
std::optional<size_t> plan_cut(const WorkingList& list, const Settings& settings, const Room& room,
                               bool smallest);

// ---- The list does not fit, or was refused.

// Results, until `target` tokens are left: largest first, then those of Ebla's own readers
// (WorkingPart::reader: shortened, the path is where they came from), and last those that settings
// want to stay.
std::vector<ItemPlan> plan_clip(const WorkingList& list, uint64_t target);
// The first task becomes its preview, unless it is the current request.
std::vector<ItemPlan> plan_first_task(const WorkingList& list);
// 70 % of the smallest of usable window, reported limit and 0.95 x the refused list; 0: nothing is
// known.
uint64_t clip_target(const Room& room, uint64_t reported_limit, uint64_t refused_tokens);

// ---- Pins.

// The caller's pins: indexes of its list. invalid_params: out of range, a message of the model or
// with calls or results in it, or together over limits::kPinShare of the window, as they stand now
// (so after plan_fresh has been carried out).
Result<void> check_pins(const WorkingList& list, std::span<const uint64_t> pinned,
                        const Room& room);

// Tokens by kind of what fills the window, for an error that says so: name and tokens, largest
// first.
std::vector<std::pair<std::string, uint64_t>> what_fills(const WorkingList& list);

}  // namespace ebla::context
