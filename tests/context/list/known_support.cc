#include "tests/context/list/known_support.h"

#include "context/formats/pairs.h"
#include "context/list/identity.h"

namespace ebla::context {
namespace {

Hash128 identity(const Message& message) {
  std::vector<Hash128> hashes;
  for (const Part& part : message.parts) hashes.push_back(part.facts.hash);
  return identity_of(message, hashes);
}

PartFacts facts_of_text(std::string_view text) {
  PartFacts facts = facts_of(text, estimate_tokens(text));
  facts.bytes = facts.characters = facts.class_sum = text.size();
  return facts;
}

}  // namespace

void FakeStore::original(std::string_view text, ArtifactKind kind, const Part& part) {
  originals_[xxh3_128(text)] = {
      kind, part.call_id, part.facts.hash, part.facts.bytes, part.facts.class_sum / 4, "/original"};
}

void FakeStore::decision(ArtifactKind kind, std::string_view call_id, const PartFacts& facts,
                         std::string replacement) {
  EvictionOutcome outcome;
  outcome.path = "/stored";
  outcome.tokens = facts.class_sum / 4;
  outcome.replacement = std::move(replacement);
  Part part;
  part.call_id = call_id;
  part.facts = facts;
  original(outcome.replacement, kind, part);
  decisions_[{kind, std::string(call_id), facts.hash}] = std::move(outcome);
}

void FakeStore::pass(const PassKey& key, std::string_view summary) {
  Pass pass;
  pass.id = passes_.size() + 1;
  pass.prefix = key.prefix;
  pass.messages = key.messages;
  pass.pinned = key.pinned;
  pass.message_identity = summary_carrier(summary).identity;
  messages_[pass.id] = summary;
  passes_.push_back(std::move(pass));
}

std::vector<ItemAnswer> FakeStore::find(std::span<const ItemQuery> queries) const {
  std::vector<ItemAnswer> answers;
  for (const ItemQuery& query : queries) {
    ItemAnswer& answer = answers.emplace_back();
    const auto stands = originals_.find(query.hash);
    if (stands != originals_.end()) answer.original = stands->second;
    const auto decided = decisions_.find({query.kind, std::string(query.call_id), query.hash});
    if (decided != decisions_.end()) answer.decision = decided->second;
  }
  return answers;
}

WorkingList FakeStore::list(const Conversation& conversation,
                            const std::vector<uint64_t>& pinned) const {
  const auto items = list_items(conversation, arguments);
  const auto answers = find(item_queries(items));
  const Chain chain = chain_of(conversation, items, answers, passes_, originals);
  const auto media = list_media(conversation, chain);
  const auto media_answers = find(media_queries(media));
  ListInput input;
  input.conversation = &conversation;
  input.settings = &settings;
  input.items = items;
  input.answers = answers;
  input.chain = &chain;
  input.media = media;
  input.media_answers = media_answers;
  input.pass = find_pass(chain, passes_);
  if (input.pass) input.summary = messages_.at(input.pass->pass->id);
  input.pinned = pinned;
  input.own_reader = own_reader;
  return build_list(input);
}

Conversation with_text(Conversation conversation, size_t message, std::string_view text,
                       uint64_t tokens) {
  Message& changed = conversation.messages[message];
  changed.tokens -= changed.parts[0].facts.tokens;
  changed.parts[0].facts = facts_of(text, tokens);
  changed.tokens += tokens;
  changed.identity = identity(changed);
  return conversation;
}

Message summary_carrier(std::string_view summary) {
  Message message;
  message.role = Role::user;
  message.parts.emplace_back().facts = facts_of_text(summary);
  message.tokens = message.parts[0].facts.tokens;
  message.identity = identity(message);
  return message;
}

Conversation as_replaced(const WorkingList& list) {
  Conversation out;
  out.overhead_tokens = list.conversation->overhead_tokens;
  const auto add = [&](const WorkingMessage& working) {
    Message message = *working.message;
    for (size_t p = 0; p < working.parts.size(); ++p) {
      if (!working.parts[p].text.empty()) {
        message.parts[p].facts = facts_of_text(working.parts[p].text);
      }
    }
    message.tokens = working.tokens;
    message.identity = identity(message);
    out.messages.push_back(std::move(message));
  };
  for (const WorkingMessage& pin : list.pins) add(pin);
  if (!list.summary.empty()) out.messages.push_back(summary_carrier(list.summary));
  for (const WorkingMessage& message : list.messages) add(message);
  out.pairing = pair_calls(out);
  return out;
}

}  // namespace ebla::context
