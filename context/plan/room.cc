#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "context/plan/plan.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

// 0.85 has no exact double: what it takes of 10,000 is 8,500 all the same.
uint64_t share_of(double share, uint64_t tokens) {
  return static_cast<uint64_t>(std::floor(share * static_cast<double>(tokens) + 1e-6));
}

}  // namespace

Room room_of(const Settings& settings, uint64_t window, uint64_t max_output) {
  Room room;
  room.window = window;
  room.reserve = max_output;
  if (window == 0) {
    room.trigger = settings.trigger_tokens;
    room.relief = std::max<uint64_t>(1, share_of(limits::kRelief, room.trigger));
    room.goal = share_of(limits::kPassGoal, room.trigger);
    return room;
  }
  room.usable = window - std::min(window, max_output);
  room.trigger = share_of(settings.trigger, room.usable);
  room.relief = std::max<uint64_t>(1, share_of(limits::kRelief, room.usable));
  room.goal = share_of(limits::kPassGoal, room.trigger);
  room.keep = std::max<uint64_t>(1, share_of(settings.keep, room.usable));
  return room;
}

Result<void> check_window(uint64_t window) {
  if (window == 0 || window >= limits::kWindowTokens) return {};
  return fail(Code::invalid_params,
              fmt::format("a window of {} tokens is too small to work in: at least {}, or 0 for "
                          "an unknown one",
                          window, limits::kWindowTokens));
}

Result<void> check_room(const Settings& settings, const Room& room) {
  if (auto checked = check_settings(settings); !checked) return checked;
  if (auto checked = check_window(room.window); !checked) return checked;
  if (room.window == 0) return {};
  const uint64_t least = share_of(limits::kUsableShare, room.window);
  if (room.usable < least) {
    return fail(Code::invalid_params,
                fmt::format("a window of {} tokens with {} kept for the answer leaves {} of the "
                            "{} that are needed: ask for a shorter answer or name a larger window",
                            room.window, room.reserve, room.usable, least));
  }
  return {};
}

bool fits(const WorkingList& list, const Room& room) {
  return room.usable == 0 || list.counted() <= room.usable;
}

uint64_t clip_target(const Room& room, uint64_t reported_limit, uint64_t refused_tokens) {
  const auto refused = share_of(0.95, refused_tokens);
  uint64_t smallest = 0;
  for (const uint64_t bound : {room.usable, reported_limit, refused}) {
    if (bound > 0 && (smallest == 0 || bound < smallest)) smallest = bound;
  }
  return share_of(limits::kClipTarget, smallest);
}

}  // namespace ebla::context
