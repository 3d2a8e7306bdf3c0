#include "context/plan/equals.h"

#include <algorithm>

namespace ebla::context {
namespace {

ItemKey key_of(const Part& part, const WorkingPart& working) {
  const PartFacts& facts = item_facts(part);
  if (is_answer(part)) return {ArtifactKind::tool_result, part.call_id, facts.hash, facts.bytes};
  if (part.kind == PartKind::text) return {ArtifactKind::human, "", facts.hash, facts.bytes};
  return {ArtifactKind::media, working.medium, facts.hash, facts.bytes};
}

ItemKey key_of(const Part& call, const WorkingArgument& argument) {
  return {ArtifactKind::argument, call.call_id, argument.facts.hash, argument.facts.bytes};
}

// Whether decisions about the part as a whole are asked for at all.
bool is_item(const Message& message, const Part& part, const WorkingPart& working) {
  if (part.kind == PartKind::text) return message.role == Role::user;
  const bool media = part.kind == PartKind::image || part.kind == PartKind::document;
  return media ? !working.medium.empty() : is_answer(part);
}

}  // namespace

ItemKey key_of(const WorkingList& list, const ItemPlan& plan) {
  const WorkingMessage& message = (plan.pin ? list.pins : list.messages)[plan.message];
  const Part& part = message.message->parts[plan.part];
  const WorkingPart& working = message.parts[plan.part];
  if (plan.kind != ArtifactKind::argument) return key_of(part, working);
  const auto& arguments = working.arguments;
  const auto argument = std::ranges::find(arguments, plan.argument, &WorkingArgument::name);
  return argument == arguments.end() ? ItemKey{} : key_of(part, *argument);
}

Equals::Equals(const WorkingList& list) : list_(list) {
  add(list.pins, true);
  add(list.messages, false);
}

void Equals::add(const std::vector<WorkingMessage>& messages, bool pin) {
  for (size_t m = 0; m < messages.size(); ++m) {
    const Message& message = *messages[m].message;
    for (size_t p = 0; p < message.parts.size(); ++p) {
      const Part& part = message.parts[p];
      const WorkingPart& working = messages[m].parts[p];
      if (is_item(message, part, working) && !working.replaced) {
        places_[key_of(part, working)].push_back({pin, m, p, ""});
      }
      for (const WorkingArgument& argument : working.arguments) {
        if (argument.replaced) continue;
        places_[key_of(part, argument)].push_back({pin, m, p, argument.name});
      }
    }
  }
}

bool Equals::fresh(bool pin, size_t message, size_t part) const {
  return is_fresh((pin ? list_.pins : list_.messages)[message], part);
}

std::vector<ItemPlan> Equals::of(const ItemPlan& plan) const {
  std::vector<ItemPlan> plans;
  const auto found = places_.find(context::key_of(list_, plan));
  if (found == places_.end()) return plans;
  const bool seen = plan.kind == ArtifactKind::media && !fresh(plan.pin, plan.message, plan.part);
  for (const Place& place : found->second) {
    // What is decided about a medium once it was seen does not hold before.
    if (seen && fresh(place.pin, place.message, place.part)) continue;
    ItemPlan& at = plans.emplace_back(plan);
    at.pin = place.pin;
    at.message = place.message;
    at.part = place.part;
    at.argument = place.argument;
  }
  return plans;
}

}  // namespace ebla::context
