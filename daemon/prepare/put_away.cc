#include "daemon/prepare/put_away.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <unordered_set>
#include <vector>

#include "context/formats/carried.h"
#include "context/item/evict.h"
#include "context/item/names.h"
#include "context/list/known.h"
#include "context/list/marks.h"
#include "context/list/own_file.h"
#include "context/plan/equals.h"
#include "context/text/tokens.h"
#include "daemon/content_intake.h"
#include "daemon/prepare/known.h"
#include "daemon/session_service.h"
#include "daemon/wait_for.h"

namespace ebla::daemon {
namespace {

using context::ItemPlan;
using context::NamedText;
using context::Part;
using context::WorkingMessage;

constexpr size_t kExtensionBytes = 8;
// What stands for the call's id where a medium is filed for a history. Nothing in a list is asked
// for under it: the same picture, shown again later, stays in the list.
constexpr std::string_view kForHistory = "history";

// An item on its way into the store.
struct Item {
  ItemPlan plan;
  EvictionPlan eviction;
  Change<EvictionOutcome> change;
  std::string own_file;  // of an argument: the file that its tool wrote, "" none
};

WorkingMessage& message_of(context::WorkingList& list, const ItemPlan& plan) {
  return (plan.pin ? list.pins : list.messages)[plan.message];
}
const WorkingMessage& message_of(const context::WorkingList& list, const ItemPlan& plan) {
  return (plan.pin ? list.pins : list.messages)[plan.message];
}
const Part& part_of(const Work& work, const ItemPlan& plan) {
  return message_of(work.list, plan).message->parts[plan.part];
}

// The bytes that leave the list.
Result<std::string> content_of(const Work& work, const ItemPlan& plan) {
  const Part& part = part_of(work, plan);
  if (plan.kind == ArtifactKind::media) return context::media_bytes(work.body(), part);
  if (plan.kind != ArtifactKind::argument) {
    std::string text = context::text_of(work.body(), part);
    if (!part.carried) return text;
    const auto carried = context::read_carried(text);
    return carried ? std::string(carried->said) : text;
  }
  for (context::StringArgument& argument : context::string_arguments(work.body(), part)) {
    if (argument.name == plan.argument) return std::move(argument.text);
  }
  return fail(Code::internal_error, "a planned argument is not there");
}

// The call that a result answers: ids may be used again, so the newest one before it.
const Part* call_of(const Work& work, const ItemPlan& plan) {
  const Part& result = part_of(work, plan);
  for (size_t m = plan.pin ? 0 : plan.message; m-- > 0;) {
    for (const Part& part : work.list.messages[m].message->parts) {
      const bool call = part.kind == context::PartKind::tool_call;
      if (call && part.call_id == result.call_id && part.number == result.number) return &part;
    }
  }
  return nullptr;
}

// ".png" of "image/png"; only what a name may hold.
std::string media_extension(std::string_view media_type) {
  std::string_view kind = media_type.substr(media_type.find('/') + 1);
  kind = kind.substr(0, kind.find_first_of("+;"));
  if (kind == "jpeg") kind = "jpg";
  const bool plain =
      !kind.empty() && kind.size() <= kExtensionBytes &&
      std::ranges::all_of(kind, [](unsigned char c) { return std::isalnum(c) != 0; });
  return plain ? fmt::format(".{}", kind) : ".bin";
}

// Where files of this kind lie, as the agent sees it.
NamedText place_of(const Work& work, ArtifactKind kind, EvictionPlan& eviction) {
  const std::string folder = context::artifact_folder(kind, work.session().id);
  const context::Location location = location_of(work.services, work.session(), folder);
  eviction.path_prefix = location.prefix;
  eviction.path_subtree = location.subtree;
  return context::path_in(location.prefix.empty() ? folder : location.host_path(folder));
}

// Marks, stubs and links; nullopt: it would not halve the item.
std::optional<EvictionPlan> short_text(const Work& work, const Item& item,
                                       const context::ContentScan& scan, const std::string& text) {
  const Part& part = part_of(work, item.plan);
  EvictionPlan eviction;
  eviction.tokens = item.plan.kind == ArtifactKind::media
                        ? part.facts.tokens  // as the provider counts it, not by its bytes
                        : context::tokens_of_sum(scan.sums().class_sum);
  const NamedText place = place_of(work, item.plan.kind, eviction);
  NamedText standing;
  bool must_halve = true;
  switch (item.plan.kind) {
    case ArtifactKind::argument:
      standing = context::argument_mark(
          scan.sums().characters,
          item.own_file.empty() ? place : context::known_path(item.own_file));
      break;
    case ArtifactKind::old_result:
      standing = context::old_result_stub(part.tool, eviction.tokens, place, text);
      break;
    case ArtifactKind::media:
      standing = context::media_link(part.media_type, text.size(), place);
      must_halve = false;
      break;
    default: {
      const Part* call = call_of(work, item.plan);
      standing.text(context::reader_clip(
          text, call == nullptr
                    ? ""
                    : context::named_path(context::string_arguments(work.body(), *call))));
    }
  }
  eviction.stem = context::file_stem(item.plan.kind, part.call_id, scan.hash());
  eviction.extension = context::file_extension(item.plan.kind);
  if (item.plan.kind == ArtifactKind::media) {
    eviction.extension = media_extension(part.media_type);
  }
  const std::string sample = standing.joined(eviction.stem + eviction.extension);
  eviction.tokens_after = context::tokens_of_sum(context::measure(sample).class_sum);
  if (must_halve && !context::halves(eviction.tokens, eviction.tokens_after)) return std::nullopt;
  eviction.replacement_parts = standing.parts();
  return eviction;
}

// Notice and preview, by the rules of `evict`.
std::optional<EvictionPlan> noticed(const Work& work, const Item& item,
                                    const context::ContentScan& scan) {
  const Part& part = part_of(work, item.plan);
  context::EvictRequest request;
  request.kind = item.plan.kind;
  request.call_id = item.plan.kind == ArtifactKind::human ? std::string() : part.call_id;
  request.tool = part.tool;
  request.force = true;
  context::EvictContext context;
  context.session = work.session().serial;
  context.session_id = work.session().id;
  context.window = work.room.usable;
  context.settings = work.settings();
  context.doors = work.asked.doors;
  context.location = location_of(work.services, work.session(),
                                 context::artifact_folder(item.plan.kind, work.session().id));
  auto decision = context::plan_eviction(scan, request, context);
  if (!decision.evict) return std::nullopt;
  return std::move(decision.plan);
}

// Whether the result of a reader is cut short instead of being noticed.
bool clips_reader(const Work& work, const ItemPlan& plan) {
  return plan.kind == ArtifactKind::tool_result &&
         work.list.is_reader(message_of(work.list, plan), plan.part);
}

// What stands for the call's id in the decision.
std::string decision_id(const Work& work, const ItemPlan& plan) {
  const WorkingMessage& message = message_of(work.list, plan);
  if (plan.kind == ArtifactKind::human) return {};
  if (plan.kind != ArtifactKind::media) return message.message->parts[plan.part].call_id;
  const std::string& medium = message.parts[plan.part].medium;
  return context::is_fresh(message, plan.part) ? context::fresh_medium_id(medium) : medium;
}

// Reads the item and says what shall stand in its place; false: it stays. In a dry run nothing is
// staged.
Result<bool> ready(Work& work, Item& item) {
  auto text = content_of(work, item.plan);
  if (!text) return std::unexpected(text.error());
  const Part& part = part_of(work, item.plan);
  const auto options = context::scan_options(item.plan.kind, work.settings());
  context::ContentScan scan(options);
  ContentRef content;
  if (work.request().dry_run) {
    scan.feed(*text);
    scan.finish();
  } else {
    ContentSource source;
    source.bytes = *text;
    auto intake = take_in(work.services.store, source, options);
    if (!intake) return std::unexpected(intake.error());
    scan = std::move(intake->scan);
    content = std::move(intake->content);
  }
  const bool notice =
      (item.plan.kind == ArtifactKind::tool_result || item.plan.kind == ArtifactKind::human) &&
      !clips_reader(work, item.plan);
  auto eviction = notice ? noticed(work, item, scan) : short_text(work, item, scan, *text);
  if (!eviction) {
    discard(work.services.store, content);
    return false;
  }
  item.eviction = *std::move(eviction);
  item.eviction.session = work.session().serial;
  item.eviction.kind = item.plan.kind;
  item.eviction.call_id = decision_id(work, item.plan);
  item.eviction.tool = part.tool;
  item.eviction.uid = work.asked.uid;
  item.eviction.gid = work.asked.gid;
  item.eviction.characters = scan.sums().characters;
  item.eviction.lines = scan.sums().lines;
  item.eviction.content = std::move(content);
  return true;
}

void begin(Work& work, Item& item) {
  work.services.store.commit_eviction(item.eviction, durable_change(limits::kStoreWaitMs),
                                      item.change.completion(work.services));
}

// Where the client has it: results that are carried on stood elsewhere.
size_t sent_index(const Work& work, const WorkingMessage& message, const Part& part) {
  for (const context::PartAt& stray : work.strays) {
    const Part& sent = work.sent.conversation->messages[stray.message].parts[stray.part];
    if (part.carried && sent.facts.hash == part.carried->facts.hash) return stray.message;
  }
  return work.sent_index(message);
}

void note(Work& work, const Item& item, const ItemPlan& at, std::string path) {
  const WorkingMessage& message = message_of(work.list, at);
  const Part& part = message.message->parts[at.part];
  Action action{.what = artifact_kind_name(at.kind), .index = sent_index(work, message, part)};
  action.id = part.call_id;
  action.tool = part.tool;
  action.path = std::move(path);
  action.reason = at.reason;
  action.tokens_before = item.eviction.tokens;
  action.tokens_after = item.eviction.tokens_after;
  work.actions.push_back(std::move(action));
}

void apply_at(Work& work, const Item& item, const ItemPlan& at, const std::string& replacement,
              const std::string& path) {
  WorkingMessage& message = message_of(work.list, at);
  std::string text = context::standing_form(message.message->parts[at.part], replacement);
  const uint64_t tokens = context::estimate_tokens(text);
  note(work, item, at, path);
  if (at.kind == ArtifactKind::argument) {
    context::replace_argument(message, at.part, at.argument, std::move(text), path, tokens);
    recount_call(work, message, at.part);
  } else {
    context::replace_part(message, at.part, std::move(text), path, tokens);
  }
}

// A decision is found by its content, by the next call too: whatever equals the item goes with it.
void apply(Work& work, const Item& item, const context::Equals& equals,
           const std::string& replacement, const std::string& path) {
  for (const ItemPlan& at : equals.of(item.plan)) apply_at(work, item, at, replacement, path);
}

void apply_dry(Work& work, const Item& item, const context::Equals& equals) {
  NamedText text;
  for (size_t i = 0; i < item.eviction.replacement_parts.size(); ++i) {
    if (i > 0) text.name();
    text.text(item.eviction.replacement_parts[i]);
  }
  apply(work, item, equals, text.joined(item.eviction.stem + item.eviction.extension), "");
}

void count(Services& services, const EvictionOutcome& outcome, const Item& item) {
  if (outcome.known) return;
  PrepareCounters& counters = services.prepares;
  ++counters.items;
  counters.item_tokens_in += item.eviction.tokens;
  counters.item_tokens_out += item.eviction.tokens_after;
}

// Waits for what was begun: `stored` gets each item that is committed.
void settle(Work& work, std::span<Item> items,
            const std::function<void(const Item& item, EvictionOutcome outcome)>& stored) {
  std::vector<ChangeSet> changes;
  Deadline patience = store_patience();
  for (Item& item : items) {
    auto outcome = item.change.wait_until(patience, changes);
    if (!outcome) {
      // Of one that may still be made nothing is taken away.
      if (outcome.error().code != Code::unavailable) {
        discard(work.services.store, item.eviction.content);
      }
      work.degrade(std::move(outcome.error()));
      continue;
    }
    patience = store_patience();
    stored(item, *std::move(outcome));
  }
  tell_mounts(work.services, changes);
}

// The file as the agent sees it, else its path in the tree.
std::string shown_path(const Work& work, const std::string& path) {
  std::string host = host_path_of(work.services, work.session(), path);
  return host.empty() ? path : host;
}

std::string own_file(const Work& work, const ItemPlan& plan,
                     std::optional<context::OwnFiles>& files) {
  if (!files) {
    files.emplace(work.body(), *work.current.conversation, [&](const std::string& tool) {
      return work.settings().argument_tools.contains(tool);
    });
  }
  return files->of(message_of(work.list, plan).index, plan.part, plan.argument);
}

}  // namespace

void put_away(Work& work, std::span<const ItemPlan> plans) {
  if (work.stopped() || plans.empty()) return;
  std::vector<Item> items;
  items.reserve(plans.size());
  const context::Equals equals(work.list);
  std::unordered_set<context::ItemKey, context::ItemKeyHash> going;
  std::optional<context::OwnFiles> files;  // read once, if an argument goes
  for (const ItemPlan& plan : plans) {
    if (plan.kind == ArtifactKind::media && part_of(work, plan).immovable) {
      context::keep_part(message_of(work.list, plan), plan.part, plan.argument);
      continue;
    }
    const context::ItemKey key = context::key_of(work.list, plan);
    if (going.contains(key)) continue;
    Item item{plan, {}, {}, {}};
    if (plan.kind == ArtifactKind::argument) item.own_file = own_file(work, plan, files);
    auto goes = ready(work, item);
    if (!goes && goes.error().code != Code::invalid_params) {
      work.degrade(std::move(goes.error()));
      break;
    }
    if (!goes || !*goes) {
      context::keep_part(message_of(work.list, plan), plan.part, plan.argument);
      continue;
    }
    if (work.request().dry_run) {
      apply_dry(work, item, equals);
      going.insert(key);
      continue;
    }
    begin(work, item);
    going.insert(key);
    items.push_back(std::move(item));
  }
  settle(work, items, [&](const Item& item, EvictionOutcome outcome) {
    count(work.services, outcome, item);
    work.newest = std::max(work.newest, outcome.id);
    work.services.proven.raise(outcome.id);
    apply(work, item, equals, outcome.replacement, outcome.path);
  });
}

void carry_out(Work& work, const std::function<std::vector<ItemPlan>()>& plan) {
  while (!work.stopped()) {
    const auto items = plan();
    if (items.empty()) return;
    put_away(work, items);
  }
}

bool file_media(Work& work, size_t cut, MediaLinks& links) {
  std::vector<Item> items;
  for (size_t i = 0; i < cut; ++i) {
    const WorkingMessage& message = work.list.messages[i];
    for (size_t p = 0; p < message.parts.size(); ++p) {
      const Part& part = message.message->parts[p];
      const bool medium =
          part.kind == context::PartKind::image || part.kind == context::PartKind::document;
      if (!medium || part.data.empty()) continue;
      if (message.parts[p].replaced) {
        links[{message.index, p}] = shown_path(work, message.parts[p].path);
        continue;
      }
      Item item{{.message = i, .part = p, .kind = ArtifactKind::media, .argument = {}}, {}, {}, {}};
      auto goes = ready(work, item);
      // Data that is no base64 stays in the section as it is.
      if (!goes && goes.error().code == Code::invalid_params) continue;
      if (!goes) {
        work.degrade(std::move(goes.error()));
        break;
      }
      item.eviction.call_id = kForHistory;
      begin(work, item);
      items.push_back(std::move(item));
    }
  }
  settle(work, items, [&](const Item& item, const EvictionOutcome& outcome) {
    const size_t index = message_of(work.list, item.plan).index;
    links[{index, item.plan.part}] = shown_path(work, outcome.path);
  });
  return !work.degraded;
}

}  // namespace ebla::daemon
