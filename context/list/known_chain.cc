#include <algorithm>
#include <unordered_map>
#include <utility>

#include "context/list/identity.h"
#include "context/list/known.h"
#include "context/list/turns.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

struct HashOf {
  size_t operator()(const Hash128& hash) const { return hash.low; }
};
using PassMap = std::unordered_map<Hash128, const Pass*, HashOf>;

PassMap passes_by(std::span<const Pass> passes, Hash128 Pass::* field) {
  PassMap map;
  for (const Pass& pass : passes) map[pass.*field] = &pass;  // ascending by id: the newest stays
  return map;
}

// A user's text may stand for a medium that became a link.
bool stands_for(ArtifactKind item, ArtifactKind original) {
  if (item == ArtifactKind::human) {
    return original == ArtifactKind::human || original == ArtifactKind::media;
  }
  const bool result = item == ArtifactKind::tool_result || item == ArtifactKind::old_result;
  return result ? original == ArtifactKind::tool_result || original == ArtifactKind::old_result
                : original == item;
}

// The items of one message with their answers.
struct Known {
  std::span<const ListItem> items;
  std::span<const ItemAnswer> answers;
  const HashOriginals* originals = nullptr;
};

void resolve_arguments(const Message& message, const Known& known, std::vector<Hash128>& hashes) {
  std::vector<OriginalArgument> found;
  for (size_t i = 0; i < known.items.size(); ++i) {
    const ListItem& item = known.items[i];
    if (!item.argument.empty() && known.answers[i].original &&
        stands_for(ArtifactKind::argument, known.answers[i].original->kind)) {
      found.push_back({item.argument, &*known.answers[i].original});
    }
    const bool last = i + 1 == known.items.size() || known.items[i + 1].part != item.part;
    if (last && !found.empty() && *known.originals) {
      hashes[item.part] = (*known.originals)(message.parts[item.part], found);
    }
    if (last) found.clear();
  }
}

// Around what a tool said stand the words that carry it on.
Hash128 resolved_hash(const Part& part, const Original& original, const HashOriginals& hash) {
  if (!part.carried || !hash) return original.hash;
  const OriginalArgument said{"", &original};
  return hash(part, {&said, 1});
}

std::vector<Hash128> part_hashes(const Message& message) {
  std::vector<Hash128> hashes;
  hashes.reserve(message.parts.size());
  for (const Part& part : message.parts) hashes.push_back(part.facts.hash);
  return hashes;
}

Hash128 resolved_identity(const Message& message, const Known& known) {
  const bool any = std::ranges::any_of(
      known.answers, [](const ItemAnswer& answer) { return answer.original.has_value(); });
  if (!any) return message.identity;
  Message whole = message;
  std::vector<Hash128> hashes = part_hashes(message);
  for (size_t i = 0; i < known.items.size(); ++i) {
    const std::optional<Original>& original = known.answers[i].original;
    const ListItem& item = known.items[i];
    if (!original || !item.argument.empty() || !stands_for(item.query.kind, original->kind)) {
      continue;
    }
    // A result is asked for twice, and what stands around it is read once.
    const bool again =
        i > 0 && known.items[i - 1].part == item.part && known.answers[i - 1].original;
    if (again) continue;
    hashes[item.part] = resolved_hash(message.parts[item.part], *original, *known.originals);
    if (original->kind == ArtifactKind::media) whole.parts[item.part].kind = PartKind::image;
  }
  resolve_arguments(message, known, hashes);
  return identity_of(whole, hashes);
}

// The summary message of a pass, or a user's message that begins with one.
const Pass* pass_carried(const Message& message, const PassMap& by_message,
                         std::shared_ptr<const Message>& rest) {
  if (message.role != Role::user || by_message.empty()) return nullptr;
  if (const auto whole = by_message.find(message.identity); whole != by_message.end()) {
    return whole->second;
  }
  if (message.parts.size() < 2 || message.parts.front().kind != PartKind::text) return nullptr;
  Message first = message;
  first.parts.resize(1);
  const auto found = by_message.find(identity_of(first, part_hashes(first)));
  if (found == by_message.end()) return nullptr;
  Message left = message;
  left.parts.erase(left.parts.begin());
  left.tokens -= std::min(left.tokens, message.parts.front().facts.tokens);
  left.identity = identity_of(left, part_hashes(left));
  rest = std::make_shared<const Message>(std::move(left));
  return found->second;
}

// The last summary message of ours with no model message before it: where a client replaced its
// list, only pins stand there. Elsewhere such a text is like any other.
void find_carrier(const Conversation& conversation, std::span<const Pass> passes, Chain& chain) {
  const PassMap by_message = passes_by(passes, &Pass::message_identity);
  for (size_t i = chain.lead; i < conversation.messages.size() && !by_message.empty(); ++i) {
    if (is_model(conversation.messages[i])) return;
    std::shared_ptr<const Message> rest;
    const Pass* pass = pass_carried(conversation.messages[i], by_message, rest);
    if (pass == nullptr) continue;
    chain.carried = pass;
    chain.carrier = i;
    chain.split = std::move(rest);
  }
}

void find_answers(const Conversation& conversation, Chain& chain) {
  for (const Pair& pair : conversation.pairing.pairs) {
    size_t& answered = chain.links[pair.call.message].answered;
    answered = std::max(answered, pair.result.message);
  }
  for (size_t i = 1; i < chain.links.size(); ++i) {
    chain.links[i].answered = std::max(chain.links[i].answered, chain.links[i - 1].answered);
  }
}

// Items of the split carrier, as parts of what is left of it.
std::vector<ListItem> moved_up(std::span<const ListItem> items) {
  std::vector<ListItem> moved(items.begin(), items.end());
  for (ListItem& item : moved) --item.part;
  return moved;
}

}  // namespace

std::vector<ListItem> list_items(const Conversation& conversation, const ReadArguments& arguments) {
  std::vector<ListItem> items;
  for (size_t m = 0; m < conversation.messages.size(); ++m) {
    const Message& message = conversation.messages[m];
    for (size_t p = 0; p < message.parts.size(); ++p) {
      const Part& part = message.parts[p];
      const PartFacts& own = item_facts(part);
      if (part.provider_side || own.bytes < limits::kItemBytes) continue;
      const auto add = [&](ArtifactKind kind, std::string_view id) {
        items.push_back({m, p, "", own, {kind, id, own.hash, own.bytes}});
      };
      if (is_answer(part)) {
        add(ArtifactKind::tool_result, part.call_id);
        add(ArtifactKind::old_result, part.call_id);
      } else if (part.kind == PartKind::text && message.role == Role::user) {
        add(ArtifactKind::human, "");
      } else if ((part.kind == PartKind::image || part.kind == PartKind::document) &&
                 !part.data.empty() && !part.immovable) {
        add(ArtifactKind::media, "");
      } else if (part.kind == PartKind::tool_call && arguments) {
        for (ArgumentFacts& each : arguments(part)) {
          const PartFacts facts = each.facts;
          if (each.name.empty() || facts.bytes < limits::kItemBytes) continue;
          items.push_back({m,
                           p,
                           std::move(each.name),
                           facts,
                           {ArtifactKind::argument, part.call_id, facts.hash, facts.bytes}});
        }
      }
    }
  }
  return items;
}

std::vector<ItemQuery> item_queries(std::span<const ListItem> items) {
  std::vector<ItemQuery> queries;
  queries.reserve(items.size());
  for (const ListItem& item : items) queries.push_back(item.query);
  return queries;
}

Chain chain_of(const Conversation& conversation, std::span<const ListItem> items,
               std::span<const ItemAnswer> answers, std::span<const Pass> passes,
               const HashOriginals& originals) {
  const std::vector<Message>& messages = conversation.messages;
  Chain chain;
  while (chain.lead < messages.size() && is_system(messages[chain.lead])) ++chain.lead;
  chain.fresh = std::max(chain.lead, first_fresh(conversation));
  chain.needed = first_needed(conversation);
  find_carrier(conversation, passes, chain);

  chain.links.resize(messages.size());
  find_answers(conversation, chain);
  Hash128 hash = chain_start();
  uint64_t place = 0;
  size_t from = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    size_t to = from;
    while (to < items.size() && items[to].message == i) ++to;
    const auto own = items.subspan(from, to - from);
    Known known{own, answers.subspan(from, to - from), &originals};
    from = to;
    Link& link = chain.links[i];
    const bool carrier = chain.carried != nullptr && i == chain.carrier;
    if (carrier) {
      hash = chain.carried->prefix;
      place = chain.carried->messages;
    }
    std::vector<ListItem> moved;
    if (carrier && chain.split) {
      size_t of_summary = 0;
      while (of_summary < own.size() && own[of_summary].part == 0) ++of_summary;
      moved = moved_up(own.subspan(of_summary));
      known = {moved, known.answers.subspan(of_summary), &originals};
    }
    link.identity = resolved_identity(carrier && chain.split ? *chain.split : messages[i], known);
    if (i >= chain.lead && (!carrier || chain.split)) {
      hash = chain_next(hash, link.identity);
      ++place;
    }
    link.chain = hash;
    link.place = place == 0 ? 0 : place - 1;
  }
  return chain;
}

std::optional<KnownPass> find_pass(const Chain& chain, std::span<const Pass> passes) {
  const PassMap by_prefix = passes_by(passes, &Pass::prefix);
  const bool carried = chain.carried != nullptr;
  const size_t first = carried ? chain.carrier + (chain.split ? 0 : 1) : chain.lead;
  for (size_t i = chain.needed; i > first && !by_prefix.empty(); --i) {
    const auto found = by_prefix.find(chain.links[i - 1].chain);
    if (found == by_prefix.end() || chain.links[i - 1].answered >= i) continue;
    return KnownPass{found->second, i, false};
  }
  if (!carried) return std::nullopt;
  return KnownPass{chain.carried, chain.carrier + (chain.split ? 0 : 1), true};
}

}  // namespace ebla::context
