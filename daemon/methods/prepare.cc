#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "daemon/content_source.h"
#include "daemon/control/budget.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/prepare/compose.h"
#include "daemon/prepare/conversation_cache.h"
#include "daemon/prepare/prepare_request.h"
#include "daemon/prepare/prepare_run.h"
#include "daemon/prepare/reply.h"
#include "daemon/session_service.h"

namespace ebla::daemon::methods {
namespace {

// A call from its parameters to its answer; it may run more than once, when it waits for a summary.
struct Preparation {
  Preparation(MethodCall the_call, PrepareRequest the_request)
      : call(std::move(the_call)), body_cost(call.services().prepare_bytes) {
    asked.request = std::move(the_request);
    asked.uid = call.uid();
    asked.gid = call.gid();
  }

  MethodCall call;
  Asked asked;
  std::shared_ptr<const std::string> body;
  std::optional<ReadList> list;  // once it has been read
  Lease body_cost;
  std::chrono::steady_clock::time_point give_up;  // no more waiting for summaries
};
using Shared = std::shared_ptr<Preparation>;

Error stopping() {
  return {Code::unavailable, "the daemon is stopping: nothing was decided"};
}

void refuse(Preparation& preparation, Error error) {
  ++preparation.call.services().prepares.failed;
  preparation.call.refuse(std::move(error));
}

Result<void> read_sent(Preparation& preparation) {
  ConversationCache& cache = preparation.call.services().seen_lists;
  const SessionId session = preparation.asked.session.serial;
  const auto seen = cache.take(session);
  auto list = read_list(seen.get(), context::find_format(preparation.asked.request.format),
                        preparation.body);
  if (!list) return std::unexpected(std::move(list.error()));
  preparation.list = *std::move(list);
  if (seen == nullptr) return {};
  cache.keep(session, std::make_shared<SeenList>(SeenList{
                          preparation.list->list, preparation.list->format, seen->replied}));
  return {};
}

void answer(Preparation& preparation, Work& work) {
  const Outgoing outgoing = compose(work);
  const std::vector<uint64_t> none;
  Services& services = work.services;
  const auto seen = services.seen_lists.find(work.session().serial);
  Reply reply = reply_of(work, outgoing, seen == nullptr ? none : seen->replied,
                         preparation.call.request().wants_blobs);
  if (!work.request().dry_run && work.session().serial != 0) {
    services.seen_lists.keep(work.session().serial, std::make_shared<SeenList>(SeenList{
                                                        work.sent, work.format, outgoing.hashes}));
  }
  PrepareCounters& counters = services.prepares;
  if (work.degraded) ++counters.degraded;
  if (outgoing.splices.empty()) ++counters.unchanged;
  counters.tokens_before += work.earlier;
  counters.tokens_after += work.list.counted();
  preparation.call.reply(std::move(reply.result), std::move(reply.blobs));
}

void run(const Shared& preparation);

void run_later(const Shared& preparation) {
  BlockingPool::Job job = [preparation] { run(preparation); };
  BlockingPool& pool = preparation->call.services().blocking;
  if (auto taken = pool.submit(job); !taken) refuse(*preparation, std::move(taken.error()));
}

// Other calls of the session go on meanwhile, and no thread waits.
void wait_for_summary(const Shared& preparation, const SummaryKey& key) {
  Services& services = preparation->call.services();
  preparation->call.leave_order();
  auto once = std::make_shared<std::atomic<bool>>(false);
  // The clock does not keep a call that was answered long ago.
  services.delays.at(preparation->give_up, [kept = std::weak_ptr(preparation), once] {
    const Shared waiting = kept.lock();
    if (waiting && !once->exchange(true)) run_later(waiting);
  });
  services.desk.when_finished(key, [preparation, once] {
    if (!once->exchange(true)) run_later(preparation);
  });
}

void run(const Shared& preparation) {
  Services& services = preparation->call.services();
  if (services.stopping) return refuse(*preparation, stopping());
  if (!preparation->list) {
    if (auto list = read_sent(*preparation); !list) {
      return refuse(*preparation, std::move(list.error()));
    }
  }
  Work work(services, preparation->asked);
  work.sent = preparation->list->list;
  work.format = preparation->list->format;
  work.may_wait = std::chrono::steady_clock::now() < preparation->give_up;
  if (auto done = run_steps(work); !done) return refuse(*preparation, std::move(done.error()));
  if (!work.waits_for.empty()) {
    return wait_for_summary(preparation, {work.session().tree, work.waits_for});
  }
  answer(*preparation, work);
}

// Those of the session and of its parents; its own alone where the store cannot say more.
Result<context::Settings> effective_settings(Preparation& preparation) {
  const Services& services = preparation.call.services();
  auto settings = settings_of(services, preparation.asked.session);
  if (settings) return settings;
  if (!preparation.asked.trouble) preparation.asked.trouble = std::move(settings.error());
  return context::with_session(services.options.settings, preparation.asked.session.settings);
}

Result<void> read(Preparation& preparation) {
  if (preparation.call.services().stopping) return std::unexpected(stopping());
  auto session = session_or_trouble(preparation.call, !preparation.asked.request.dry_run,
                                    preparation.asked.trouble);
  if (!session) return std::unexpected(session.error());
  preparation.asked.session = *std::move(session);
  auto body = read_body(preparation.call, preparation.asked.request.body_name);
  if (!body) return std::unexpected(body.error());
  if (!preparation.body_cost.grow(body->size())) {
    return fail(Code::busy, "too many long lists are being prepared: call again in a moment");
  }
  preparation.body = std::make_shared<const std::string>(*std::move(body));
  const Services& services = preparation.call.services();
  auto settings = effective_settings(preparation);
  if (!settings) return std::unexpected(settings.error());
  preparation.asked.settings = *std::move(settings);
  const std::string folder =
      host_path_of(services, preparation.asked.session, folder_path(preparation.asked.session));
  auto doors = context::doors_of(preparation.asked.session.capabilities, !folder.empty());
  if (!doors) return std::unexpected(doors.error());
  preparation.asked.doors = *std::move(doors);
  preparation.give_up =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(limits::kSummaryWaitMs);
  return {};
}

// A descriptor may be a pipe: it lasts as long as the peer likes.
bool comes_by_descriptor(const MethodCall& call, std::string_view name) {
  const Json* body = call.param(name);
  return body != nullptr && body->members.size() == 1 && body->members.front().first == "$fd";
}

}  // namespace

void prepare(MethodCall call) {
  Services& services = call.services();
  ++services.prepares.calls;
  auto request = read_prepare_request(call);
  if (!request) {
    ++services.prepares.failed;
    return call.refuse(std::move(request.error()));
  }
  auto preparation = std::make_shared<Preparation>(std::move(call), *std::move(request));
  const bool endless = comes_by_descriptor(preparation->call, preparation->asked.request.body_name);
  BlockingPool::Job job = [preparation] {
    if (auto done = read(*preparation); !done) {
      return refuse(*preparation, std::move(done.error()));
    }
    run(preparation);
  };
  if (auto taken = services.blocking.submit(job, endless); !taken) {
    refuse(*preparation, std::move(taken.error()));
  }
}

}  // namespace ebla::daemon::methods
