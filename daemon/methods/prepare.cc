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
  std::shared_ptr<const SeenList> seen;  // that the body goes on from
  std::string name;                      // by which the next call may refer to the body; "": none
  std::optional<ReadList> list;          // once it has been read
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
  const PrepareRequest& request = preparation.asked.request;
  std::optional<size_t> same;
  if (request.prefix) same = request.prefix->bytes;
  const auto seen = request.prefix ? std::exchange(preparation.seen, nullptr) : cache.take(session);
  auto list = read_list(seen.get(), context::find_format(request.format), preparation.body, same);
  if (!list) return std::unexpected(std::move(list.error()));
  preparation.list = *std::move(list);
  if (seen == nullptr) return {};
  cache.keep(session,
             std::make_shared<SeenList>(SeenList{preparation.list->list, preparation.list->format,
                                                 seen->replied, preparation.name}));
  return {};
}

// "$blob", "$fd" or "$path"; "" for a body that stands in the line.
std::string_view reference_of(const MethodCall& call, std::string_view name) {
  const Json* body = call.param(name);
  const bool one = body != nullptr && body->members.size() == 1;
  const std::string_view member = one ? body->members.front().first : std::string_view();
  return member.starts_with('$') ? member : std::string_view();
}

// A list of the session that the body goes on from.
Result<std::shared_ptr<const SeenList>> sent_before(Preparation& preparation) {
  ConversationCache& cache = preparation.call.services().seen_lists;
  const SessionId session = preparation.asked.session.serial;
  const SentBefore& prefix = *preparation.asked.request.prefix;
  auto seen = cache.take(session);
  const bool known = seen != nullptr && seen->name == prefix.body && !seen->name.empty();
  if (known && prefix.bytes <= seen->list.text->size()) return seen;
  const size_t length = known ? seen->list.text->size() : 0;
  if (seen != nullptr) cache.keep(session, std::move(seen));
  if (!known) {
    return fail(Code::conflict, "prefix: this body is not remembered: send the whole one");
  }
  return fail(Code::invalid_params,
              fmt::format("prefix.bytes: {} of a body of {} bytes", prefix.bytes, length));
}

// The body, put together where the client sent only how an earlier one goes on.
Result<void> take_body(Preparation& preparation) {
  const PrepareRequest& request = preparation.asked.request;
  if (request.prefix && reference_of(preparation.call, request.body_name).empty()) {
    return fail(Code::invalid_params,
                fmt::format("{}: behind a prefix it comes as $blob, $fd or $path: it is no JSON",
                            request.body_name));
  }
  auto sent = read_body(preparation.call, request.body_name);
  if (!sent) return std::unexpected(sent.error());
  const uint64_t before = request.prefix ? request.prefix->bytes : 0;
  if (before + sent->size() > limits::kBodyBytes) {
    return fail(Code::too_large, fmt::format("{}: longer than {} bytes, the most that is taken",
                                             request.body_name, limits::kBodyBytes));
  }
  if (!preparation.body_cost.grow(before + sent->size())) {
    return fail(Code::busy, "too many long lists are being prepared: call again in a moment");
  }
  if (request.prefix) {
    auto seen = sent_before(preparation);
    if (!seen) return std::unexpected(seen.error());
    preparation.body = continued(**seen, before, *sent);
    preparation.seen = *std::move(seen);
  } else {
    preparation.body = std::make_shared<std::string>(*std::move(sent));
  }
  if (request.remember) {
    preparation.name = fmt::format("{:016x}", preparation.call.services().random());
  }
  return {};
}

void answer(Preparation& preparation, Work& work) {
  const Outgoing outgoing = compose(work);
  const std::vector<uint64_t> none;
  Services& services = work.services;
  const auto seen = services.seen_lists.find(work.session().serial);
  Reply reply = reply_of(work, outgoing, seen == nullptr ? none : seen->replied,
                         preparation.call.request().wants_blobs, preparation.name);
  if (!work.request().dry_run && work.session().serial != 0) {
    services.seen_lists.keep(work.session().serial,
                             std::make_shared<SeenList>(SeenList{
                                 work.sent, work.format, outgoing.hashes, preparation.name}));
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
  if (auto body = take_body(preparation); !body) return body;
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
  // A descriptor may be a pipe: it lasts as long as the peer likes.
  const bool endless =
      reference_of(preparation->call, preparation->asked.request.body_name) == "$fd";
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
