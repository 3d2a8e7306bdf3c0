#include "context/list/working_list.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace ebla::context {
namespace {

uint64_t sum_of(const std::vector<WorkingMessage>& messages) {
  uint64_t sum = 0;
  for (const WorkingMessage& message : messages) sum += message.tokens;
  return sum;
}

}  // namespace

uint64_t WorkingList::counted() const {
  const uint64_t raw = (conversation == nullptr ? 0 : conversation->overhead_tokens) +
                       sum_of(pins) + summary_tokens + sum_of(messages);
  const double scaled = std::ceil(static_cast<double>(raw) * ratio - 1e-6);
  const double total = scaled + static_cast<double>(correction);
  return total > 0 ? static_cast<uint64_t>(total) : 0;
}

void count_part(WorkingMessage& message, WorkingPart& part, uint64_t tokens) {
  message.tokens -= std::min(message.tokens, part.tokens);
  message.tokens += tokens;
  part.tokens = tokens;
}

void replace_part(WorkingMessage& message, size_t part, std::string text, std::string path,
                  uint64_t tokens) {
  WorkingPart& at = message.parts[part];
  at.replaced = true;
  at.text = std::move(text);
  at.path = std::move(path);
  count_part(message, at, tokens);
}

void replace_argument(WorkingMessage& message, size_t part, std::string_view argument,
                      std::string text, std::string path, uint64_t tokens) {
  WorkingPart& call = message.parts[part];
  const auto at = std::ranges::find(call.arguments, argument, &WorkingArgument::name);
  if (at == call.arguments.end()) return;
  at->replaced = true;
  at->text = std::move(text);
  at->path = std::move(path);
  const uint64_t without = call.tokens - std::min(call.tokens, at->facts.tokens);
  count_part(message, call, without + tokens);
}

void keep_part(WorkingMessage& message, size_t part, std::string_view argument) {
  WorkingPart& at = message.parts[part];
  if (argument.empty()) at.kept = true;
  for (WorkingArgument& each : at.arguments) {
    if (each.name == argument) each.kept = true;
  }
}

PassKey pass_key(const WorkingList& list, size_t cut) {
  PassKey key;
  if (cut == 0 || cut > list.messages.size()) return key;
  key.prefix = list.messages[cut - 1].chain;
  key.messages = list.messages[cut - 1].place + 1;
  key.pinned = list.pinned;
  for (size_t i = 0; i < cut; ++i) {
    if (list.messages[i].pinned) key.pinned.push_back(list.messages[i].place);
  }
  return key;
}

void cover(WorkingList& list, size_t cut, std::string summary, uint64_t tokens) {
  list.pinned = pass_key(list, cut).pinned;
  const auto end = list.messages.begin() + static_cast<std::ptrdiff_t>(cut);
  for (auto at = list.messages.begin(); at != end; ++at) {
    list.covered = at->index + 1;
    if (at->pinned) list.pins.push_back(std::move(*at));
  }
  list.messages.erase(list.messages.begin(), end);
  list.summary = std::move(summary);
  list.summary_tokens = tokens;
  list.carrier.reset();
  list.correction = 0;
}

}  // namespace ebla::context
