// Which result answers which call.
#pragma once

#include <vector>

#include "context/list/conversation.h"

namespace ebla::context {

struct PartAt {
  size_t message = 0;
  size_t part = 0;
  bool operator==(const PartAt&) const = default;
};

struct Pair {
  PartAt call;
  PartAt result;
};

struct Pairing {
  std::vector<Pair> pairs;         // by the place of the result
  std::vector<PartAt> unanswered;  // calls, in order
  std::vector<PartAt> strays;      // results without a call before them, in order
  std::vector<Pair> second;        // results of a call that has one already, in order
};

// A result answers the newest call of its id that has no result yet; of several calls that the
// model made in one turn, and several results behind them, the first answers the first. Calls
// without an id are told by the tool's name. Ids may be used again, in later turns or by mistake.
Pairing pair_calls(const Conversation& conversation);

// An item of its own, as some formats have it.
bool only_reasoning(const Message& message);

// A part among the blocks of a result, as media are.
inline bool stands_within(const Part& part, const Part& result) {
  return part.span.begin >= result.span.begin && part.span.end <= result.span.end;
}

// Gives results the tool name of their call where the format does not tell it.
void name_results(Conversation& conversation);

}  // namespace ebla::context
