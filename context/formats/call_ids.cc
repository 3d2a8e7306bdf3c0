#include "context/formats/call_ids.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

namespace ebla::context {
namespace {

// Letters that every provider takes in an id.
constexpr std::string_view kMark = "_ebla";
constexpr size_t kNumberDigits = 6;

// Where an id must be the only one: the list, or one message of it.
using Scope = std::pair<std::string_view, size_t>;
struct ScopeHash {
  size_t operator()(const Scope& scope) const {
    return std::hash<std::string_view>()(scope.first) ^ (scope.second * 0x9e3779b97f4a7c15U);
  }
};
Scope scope_of(ResultPlace place, const Part& call, size_t message) {
  return {call.call_id, place == ResultPlace::messages ? message : 0};
}

// By scope, the highest number so far; a call without one counts as the first.
using Highest = std::unordered_map<Scope, uint32_t, ScopeHash>;

uint32_t number_of(const Part& call) {
  return std::max(call.number, 1u);
}

template <class Each>
void for_each_call(const Conversation& conversation, Each&& each) {
  for (size_t m = 0; m < conversation.messages.size(); ++m) {
    const std::vector<Part>& parts = conversation.messages[m].parts;
    for (size_t p = 0; p < parts.size(); ++p) {
      const bool call = parts[p].kind == PartKind::tool_call && !parts[p].provider_side;
      if (call && !parts[p].call_id.empty()) each(parts[p], PartAt{m, p});
    }
  }
}

// Which of the ids of one text in a message.
size_t nth_of_id(const Message& message, size_t part) {
  const Part& own = message.parts[part];
  const auto end = message.parts.begin() + static_cast<std::ptrdiff_t>(part);
  return static_cast<size_t>(std::count_if(message.parts.begin(), end, [&](const Part& each) {
    return each.kind == own.kind && each.call_id == own.call_id && each.number == own.number;
  }));
}

std::optional<Span> nth_token(const std::vector<JsonValue>& ids, std::string_view id, size_t nth) {
  for (const JsonValue& each : ids) {
    if (each.is_string() && each.equals(id) && nth-- == 0) return each.span();
  }
  return std::nullopt;
}

}  // namespace

CallId read_call_id(std::string_view written) {
  const CallId whole{written, 0};
  const size_t at = written.rfind(kMark);
  if (at == std::string_view::npos || at == 0) return whole;
  const std::string_view digits = written.substr(at + kMark.size());
  if (digits.empty() || digits.size() > kNumberDigits || digits.front() == '0') return whole;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end() || number < 2) return whole;
  return {written.substr(0, at), number};
}

std::string written_id(std::string_view id, uint32_t number) {
  std::string out(id);
  if (number > 0) out.append(kMark).append(std::to_string(number));
  return out;
}

std::vector<PartAt> repeated_calls(ResultPlace place, const Conversation& conversation) {
  std::vector<PartAt> repeated;
  if (!conversation.pairing.id_repeats) return repeated;
  Highest highest;
  highest.reserve(conversation.messages.size() / 2);
  for_each_call(conversation, [&](const Part& call, PartAt at) {
    uint32_t& most = highest[scope_of(place, call, at.message)];
    if (number_of(call) <= most) repeated.push_back(at);
    most = std::max(most + 1, number_of(call));
  });
  return repeated;
}

std::vector<uint32_t> new_numbers(ResultPlace place, const Conversation& conversation,
                                  const std::vector<PartAt>& calls) {
  std::vector<uint32_t> out;
  Highest highest;
  for_each_call(conversation, [&](const Part& call, PartAt at) {
    uint32_t& most = highest[scope_of(place, call, at.message)];
    if (out.size() < calls.size() && calls[out.size()] == at) {
      out.push_back(++most);
    } else {
      most = std::max(most, number_of(call));
    }
  });
  return out;
}

std::string with_new_ids(const FormatBase& format, std::string json, const Message& message,
                         const std::vector<NewNumber>& numbers) {
  const Result<JsonTree> tree = JsonTree::read(json);
  if (!tree) return json;
  std::vector<std::pair<Span, std::string>> tokens;
  const auto lists = format.call_ids(tree->root());
  for (const NewNumber& each : numbers) {
    const Part& part = message.parts[each.part];
    const std::string id = json_string(written_id(part.call_id, each.number));
    const size_t nth = nth_of_id(message, each.part);
    for (const std::vector<JsonValue>& list : lists) {
      if (const auto token = nth_token(list, written_id(part), nth))
        tokens.emplace_back(*token, id);
    }
  }
  std::ranges::sort(tokens, std::ranges::greater(),
                    [](const auto& each) { return each.first.begin; });
  std::string out = json;  // the tree reads the other one
  for (const auto& [span, id] : tokens) out.replace(span.begin, span.size(), id);
  return out;
}

}  // namespace ebla::context
