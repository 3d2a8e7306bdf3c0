#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "context/plan/plan.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

std::string kind_name(const Message& message, const Part& part) {
  switch (part.kind) {
    case PartKind::tool_call:
      return "tool calls";
    case PartKind::tool_result:
      return "tool results";
    case PartKind::image:
    case PartKind::document:
      return "images and documents";
    case PartKind::reasoning:
      return "reasoning";
    case PartKind::unknown:
      return "other";
    case PartKind::text:
      break;
  }
  switch (message.role) {
    case Role::system:
    case Role::developer:
      return "system and tool definitions";
    case Role::user:
      return "user texts";
    case Role::assistant:
      return "model texts";
    default:
      return "other";
  }
}

uint64_t scaled(uint64_t tokens, double ratio) {
  return static_cast<uint64_t>(static_cast<double>(tokens) * ratio);
}

Result<void> refuse(uint64_t index, std::string_view why) {
  return fail(Code::invalid_params,
              fmt::format("pinned: message {} cannot be pinned: {}", index, why));
}

}  // namespace

Result<void> check_pins(const WorkingList& list, std::span<const uint64_t> pinned,
                        const Room& room) {
  const std::vector<Message>& messages = list.conversation->messages;
  for (const uint64_t index : pinned) {
    if (index >= messages.size()) {
      return refuse(index, fmt::format("the list has {}", messages.size()));
    }
    if (is_model(messages[index])) return refuse(index, "it is the model's own");
    for (const Part& part : messages[index].parts) {
      if (part.kind == PartKind::tool_call || part.kind == PartKind::tool_result) {
        return refuse(index, "it holds a tool's call or result");
      }
    }
  }
  std::vector<uint64_t> sorted(pinned.begin(), pinned.end());
  std::ranges::sort(sorted);
  uint64_t tokens = 0;
  for (const auto* part : {&list.pins, &list.messages}) {
    for (const WorkingMessage& message : *part) {
      if (std::ranges::binary_search(sorted, message.index)) tokens += message.tokens;
    }
  }
  tokens = scaled(tokens, list.ratio);
  const uint64_t window = room.usable > 0 ? room.usable : room.trigger;
  const auto most = static_cast<uint64_t>(limits::kPinShare * static_cast<double>(window));
  if (tokens <= most) return {};
  return fail(Code::invalid_params,
              fmt::format("pinned: these messages take {} tokens, and {} at most may be pinned, a "
                          "quarter of the window",
                          tokens, most));
}

std::vector<std::pair<std::string, uint64_t>> what_fills(const WorkingList& list) {
  std::map<std::string, uint64_t> kinds;
  if (list.conversation != nullptr) {
    kinds["system and tool definitions"] += list.conversation->overhead_tokens;
  }
  kinds["summary"] += list.summary_tokens;
  for (const auto* part : {&list.pins, &list.messages}) {
    for (const WorkingMessage& message : *part) {
      uint64_t parts = 0;
      for (size_t p = 0; p < message.parts.size(); ++p) {
        parts += message.parts[p].tokens;
        kinds[kind_name(*message.message, message.message->parts[p])] += message.parts[p].tokens;
      }
      kinds["other"] += message.tokens - std::min(message.tokens, parts);
    }
  }
  std::vector<std::pair<std::string, uint64_t>> out;
  for (const auto& [name, tokens] : kinds) {
    if (const uint64_t counted = scaled(tokens, list.ratio)) out.emplace_back(name, counted);
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &std::pair<std::string, uint64_t>::second);
  return out;
}

}  // namespace ebla::context
