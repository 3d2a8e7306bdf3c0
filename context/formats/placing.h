// Where a format wants the result of a call.
#pragma once

#include <vector>

#include "context/formats/pairs.h"
#include "context/formats/table.h"

namespace ebla::context {

// Reads the list once, and needs it as long as it lives; every answer then takes constant time.
class Placing {
 public:
  Placing(ResultPlace place, const Conversation& conversation);

  bool in_place(const Pair& pair) const;
  // Index of the message that results of a call in this message belong into (blocks), or before
  // which they are inserted (messages); may be the end of the list.
  size_t target(size_t call_message) const;
  // First message of the model's turn that the list ends in, with a call as the last that it says:
  // its calls may be about to run. In a list that goes on, if only with the results of some, a
  // provider wants one of each. The number of messages: there is none.
  size_t live_turn() const;
  // What target() says of calls whose results belong where this one stands in place.
  size_t run(size_t result_message) const;
  // Where a message of the user may stand for this one, which brings results: behind them all.
  size_t behind_results(size_t message) const;
  // First message from this one on that is the model's; the number of messages: there is none.
  size_t next_model(size_t m) const { return turn_end_[m]; }

 private:
  ResultPlace place_;
  const std::vector<Message>& messages_;
  size_t count_;
  std::vector<size_t> behind_model_;    // by message: first one from it on that is not the model's
  std::vector<size_t> behind_results_;  // by message: first one from it on that brings no results
  std::vector<size_t> results_begin_;   // by message: first one of the run of results it is in
  // By message, where results are blocks: the first part of its turn that is no result.
  std::vector<PartAt> first_other_;
  std::vector<size_t> turn_end_;  // by message: first one of the model from it on
};

}  // namespace ebla::context
