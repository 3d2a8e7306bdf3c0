// Which result answers which call.
#pragma once

#include "context/list/conversation.h"

namespace ebla::context {

// A result answers the newest call of its id that has no result yet; of several calls that the
// model made in one turn, and several results behind them, the first answers the first. Calls
// without an id are told by the tool's name. A result may bear the client's own id though its call
// has got a number since. Ids may be used again, in later turns or by mistake. Where a repair put a
// result that says there is none, and the client kept it, the true one still comes before it.
//
// What a reader of the list has found out is Conversation::pairing: this is for readers.
Pairing pair_calls(const Conversation& conversation);

// What repairs put in the place of a result that did not come.
bool says_interrupted(const Part& result);

// An item of its own, as some formats have it.
bool only_reasoning(const Message& message);

// A part among the blocks of a result, as media are.
inline bool stands_within(const Part& part, const Part& result) {
  return part.span.begin >= result.span.begin && part.span.end <= result.span.end;
}

// Sets `pairing`, and gives results the tool name of their call where the format does not tell it.
void pair_results(Conversation& conversation);

}  // namespace ebla::context
