#include "context/formats/placing.h"

#include <algorithm>
#include <utility>

namespace ebla::context {
namespace {

// Index of the first part that is no result; media among the blocks of a result are parts behind
// it.
size_t first_other_part(const Message& message) {
  size_t result_end = 0;
  for (size_t p = 0; p < message.parts.size(); ++p) {
    const Part& part = message.parts[p];
    if (part.kind == PartKind::tool_result) {
      result_end = part.span.end;
    } else if (part.span.begin >= result_end) {
      return p;
    }
  }
  return message.parts.size();
}

}  // namespace

Placing::Placing(ResultPlace place, const Conversation& conversation)
    : place_(place),
      messages_(conversation.messages),
      count_(conversation.messages.size()),
      behind_model_(count_ + 1, count_),
      behind_results_(count_ + 1, count_),
      results_begin_(count_),
      turn_end_(count_ + 1, count_) {
  const std::vector<Message>& messages = conversation.messages;
  for (size_t m = count_; m-- > 0;) {
    behind_model_[m] = is_model(messages[m]) ? behind_model_[m + 1] : m;
    behind_results_[m] = messages[m].role == Role::tool ? behind_results_[m + 1] : m;
    turn_end_[m] = is_model(messages[m]) ? m : turn_end_[m + 1];
  }
  for (size_t m = 0; m < count_; ++m) {
    const bool goes_on = m > 0 && messages[m - 1].role == Role::tool;
    results_begin_[m] = goes_on ? results_begin_[m - 1] : m;
  }
  if (place != ResultPlace::blocks) return;
  first_other_.assign(count_, {count_, 0});
  for (size_t m = 0; m < count_; ++m) {
    const bool goes_on = m > 0 && !is_model(messages[m]) && !is_model(messages[m - 1]);
    if (goes_on && first_other_[m - 1].message < m) {
      first_other_[m] = first_other_[m - 1];
    } else if (const size_t p = first_other_part(messages[m]); p < messages[m].parts.size()) {
      first_other_[m] = {m, p};
    }
  }
}

size_t Placing::target(size_t call_message) const {
  switch (place_) {
    case ResultPlace::blocks:
      return behind_model_[call_message];
    case ResultPlace::messages:
      return behind_results_[call_message + 1];
    case ResultPlace::anywhere:
      break;
  }
  return behind_results_[behind_model_[call_message]];
}

size_t Placing::behind_results(size_t message) const {
  const size_t end = behind_results_[message];
  const size_t begin = results_begin_[message];
  // What the model thought and what that led to stay together.
  const bool parts_turn = begin > 0 && only_reasoning(messages_[begin - 1]);
  return parts_turn ? behind_results_[behind_model_[end]] : end;
}

size_t Placing::live_turn() const {
  const auto brings = [](const Part& part) {
    return part.kind == PartKind::tool_result && !part.provider_side;
  };
  const auto calls = [](const Part& part) { return part.kind == PartKind::tool_call; };
  if (count_ == 0 || std::ranges::none_of(messages_.back().parts, calls)) return count_;
  size_t begin = count_;
  while (begin > 0 && is_model(messages_[begin - 1])) {
    --begin;
    if (std::ranges::any_of(messages_[begin].parts, brings)) return count_;
    // Where results are messages, each message of the model is a turn.
    if (place_ == ResultPlace::messages) break;
  }
  return begin;
}

size_t Placing::run(size_t result_message) const {
  return place_ == ResultPlace::blocks ? result_message : behind_results_[result_message];
}

bool Placing::in_place(const Pair& pair) const {
  const PartAt result = pair.result;
  switch (place_) {
    case ResultPlace::anywhere:
      return true;
    case ResultPlace::messages:
      return result.message > pair.call.message &&
             result.message < behind_results_[pair.call.message + 1];
    case ResultPlace::blocks:
      break;
  }
  // In the turn right behind, and nothing but results before it.
  const size_t turn = behind_model_[pair.call.message];
  if (turn == count_ || result.message < turn) return false;
  const PartAt other = first_other_[result.message];
  const bool first = std::pair(result.message, result.part) < std::pair(other.message, other.part);
  return first && result.message < turn_end_[turn];
}

}  // namespace ebla::context
