#include "context/formats/pairs.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "context/formats/format.h"
#include "context/texts.h"
#include "schema/base/hash.h"

namespace ebla::context {
namespace {

// What a call and its result are matched by.
struct Key {
  std::string_view id;
  std::string_view tool;  // only of calls without an id
  uint32_t number = 0;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    return (xxh3_64(key.id) ^ std::hash<std::string_view>()(key.tool)) + key.number;
  }
};

Key key_of(const Part& part) {
  return {part.call_id, part.call_id.empty() ? std::string_view(part.tool) : std::string_view(),
          part.number};
}

std::pair<size_t, size_t> place_of(PartAt at) {
  return {at.message, at.part};
}

constexpr size_t kNone = SIZE_MAX;

// A call, and the one of the same key that it stands upon in a stack.
struct Call {
  PartAt at;
  size_t turn = 0;  // of the model
  size_t below = kNone;
  bool answered = false;
};
// Of one key, indexes of calls.
struct Calls {
  size_t open = kNone;  // stack of those without a result, the newest on top
  size_t next = kNone;  // of these, stack of those that are answered next, the first on top
  size_t newest = kNone;
  size_t results = 0;  // that are still to come before the model speaks again
};

void move_top(std::vector<Call>& calls, size_t& from, size_t& to) {
  const size_t top = from;
  from = std::exchange(calls[top].below, to);
  to = top;
}

const Part& part_at(const std::vector<Message>& messages, PartAt at) {
  return messages[at.message].parts[at.part];
}

class Pairer {
 public:
  // As if the results `left_out`, ascending, did not stand there.
  explicit Pairer(const Conversation& conversation, const std::vector<PartAt>& left_out = {})
      : messages_(conversation.messages), left_out_(left_out) {
    by_key_.reserve(messages_.size() / 2);
  }

  Pairing pair() {
    bool model_spoke = false;
    for (size_t m = 0; m < messages_.size(); ++m) {
      const bool model = is_model(messages_[m]);
      if (model && !model_spoke) ++turn_;
      if (!model && (model_spoke || m == 0) && doubled_) count_results(m);
      model_spoke = model;
      for (size_t p = 0; p < messages_[m].parts.size(); ++p) {
        const Part& part = messages_[m].parts[p];
        if (part.kind == PartKind::tool_call) call(part, {m, p});
        if (is_result(part, {m, p})) result(part, {m, p});
      }
    }
    for (const Call& call : calls_) {
      if (!call.answered) pairing_.unanswered.push_back(call.at);
    }
    return std::move(pairing_);
  }

 private:
  bool is_result(const Part& part, PartAt at) const {
    return part.kind == PartKind::tool_result &&
           !std::ranges::binary_search(left_out_, place_of(at), {}, place_of);
  }

  void call(const Part& part, PartAt at) {
    const auto [place, is_new] = by_key_.try_emplace(key_of(part));
    pairing_.id_repeats |= !is_new || part.number != 0;
    Calls& known = place->second;
    put_back(known);
    if (known.open != kNone && calls_[known.open].turn == turn_) doubled_ = true;
    calls_.push_back({.at = at, .turn = turn_, .below = known.open});
    known.open = known.newest = calls_.size() - 1;
    if (part.number > 0) numbered_[part.call_id].push_back(calls_.size() - 1);
  }

  void result(const Part& part, PartAt at) {
    const auto found = by_key_.find(key_of(part));
    if (found == by_key_.end()) {
      if (!answer_numbered(part, at)) pairing_.strays.push_back(at);
      return;
    }
    Calls& known = found->second;
    if (known.next == kNone) choose(known);
    known.results -= std::min<size_t>(known.results, 1);
    if (known.next == kNone) {
      if (!answer_numbered(part, at)) pairing_.second.push_back({calls_[known.newest].at, at});
      return;
    }
    const size_t call = known.next;
    known.next = calls_[call].below;
    answer(call, at);
  }

  void answer(size_t call, PartAt result) {
    calls_[call].answered = true;
    pairing_.pairs.push_back({calls_[call].at, result});
  }

  // A result that came under the client's own id, when its call had got a number already.
  bool answer_numbered(const Part& part, PartAt at) {
    const auto found = numbered_.find(part.call_id);
    if (part.number > 0 || found == numbered_.end()) return false;
    std::vector<size_t>& calls = found->second;
    while (!calls.empty() && calls_[calls.back()].answered) calls.pop_back();
    if (calls.empty()) return false;
    const size_t call = calls.back();
    const Part& asked = part_at(messages_, calls_[call].at);
    Calls& known = by_key_.find(key_of(asked))->second;
    put_back(known);
    if (known.open != call) return false;
    known.open = calls_[call].below;
    answer(call, at);
    return true;
  }

  // Of the newest turn that has open calls, the messages that as many results are for.
  void choose(Calls& known) {
    if (known.open == kNone) return;
    const size_t turn = calls_[known.open].turn;
    size_t message = calls_[known.open].at.message;
    for (size_t chosen = 0; known.open != kNone; ++chosen) {
      const Call& top = calls_[known.open];
      const bool same = top.at.message == message;
      if (top.turn != turn || (!same && chosen >= known.results)) return;
      message = top.at.message;
      move_top(calls_, known.open, known.next);
    }
  }

  void put_back(Calls& known) {
    while (known.next != kNone) move_top(calls_, known.next, known.open);
  }

  // What comes before the model speaks again.
  void count_results(size_t m) {
    for (; m < messages_.size() && !is_model(messages_[m]); ++m) {
      for (size_t p = 0; p < messages_[m].parts.size(); ++p) {
        const Part& part = messages_[m].parts[p];
        if (!is_result(part, {m, p})) continue;
        const auto found = by_key_.find(key_of(part));
        if (found == by_key_.end()) continue;
        if (found->second.results++ == 0) put_back(found->second);
      }
    }
  }

  const std::vector<Message>& messages_;
  std::vector<PartAt> left_out_;
  Pairing pairing_;
  std::vector<Call> calls_;
  std::unordered_map<Key, Calls, KeyHash> by_key_;
  std::unordered_map<std::string_view, std::vector<size_t>> numbered_;  // by the client's id
  size_t turn_ = 0;
  bool doubled_ = false;  // a turn of the model asked twice under one key
};

std::vector<Pair> interrupted(const Conversation& conversation, const Pairing& pairing) {
  std::vector<Pair> found;
  for (const Pair& pair : pairing.pairs) {
    if (says_interrupted(part_at(conversation.messages, pair.result))) found.push_back(pair);
  }
  return found;
}

}  // namespace

bool says_interrupted(const Part& result) {
  static const std::string_view kText = texts::kInterrupted;
  return !result.error && result.facts.bytes == kText.size() &&
         result.facts.hash == xxh3_128(kText);
}

bool only_reasoning(const Message& message) {
  return !message.parts.empty() && std::ranges::all_of(message.parts, [](const Part& part) {
    return part.kind == PartKind::reasoning;
  });
}

Pairing pair_calls(const Conversation& conversation) {
  Pairing all = Pairer(conversation).pair();
  if (all.second.empty()) return all;
  const std::vector<Pair> ours = interrupted(conversation, all);
  std::vector<PartAt> outdated;
  outdated.reserve(ours.size());
  for (const Pair& pair : ours) outdated.push_back(pair.result);
  if (ours.empty()) return all;
  const Pairing without = Pairer(conversation, outdated).pair();
  outdated.clear();
  std::vector<std::pair<size_t, size_t>> answered;
  answered.reserve(without.pairs.size());
  for (const Pair& pair : without.pairs) answered.push_back(place_of(pair.call));
  std::ranges::sort(answered);
  for (const Pair& pair : ours) {
    if (std::ranges::binary_search(answered, place_of(pair.call))) outdated.push_back(pair.result);
  }
  if (outdated.empty()) return all;
  Pairing pairing = Pairer(conversation, outdated).pair();
  pairing.outdated = std::move(outdated);
  return pairing;
}

void pair_results(Conversation& conversation) {
  conversation.pairing = pair_calls(conversation);
  for (const Pair& pair : conversation.pairing.pairs) {
    Part& result = conversation.messages[pair.result.message].parts[pair.result.part];
    if (!result.tool.empty()) continue;
    result.tool = part_at(conversation.messages, pair.call).tool;
    result.named_by_call = true;
  }
}

std::vector<size_t> cut_points(const Conversation& conversation) {
  const size_t count = conversation.messages.size();
  // held[c]: how many groups stand on both sides of a cut at c, as differences.
  std::vector<int64_t> held(count + 2, 0);
  const auto hold = [&held](size_t first, size_t last) {
    ++held[first + 1];
    --held[last + 1];
  };
  for (const auto* pairs : {&conversation.pairing.pairs, &conversation.pairing.second}) {
    for (const Pair& pair : *pairs) hold(pair.call.message, pair.result.message);
  }
  // A reasoning item stands before the items that it led to: the rest of the model's turn.
  size_t turn_end = count;  // last message of the turn that m is in
  for (size_t m = count; m-- > 0;) {
    const Message& message = conversation.messages[m];
    if (!is_model(message)) continue;
    const bool goes_on = m + 1 < count && is_model(conversation.messages[m + 1]);
    if (!goes_on) turn_end = m;
    if (only_reasoning(message)) hold(m, turn_end);
  }
  std::vector<size_t> points;
  int64_t open = 0;
  for (size_t c = 0; c <= count; ++c) {
    open += held[c];
    if (open == 0) points.push_back(c);
  }
  return points;
}

}  // namespace ebla::context
