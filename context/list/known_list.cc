#include <algorithm>
#include <utility>

#include "context/formats/carried.h"
#include "context/item/item_limit.h"
#include "context/item/scan.h"
#include "context/list/known.h"
#include "context/list/turns.h"
#include "context/text/tokens.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

class OwnReaders {
 public:
  OwnReaders(const Conversation& conversation, ListInput::OwnReader own_reader)
      : conversation_(&conversation), own_reader_(std::move(own_reader)) {}

  bool operator()(const WorkingMessage& message, size_t part) const {
    const Part& result = message.message->parts[part];
    if (result.facts.bytes < limits::kItemBytes) return false;
    const std::vector<Message>& messages = conversation_->messages;
    const size_t at = part + parts_in_front(*conversation_, message);
    const PartAt* call = call_of(conversation_->pairing, {message.index, at});
    return own_reader_(result,
                       call == nullptr ? nullptr : &messages[call->message].parts[call->part]);
  }

 private:
  const Conversation* conversation_;
  ListInput::OwnReader own_reader_;
};

class Builder {
 public:
  explicit Builder(const ListInput& input)
      : in_(input),
        messages_(input.conversation->messages),
        chain_(*input.chain),
        caller_pins_(input.pinned.begin(), input.pinned.end()) {
    std::ranges::sort(caller_pins_);
  }

  WorkingList build();

 private:
  uint64_t rule_tokens(const PartFacts& facts) const {
    return tokens_of_sum(rule_sum(facts.characters, facts.class_sum, in_.settings->size_rule));
  }
  bool in_caller_pins(size_t index) const;
  bool stays_in_front(size_t index) const;
  void find_first_task();
  void mark_late(WorkingMessage& message, size_t before) const;
  WorkingMessage message(size_t index);
  WorkingPart part(const Part& part) const;
  void apply(const ListItem& item, const ItemAnswer& answer, WorkingMessage& message,
             size_t part) const;
  void apply(const EvictionOutcome& decision, WorkingMessage& message, size_t part) const;
  void apply_media(WorkingMessage& message, size_t before);

  const ListInput& in_;
  const std::vector<Message>& messages_;
  const Chain& chain_;
  std::vector<uint64_t> caller_pins_;
  size_t item_ = 0;  // first item of the next message that is built
  size_t medium_ = 0;
  std::optional<size_t> first_task_;
};

bool Builder::in_caller_pins(size_t index) const {
  const Message& message = messages_[index];
  return std::ranges::binary_search(caller_pins_, index) && !is_model(message) &&
         !has_tools(message);
}

// Of the messages that a pass covers.
bool Builder::stays_in_front(size_t index) const {
  if (index < chain_.lead) return true;
  if (chain_.carried != nullptr && index <= chain_.carrier) return index < chain_.carrier;
  return std::ranges::binary_search(in_.pass->pass->pinned, chain_.links[index].place) ||
         in_caller_pins(index);
}

void Builder::find_first_task() {
  for (size_t i = chain_.lead; i < messages_.size(); ++i) {
    if (chain_.carried != nullptr && i == chain_.carrier) return;
    if (!is_request(messages_[i])) continue;
    if (!in_caller_pins(i)) first_task_ = i;
    return;
  }
}

WorkingPart Builder::part(const Part& part) const {
  WorkingPart out;
  out.tokens = part.facts.tokens;
  out.original_tokens = rule_tokens(item_facts(part));
  if (!is_answer(part)) return out;
  out.never = in_.settings->never.contains(part.tool);
  out.always = in_.settings->always.contains(part.tool);
  return out;
}

void Builder::apply(const ListItem& item, const ItemAnswer& answer, WorkingMessage& message,
                    size_t part) const {
  WorkingPart& at = message.parts[part];
  if (!item.argument.empty()) {
    WorkingArgument& argument = at.arguments.emplace_back();
    argument.name = item.argument;
    argument.facts = item.facts;
    argument.original_tokens = rule_tokens(item.facts);
    if (answer.original) {
      argument.replaced = true;
      argument.path = answer.original->path;
      argument.original_tokens = answer.original->tokens;
    } else if (answer.decision) {
      argument.original_tokens = answer.decision->tokens;
      replace_argument(message, part, item.argument, answer.decision->replacement,
                       answer.decision->path, estimate_tokens(answer.decision->replacement));
    }
  } else if (answer.original) {
    at.replaced = true;
    at.path = answer.original->path;
    at.original_tokens = answer.original->tokens;
  } else if (answer.decision && !at.replaced) {
    // One that bears no id, as those of media once did, tells nothing of what is shown anew.
    const bool anew = item.query.kind == ArtifactKind::media && is_fresh(message, part);
    if (!anew) apply(*answer.decision, message, part);
  }
}

void Builder::apply(const EvictionOutcome& decision, WorkingMessage& message, size_t part) const {
  message.parts[part].original_tokens = decision.tokens;
  std::string text = standing_form(message.message->parts[part], decision.replacement);
  const uint64_t tokens = estimate_tokens(text);
  replace_part(message, part, std::move(text), decision.path, tokens);
}

// By their own decisions. `before`: as of mark_late().
void Builder::apply_media(WorkingMessage& message, size_t before) {
  while (medium_ < in_.media.size() && in_.media[medium_].message < message.index) ++medium_;
  for (; medium_ < in_.media.size() && in_.media[medium_].message == message.index; ++medium_) {
    const size_t part = in_.media[medium_].part - before;
    message.parts[part].medium = in_.media[medium_].id;
    if (in_.media_answers.empty()) continue;
    const auto& fresh = in_.media_answers[2 * medium_].decision;
    const auto& seen = in_.media_answers[2 * medium_ + 1].decision;
    if (fresh) {
      apply(*fresh, message, part);
    } else if (seen && !is_fresh(message, part)) {
      apply(*seen, message, part);
    }
  }
}

// Results, and the media among their blocks. `before`: parts of the client's message that stand in
// front of these.
void Builder::mark_late(WorkingMessage& message, size_t before) const {
  const std::vector<Part>& parts = message.message->parts;
  for (const PartAt& at : std::ranges::equal_range(in_.late, message.index, {}, &PartAt::message)) {
    if (at.part < before) continue;
    const size_t result = at.part - before;
    for (size_t p = result; p < parts.size() && stands_within(parts[p], parts[result]); ++p) {
      message.parts[p].late = true;
    }
  }
}

WorkingMessage Builder::message(size_t index) {
  const bool split = chain_.split && index == chain_.carrier;
  WorkingMessage out;
  out.message = split ? chain_.split.get() : &messages_[index];
  out.index = index;
  out.place = chain_.links[index].place;
  out.identity = chain_.links[index].identity;
  out.chain = chain_.links[index].chain;
  out.fresh = index >= chain_.fresh;
  out.tokens = out.message->tokens;
  const size_t before = split ? 1 : 0;  // parts that are the summary's
  for (size_t p = 0; p < out.message->parts.size(); ++p) {
    out.parts.push_back(part(out.message->parts[p]));
  }
  mark_late(out, before);
  apply_media(out, before);
  while (item_ < in_.items.size() && in_.items[item_].message < index) ++item_;
  for (; item_ < in_.items.size() && in_.items[item_].message == index; ++item_) {
    if (in_.items[item_].part < before) continue;
    apply(in_.items[item_], in_.answers[item_], out, in_.items[item_].part - before);
  }
  out.first_task = first_task_ == index;
  out.pinned = is_system(*out.message) || in_caller_pins(index);
  if (out.first_task && out.tokens <= limits::kFirstTaskTokens) out.pinned = true;
  return out;
}

WorkingList Builder::build() {
  find_first_task();
  WorkingList list;
  list.conversation = in_.conversation;
  list.ratio = in_.ratio;
  list.covered = chain_.lead;
  if (in_.own_reader) list.own_reader = OwnReaders(*in_.conversation, in_.own_reader);
  if (chain_.split) list.split.push_back(chain_.split);
  if (in_.pass) {
    list.covered = in_.pass->covered;
    list.pinned = in_.pass->pass->pinned;
    list.summary = in_.summary;
    list.summary_tokens = estimate_tokens(in_.summary);
    if (in_.pass->in_place) list.carrier = chain_.carrier;
  }
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (i >= list.covered) {
      list.messages.push_back(message(i));
    } else if (i < chain_.lead || (in_.pass && stays_in_front(i))) {
      list.pins.push_back(message(i));
      list.pins.back().pinned = true;
      const bool own_link = chain_.carried == nullptr || i > chain_.carrier;
      const uint64_t place = list.pins.back().place;
      if (i >= chain_.lead && own_link) list.pinned.push_back(place);
    }
  }
  std::ranges::sort(list.pinned);
  const auto twice = std::ranges::unique(list.pinned);
  list.pinned.erase(twice.begin(), twice.end());
  return list;
}

}  // namespace

WorkingList build_list(const ListInput& input) {
  return Builder(input).build();
}

}  // namespace ebla::context
