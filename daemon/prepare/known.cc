#include "daemon/prepare/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "context/formats/carried.h"
#include "context/list/identity.h"
#include "context/list/known.h"
#include "context/list/own_file.h"
#include "context/list/part_text.h"
#include "context/text/tokens.h"
#include "daemon/prepare/replay.h"
#include "daemon/prepare/stored_text.h"
#include "daemon/tree_paths.h"
#include "schema/base/json.h"

namespace ebla::daemon {
namespace {

using context::Part;

std::vector<context::ArgumentFacts> measured_arguments(std::string_view body, const Part& call) {
  std::vector<context::ArgumentFacts> facts;
  for (const context::StringArgument& argument : context::string_arguments(body, call)) {
    facts.push_back({argument.name, context::measure_part(argument.text)});
  }
  return facts;
}

// One that was removed makes the message one that was not seen before.
std::optional<std::string> original_text(Work& work, const Original& original) {
  auto text = stored_text(work.services.store, original.path, original.size);
  if (text) return *std::move(text);
  if (text.error().code != Code::file_not_found) work.degrade(std::move(text.error()));
  return std::nullopt;
}

// The part with the originals in place of what arrived replaced, as it was hashed when the client
// had it whole.
Hash128 hash_with_originals(Work& work, const Part& part,
                            std::span<const context::OriginalArgument> originals) {
  if (part.carried) {
    const auto said = original_text(work, *originals.front().original);
    return said ? xxh3_128(context::standing_form(part, *said)) : part.facts.hash;
  }
  const Json arguments = context::arguments_value(work.body(), part);
  JsonWriter out;
  out.begin_object();
  for (const auto& [name, value] : arguments.members) {
    const auto at = std::ranges::find(originals, name, &context::OriginalArgument::name);
    out.key(name);
    if (at == originals.end()) {
      out.raw(to_json(value));
      continue;
    }
    const auto text = original_text(work, *at->original);
    if (!text) return part.facts.hash;
    out.string(*text);
  }
  return xxh3_128(context::canonical_json(out.end_object().take()));
}

// The arguments as they stand now, counted as whoever gets them back will count them.
uint64_t standing_tokens(const Work& work, const Part& call, const context::WorkingPart& working) {
  const Json arguments = context::arguments_value(work.body(), call);
  JsonWriter out;
  out.begin_object();
  for (const auto& [name, value] : arguments.members) {
    const auto at = std::ranges::find(working.arguments, name, &context::WorkingArgument::name);
    out.key(name);
    if (at != working.arguments.end() && !at->text.empty()) {
      out.string(at->text);
    } else {
      out.raw(to_json(value));
    }
  }
  return context::estimate_tokens(context::canonical_json(out.end_object().take()));
}

bool own_reader(const Work& work, const Part& result, const Part* call,
                std::optional<std::vector<PathAlias>>& aliases) {
  const std::string& tool = result.tool;
  const context::Doors& doors = work.asked.doors;
  if (!tool.empty() && (tool == doors.read_tool || tool == doors.grep_tool)) return true;
  // A small result needs no exemption.
  if (call == nullptr || result.facts.tokens <= limits::kOldResultTokens) return false;
  // Most calls name no path: they need not be read.
  if (!context::may_name_path(call->arguments.of(work.body()))) return false;
  for (const context::StringArgument& argument : context::string_arguments(work.body(), *call)) {
    if (!context::is_path_name(argument.name)) continue;
    if (!aliases) aliases = work.services.store.path_aliases().value_or(std::vector<PathAlias>());
    if (lies_in_tree(work.services, argument.text, work.session(), *aliases)) return true;
  }
  return false;
}

// The caller's pins as indexes of the repaired list.
std::vector<uint64_t> pins_of(const Work& work) {
  std::vector<uint64_t> pins;
  for (const size_t index : work.request().pinned) {
    if (const auto place = work.draft.place(index)) pins.push_back(*place);
  }
  return pins;
}

// What the store knows; empty where it cannot say.
struct Knowledge {
  std::vector<ItemAnswer> answers;
  std::vector<Pass> passes;
};

Knowledge ask(Work& work, std::span<const context::ListItem> items) {
  Knowledge known;
  known.answers.resize(items.size());
  if (work.session().serial == 0) return known;
  auto answers = find_items(work, context::item_queries(items));
  auto passes = work.services.store.passes(work.session().tree, 0);
  if (answers && passes) {
    known.answers = *std::move(answers);
    known.passes = *std::move(passes);
    return known;
  }
  work.degrade(answers ? passes.error() : answers.error());
  return known;
}

// What was decided after this very list was answered does not change it.
uint64_t horizon_of(const Work& work) {
  return work.replay ? std::min(work.horizon, work.replay->newest) : work.horizon;
}

// What became of the images and documents.
std::vector<ItemAnswer> ask_media(Work& work, std::span<const context::ListMedium> media) {
  if (media.empty() || work.session().serial == 0) return {};
  auto answers = find_items(work, context::media_queries(media));
  if (answers) return *std::move(answers);
  work.degrade(std::move(answers.error()));
  return {};
}

void forget_later(Work& work, std::vector<ItemAnswer>& answers) {
  for (ItemAnswer& answer : answers) {
    if (answer.decision && answer.decision->id > horizon_of(work)) answer.decision.reset();
    if (answer.decision) work.newest = std::max(work.newest, answer.decision->id);
  }
}

std::span<const Pass> passes_of(const Work& work, const Knowledge& known) {
  std::span<const Pass> passes = known.passes;  // ascending by id
  while (!passes.empty() && passes.back().id > horizon_of(work)) {
    passes = passes.first(passes.size() - 1);
  }
  return passes;
}

void count_known(Work& work) {
  work.known_items = 0;
  const auto count = [&](const std::vector<context::WorkingMessage>& messages) {
    for (const context::WorkingMessage& message : messages) {
      for (const context::WorkingPart& part : message.parts) {
        work.known_items += part.replaced ? 1 : 0;
        for (const context::WorkingArgument& argument : part.arguments) {
          work.known_items += argument.replaced ? 1 : 0;
        }
      }
    }
  };
  count(work.list.pins);
  count(work.list.messages);
}

}  // namespace

void recount_call(const Work& work, context::WorkingMessage& message, size_t part) {
  const Part& call = message.message->parts[part];
  context::WorkingPart& working = message.parts[part];
  const bool replaced =
      std::ranges::any_of(working.arguments, [](const context::WorkingArgument& argument) {
        return argument.replaced && !argument.text.empty();
      });
  if (!replaced || call.free_form) return;
  context::count_part(message, working, standing_tokens(work, call, working));
}

Result<std::vector<ItemAnswer>> find_items(const Work& work, std::span<const ItemQuery> queries) {
  if (work.session().serial == 0) return std::vector<ItemAnswer>(queries.size());
  return work.services.store.find_items(work.session().tree, queries);
}

Result<void> apply_known(Work& work) {
  const context::Conversation& conversation = *work.current.conversation;
  const auto items = context::list_items(
      conversation, [&](const Part& call) { return measured_arguments(work.body(), call); });
  Knowledge known = ask(work, items);
  context::Chain chain = context::chain_of(
      conversation, items, known.answers, known.passes,
      [&](const Part& part, std::span<const context::OriginalArgument> originals) {
        return hash_with_originals(work, part, originals);
      });
  if (!work.late.empty()) chain.needed = std::min(chain.needed, work.late.front().message);
  if (!chain.links.empty()) work.chain = chain.links.back().chain;
  work.replay = find_replay(work);
  const auto media = context::list_media(conversation, chain);
  auto media_answers = ask_media(work, media);
  forget_later(work, known.answers);
  forget_later(work, media_answers);
  context::ListInput input;
  input.conversation = &conversation;
  input.settings = &work.settings();
  input.items = items;
  input.answers = known.answers;
  input.chain = &chain;
  input.media = media;
  input.media_answers = media_answers;
  if (!conversation.partial && !work.whole) {
    input.pass = context::find_pass(chain, passes_of(work, known));
  }
  if (input.pass) {
    auto message = work.services.store.pass_message(input.pass->pass->id);
    if (message) {
      input.summary = *std::move(message);
      work.known_messages = input.pass->pass->messages;
      work.known_pass = input.pass->pass->id;
      work.newest = std::max(work.newest, work.known_pass);
    } else {
      work.degrade(std::move(message.error()));
      input.pass.reset();
    }
  }
  const std::vector<uint64_t> pins = pins_of(work);
  input.pinned = pins;
  input.late = work.late;
  // The aliases are read once, if a path is asked for.
  input.own_reader = [&work, aliases = std::optional<std::vector<PathAlias>>()](
                         const Part& result, const Part* call) mutable {
    return own_reader(work, result, call, aliases);
  };
  work.list = context::build_list(input);
  for (auto* messages : {&work.list.pins, &work.list.messages}) {
    for (context::WorkingMessage& message : *messages) {
      for (size_t p = 0; p < message.parts.size(); ++p) recount_call(work, message, p);
    }
  }
  count_known(work);
  return {};
}

}  // namespace ebla::daemon
