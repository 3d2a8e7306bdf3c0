#include "context/item/evict.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "daemon/content_intake.h"
#include "daemon/content_source.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/session_service.h"
#include "daemon/tree_paths.h"

namespace ebla::daemon::methods {
namespace {

constexpr int64_t kLimitTokens = 1'000'000'000;

// A call as far as it has come.
struct Eviction {
  MethodCall call;
  Session session;
  context::EvictRequest request;
  context::EvictContext context;
  ContentSource source;
};

Result<ArtifactKind> kind_param(const MethodCall& call) {
  const Json* kind = call.param("kind");
  if (kind == nullptr || kind->text == artifact_kind_name(ArtifactKind::tool_result)) {
    return ArtifactKind::tool_result;
  }
  if (kind->text == artifact_kind_name(ArtifactKind::human)) return ArtifactKind::human;
  return fail(Code::invalid_params,
              fmt::format("kind: {} is neither tool_result nor human", printable(kind->text)));
}

Result<context::EvictRequest> read_request(const MethodCall& call) {
  auto kind = kind_param(call);
  if (!kind) return std::unexpected(kind.error());
  auto id = text_param(call, "id", limits::kCallIdBytes);
  if (!id) return std::unexpected(id.error());
  auto tool = text_param(call, "tool", limits::kToolNameBytes);
  if (!tool) return std::unexpected(tool.error());
  auto limit = integer_param(call, "limit_tokens", 0, 1, kLimitTokens);
  if (!limit) return std::unexpected(limit.error());
  context::EvictRequest request;
  request.kind = *kind;
  request.call_id = *std::move(id);
  request.tool = *std::move(tool);
  if (*limit > 0) request.limit_tokens = static_cast<uint64_t>(*limit);
  request.force = flag_param(call, "force");
  return request;
}

// What depends on the session: settings, doors, place, and whether the tool reads Ebla's own files.
Result<void> complete(const MethodCall& call, const Session& session,
                      context::EvictRequest& request, context::EvictContext& context) {
  Services& services = call.services();
  auto settings = settings_of(services, session);
  if (!settings) return std::unexpected(settings.error());
  context.session = session.serial;
  context.session_id = session.id;
  context.window = session.window;
  context.settings = *std::move(settings);
  context.location =
      location_of(services, session, context::artifact_folder(request.kind, session.id));
  auto doors = context::doors_of(session.capabilities, !context.location.prefix.empty());
  if (!doors) return std::unexpected(doors.error());
  context.doors = *std::move(doors);

  const auto is_door = [&](const std::string& name) {
    return !name.empty() && name == request.tool;
  };
  const Json* path = call.param("path");
  request.own_reader = is_door(context.doors.read_tool) || is_door(context.doors.grep_tool) ||
                       (path != nullptr && lies_in_tree(services, path->text, session));
  return {};
}

void answer_kept(Eviction& eviction, const context::EvictDecision& decision) {
  ++eviction.call.services().evictions.kept;
  JsonWriter out;
  out.begin_object()
      .member("evicted", false)
      .member("tokens", decision.tokens)
      .member("limit_tokens", decision.limit_tokens)
      .member("reason", decision.reason)
      .member("session", eviction.session.id)
      .end_object();
  eviction.call.reply(out.take());
}

struct PutAway {
  uint64_t characters = 0;
  uint64_t limit_tokens = 0;
  bool delivered = true;
};

void answer_put_away(Eviction& eviction, const EvictionOutcome& outcome, const PutAway& facts) {
  EvictCounters& counters = eviction.call.services().evictions;
  ++(outcome.known ? counters.known : counters.put_away);
  eviction.call.services().proven.raise(outcome.id);
  counters.bytes += outcome.size;
  counters.tokens_in += outcome.tokens;
  counters.tokens_out += context::tokens_of_sum(context::measure(outcome.replacement).class_sum);

  JsonWriter out;
  out.begin_object().member("evicted", true).member("path", outcome.path);
  const std::string host = host_path_of(eviction.call.services(), eviction.session, outcome.path);
  if (!host.empty()) out.member("host_path", host);
  out.member("size", outcome.size)
      .member("lines", outcome.lines)
      .member("characters", facts.characters)
      .member("tokens", outcome.tokens)
      .member("limit_tokens", facts.limit_tokens);
  out.key("replacement").raw(shaped_like(eviction.source.blocks.get(), outcome.replacement));
  if (outcome.known) out.member("known", true);
  if (!outcome.same_as.empty()) out.member("same_as", outcome.same_as);
  if (!facts.delivered) out.member("delivered", false);
  out.member("session", eviction.session.id).end_object();
  eviction.call.reply(out.take());
}

void refuse(Eviction& eviction, Error error) {
  ++eviction.call.services().evictions.failed;
  eviction.call.refuse(std::move(error));
}

void commit(std::shared_ptr<Eviction> eviction, context::EvictDecision decision,
            ContentRef content) {
  Services& services = eviction->call.services();
  EvictionPlan plan = std::move(decision.plan);
  PutAway facts{.characters = plan.characters, .limit_tokens = decision.limit_tokens};
  plan.uid = eviction->call.uid();
  plan.gid = eviction->call.gid();
  // Bytes that were staged are the store's from here on; if the commit fails they go.
  const ContentRef staged{.bytes = {}, .staged = content.staged, .size = 0, .hash = {}};
  plan.content = std::move(content);
  services.store.commit_eviction(
      std::move(plan), durable_change(),
      [&services, eviction = std::move(eviction), facts, staged](Result<EvictionOutcome> outcome,
                                                                 const ChangeSet& changes) mutable {
        if (!outcome) {
          discard(services.store, staged);
          return refuse(*eviction, std::move(outcome.error()));
        }
        deliver_then(services, changes,
                     [eviction = std::move(eviction), facts,
                      outcome = *std::move(outcome)](bool delivered) mutable {
                       facts.delivered = delivered;
                       answer_put_away(*eviction, outcome, facts);
                     });
      });
}

// The content is read; what was staged of it is this function's to give up.
void decide(std::shared_ptr<Eviction> eviction, Intake intake) {
  Store& store = eviction->call.services().store;
  context::EvictRequest& request = eviction->request;
  const SessionId tree = eviction->session.tree;
  const auto known = store.find_eviction(tree, request.kind, request.call_id, intake.content.hash,
                                         intake.content.size);
  const auto replaced = store.is_replacement(tree, intake.content.hash);
  if (!known || !replaced) {
    discard(store, intake.content);
    return refuse(*eviction, known ? replaced.error() : known.error());
  }
  request.known = known->has_value();
  request.is_replacement = *replaced;
  auto decision = context::plan_eviction(intake.scan, request, eviction->context);
  if (!decision.evict) {
    discard(store, intake.content);
    return answer_kept(*eviction, decision);
  }
  commit(std::move(eviction), std::move(decision), std::move(intake.content));
}

void read_content(std::shared_ptr<Eviction> eviction) {
  auto intake = take_in(eviction->call.services().store, eviction->source,
                        context::scan_options(eviction->request.kind, eviction->context.settings));
  if (!intake) return refuse(*eviction, std::move(intake.error()));
  decide(std::move(eviction), *std::move(intake));
}

// On a thread of the pool or, when nothing waits, on the caller's. A pipe that would hold a thread
// for ever moves on to the pool as such.
void open_and_read(std::shared_ptr<Eviction> eviction, bool may_wait) {
  auto source = open_content(eviction->call);
  if (!source) return refuse(*eviction, std::move(source.error()));
  eviction->source = *std::move(source);
  const bool stays = !eviction->source.endless &&
                     (may_wait || eviction->source.bytes.size() <= limits::kInlineContentBytes);
  if (stays) return read_content(std::move(eviction));
  BlockingPool& pool = eviction->call.services().blocking;
  BlockingPool::Job job = [eviction] { read_content(eviction); };
  if (auto taken = pool.submit(job, eviction->source.endless); !taken) {
    refuse(*eviction, std::move(taken.error()));
  }
}

}  // namespace

void evict(MethodCall call) {
  ++call.services().evictions.calls;
  auto request = read_request(call);
  if (!request) {
    ++call.services().evictions.failed;
    return call.refuse(std::move(request.error()));
  }
  with_session(
      std::move(call), Access::write,
      [request = *std::move(request)](MethodCall ready, Session session) mutable {
        context::EvictContext context;
        if (auto done = complete(ready, session, request, context); !done) {
          ++ready.services().evictions.failed;
          return ready.refuse(std::move(done.error()));
        }
        auto eviction = std::make_shared<Eviction>(Eviction{
            std::move(ready), std::move(session), std::move(request), std::move(context), {}});
        if (!opening_waits(eviction->call)) return open_and_read(std::move(eviction), false);
        BlockingPool& pool = eviction->call.services().blocking;
        BlockingPool::Job job = [eviction] { open_and_read(eviction, true); };
        if (auto taken = pool.submit(job); !taken) {
          refuse(*eviction, std::move(taken.error()));
        }
      });
}

}  // namespace ebla::daemon::methods
