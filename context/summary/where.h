// "Where to look" of a summary message: which lines of the history hold what.
#pragma once

#include <string>

#include "context/summary/summary.h"

namespace ebla::context {

// Lines "- …", each ended by LF, within limits::kWhereToLookTokens: the turns of the removed part,
// what is named there, and one line for each pass before.
std::string where_to_look(const SummaryMessageInput& input);
// The first history line of the newest turn, 1 when none is known.
uint64_t newest_line(const SummaryMessageInput& input);

}  // namespace ebla::context
