// What a replayed transcript costs with Ebla and without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/try/replay.h"
#include "tools/try/transcript.h"

namespace ebla::tools {

// For a million tokens, in any currency. The defaults are examples of what providers ask for.
struct Prices {
  double input = 3.00;
  double cache_read = 0.30;
  double cache_write = 3.75;
  double output = 15.00;
};

// One of the two ways. A pass is a summary in place of the beginning of the list; it costs a call
// of the model that reads the list and writes the summary.
struct Side {
  uint64_t sent = 0;     // tokens of all lists together
  uint64_t cached = 0;   // of these, read from the prompt cache if it keeps every prefix
  uint64_t fullest = 0;  // tokens of the longest list
  size_t passes = 0;
  size_t too_long = 0;  // calls whose list is over the window all the same
  uint64_t output = 0;  // summaries included
  double cost_cached = 0;
  double cost_plain = 0;  // every token of each call at the price of input
};

struct Bill {
  Side without;
  Side with;
  // Tokens of the list of each call as the agent would have sent it: after its own summaries, the
  // recorded ones, or where none is recorded those that it would have needed at the same trigger.
  std::vector<uint64_t> fill_without;
  bool recorded = false;  // the summaries of `without` are recorded ones
};

Bill make_bill(const Transcript& transcript, const Replay& replay, const Prices& prices);

}  // namespace ebla::tools
