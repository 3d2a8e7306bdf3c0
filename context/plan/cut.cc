#include <algorithm>

#include "context/formats/format.h"
#include "context/formats/pairs.h"
#include "context/list/turns.h"
#include "context/plan/plan.h"
#include "context/plan/tail.h"

namespace ebla::context {
namespace {

// Index of the first of list.messages at or behind this one of the client's list.
size_t place_of(const WorkingList& list, size_t client_index) {
  const auto at = std::ranges::lower_bound(list.messages, client_index, {}, &WorkingMessage::index);
  return static_cast<size_t>(at - list.messages.begin());
}

// No summary covers this one of list.messages: the first that brings a result which the model has
// not read, or asks for one.
size_t needed(const WorkingList& list) {
  const auto late = std::ranges::find_if(list.messages, [](const WorkingMessage& message) {
    return std::ranges::any_of(message.parts, &WorkingPart::late);
  });
  return std::min(place_of(list, first_needed(*list.conversation)),
                  static_cast<size_t>(late - list.messages.begin()));
}

// Before it lies what the model has read, and no call that waits.
size_t read_end(const WorkingList& list) {
  return std::min(place_of(list, first_fresh(*list.conversation)), needed(list));
}

// The last of the points that is not above `most`.
size_t last_up_to(const std::vector<size_t>& points, size_t most) {
  const auto above = std::ranges::upper_bound(points, most);
  return above == points.begin() ? 0 : *std::prev(above);
}

// Where the newest whole group begins.
size_t newest_group(const std::vector<size_t>& points, size_t size) {
  return size == 0 ? 0 : last_up_to(points, size - 1);
}

}  // namespace

std::vector<size_t> group_points(const WorkingList& list) {
  // Only what groups are told by, and only of what is left: a call that a pass stands for holds
  // nothing together any more.
  Conversation left;
  for (const WorkingMessage& message : list.messages) {
    Message& copy = left.messages.emplace_back();
    copy.role = message.message->role;
    for (const Part& part : message.message->parts) {
      Part& each = copy.parts.emplace_back();
      each.kind = part.kind;
      each.call_id = part.call_id;
      each.number = part.number;
      each.tool = part.tool;
    }
  }
  left.pairing = pair_calls(left);
  return cut_points(left);
}

size_t tail_begin(const WorkingList& list, const Room& room, size_t messages) {
  const size_t size = list.messages.size();
  if (room.keep == 0) return size - std::min(size, messages);
  double left = static_cast<double>(room.keep);
  size_t begin = size;
  while (begin > 0) {
    left -= static_cast<double>(list.messages[begin - 1].tokens) * list.ratio;
    if (left < 0) break;
    --begin;
  }
  return begin;
}

size_t old_end(const WorkingList& list, const Room& room, size_t messages) {
  if (list.conversation == nullptr || list.conversation->partial) return 0;
  const size_t group = newest_group(group_points(list), list.messages.size());
  return std::min({tail_begin(list, room, messages), group, read_end(list)});
}

std::optional<size_t> plan_cut(const WorkingList& list, const Settings& settings, const Room& room,
                               bool smallest) {
  if (list.conversation == nullptr || list.conversation->partial) return std::nullopt;
  const std::vector<size_t> points = group_points(list);
  const size_t newest = newest_group(points, list.messages.size());
  size_t cut = newest;
  if (smallest) {
    cut = last_up_to(points, std::min(newest, needed(list)));
  } else {
    const size_t tail = tail_begin(list, room, settings.keep_messages);
    const auto within = std::ranges::lower_bound(points, tail);
    if (within != points.end()) cut = std::min(*within, newest);
    cut = last_up_to(points, std::min(cut, read_end(list)));
  }
  const bool moves =
      std::any_of(list.messages.begin(), list.messages.begin() + static_cast<std::ptrdiff_t>(cut),
                  [](const WorkingMessage& each) { return !each.pinned; });
  return moves ? std::optional(cut) : std::nullopt;
}

}  // namespace ebla::context
