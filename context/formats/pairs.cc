#include "context/formats/pairs.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "context/formats/format.h"
#include "schema/base/hash.h"

namespace ebla::context {
namespace {

// What a call and its result are matched by.
struct Key {
  std::string_view id;
  std::string_view tool;  // only of calls without an id
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    return xxh3_64(key.id) ^ std::hash<std::string_view>()(key.tool);
  }
};

Key key_of(const Part& part) {
  return {part.call_id, part.call_id.empty() ? std::string_view(part.tool) : std::string_view()};
}

constexpr size_t kNone = SIZE_MAX;

// A call, and the one of the same key before it that was open then.
struct Call {
  PartAt at;
  size_t before = kNone;
  bool answered = false;
};
// Of one key, indexes of calls.
struct Calls {
  size_t open = kNone;  // the newest without a result
  size_t newest = kNone;
};

const Part& part_at(const Conversation& conversation, PartAt at) {
  return conversation.messages[at.message].parts[at.part];
}

}  // namespace

bool only_reasoning(const Message& message) {
  return !message.parts.empty() && std::ranges::all_of(message.parts, [](const Part& part) {
    return part.kind == PartKind::reasoning;
  });
}

Pairing pair_calls(const Conversation& conversation) {
  Pairing pairing;
  std::vector<Call> calls;
  std::unordered_map<Key, Calls, KeyHash> by_key;
  by_key.reserve(conversation.messages.size() / 2);
  for (size_t m = 0; m < conversation.messages.size(); ++m) {
    const std::vector<Part>& parts = conversation.messages[m].parts;
    for (size_t p = 0; p < parts.size(); ++p) {
      const Part& part = parts[p];
      if (part.kind == PartKind::tool_call) {
        Calls& known = by_key[key_of(part)];
        calls.push_back({.at = {m, p}, .before = known.open});
        known.open = known.newest = calls.size() - 1;
      } else if (part.kind == PartKind::tool_result) {
        const auto found = by_key.find(key_of(part));
        if (found == by_key.end()) {
          pairing.strays.push_back({m, p});
        } else if (found->second.open == kNone) {
          pairing.second.push_back({calls[found->second.newest].at, {m, p}});
        } else {
          Call& call = calls[found->second.open];
          pairing.pairs.push_back({call.at, {m, p}});
          call.answered = true;
          found->second.open = call.before;
        }
      }
    }
  }
  for (const Call& call : calls) {
    if (!call.answered) pairing.unanswered.push_back(call.at);
  }
  return pairing;
}

void name_results(Conversation& conversation) {
  for (const Pair& pair : pair_calls(conversation).pairs) {
    Part& result = conversation.messages[pair.result.message].parts[pair.result.part];
    if (result.tool.empty()) result.tool = part_at(conversation, pair.call).tool;
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
  const Pairing pairing = pair_calls(conversation);
  for (const std::vector<Pair>* pairs : {&pairing.pairs, &pairing.second}) {
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
