// Where the old part of a list ends: what late steps may touch.
#pragma once

#include <cstddef>
#include <vector>

#include "context/plan/plan.h"

namespace ebla::context {

// Indexes c of list.messages, ascending, 0 and size among them, where [0, c) and the rest hold only
// whole groups.
std::vector<size_t> group_points(const WorkingList& list);

// First message of the newest room.keep tokens, or of the newest `messages` where those are not
// known. May lie within a group.
size_t tail_begin(const WorkingList& list, const Room& room, size_t messages);

// Messages before it are old: not of the tail, not fresh, not of the newest group. 0 where the
// provider holds the list.
size_t old_end(const WorkingList& list, const Room& room, size_t messages);

}  // namespace ebla::context
