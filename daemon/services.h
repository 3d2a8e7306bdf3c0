// What every method works with. Owned by the Daemon (or a test), which outlives all calls.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/blocking_pool.h"
#include "daemon/control/budget.h"
#include "daemon/control/control_server.h"
#include "daemon/control/control_target.h"
#include "daemon/delay_queue.h"
#include "daemon/event_hub.h"
#include "daemon/line_index.h"
#include "daemon/mount_view.h"
#include "daemon/options.h"
#include "daemon/prepare/conversation_cache.h"
#include "daemon/prepare/facts_under_way.h"
#include "daemon/prepare/summary_desk.h"
#include "daemon/summariser/summariser.h"
#include "schema/store.h"

namespace ebla::daemon {

struct EvictCounters {
  std::atomic<uint64_t> calls = 0;
  std::atomic<uint64_t> put_away = 0;
  std::atomic<uint64_t> known = 0;
  std::atomic<uint64_t> kept = 0;
  std::atomic<uint64_t> failed = 0;
  std::atomic<uint64_t> bytes = 0;
  std::atomic<uint64_t> tokens_in = 0;
  std::atomic<uint64_t> tokens_out = 0;
};

struct PrepareCounters {
  std::atomic<uint64_t> calls = 0;
  std::atomic<uint64_t> failed = 0;
  std::atomic<uint64_t> degraded = 0;
  std::atomic<uint64_t> breaches = 0;
  std::atomic<uint64_t> unchanged = 0;
  std::atomic<uint64_t> items = 0;
  std::atomic<uint64_t> item_tokens_in = 0;
  std::atomic<uint64_t> item_tokens_out = 0;
  std::atomic<uint64_t> passes = 0;
  std::atomic<uint64_t> tokens_before = 0;
  std::atomic<uint64_t> tokens_after = 0;
  std::atomic<uint64_t> copied_marks = 0;
};

struct SummaryCounters {
  std::atomic<uint64_t> offered = 0;
  std::atomic<uint64_t> accepted = 0;
  std::atomic<uint64_t> refused = 0;
  std::atomic<uint64_t> extracts = 0;
  std::atomic<uint64_t> commands = 0;
  std::atomic<uint64_t> failed = 0;
  std::atomic<uint64_t> breakers = 0;
};

// Changes that were made after nobody waited for them any more: the mounts are told later.
struct LateChanges {
  std::mutex mutex;
  std::vector<ChangeSet> changes;
};

// The newest decision that is known to be on disk, and all before it. Readers see one as soon as it
// is committed, and that is before its sync.
class Proven {
 public:
  uint64_t id() const { return id_; }
  void raise(uint64_t id) {
    uint64_t seen = id_;
    while (seen < id && !id_.compare_exchange_weak(seen, id)) {
    }
  }

 private:
  std::atomic<uint64_t> id_ = 0;
};

struct Services {
  // `summariser_limit`: time that one run of a summariser's command has.
  Services(
      Store& the_store, MountView view, const Options& the_options,
      std::chrono::milliseconds summariser_limit = std::chrono::milliseconds(limits::kSummariserMs))
      : store(the_store),
        mounts(std::move(view)),
        options(the_options),
        summariser(summariser_limit) {
    // What an earlier daemon has left was read from the disk.
    const auto newest = store.events({.after = 0, .session = 0, .limit = 1, .newest = true});
    if (newest && !newest->empty()) proven.raise(newest->front().id);
  }
  ~Services() {
    end_waits();
    blocking.stop();
  }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  // Whoever waits for an event or a summary is answered. Idempotent.
  void end_waits();

  static constexpr size_t kBlockingThreads = 16;
  static constexpr size_t kPipes = 12;  // of them at most

  Store& store;
  MountView mounts;
  const Options& options;
  uid_t uid = 0;  // the daemon's
  gid_t gid = 0;
  std::function<uint64_t()> random;                   // seeds of session ids
  std::function<ControlCounters()> control_counters;  // empty: none
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

  EvictCounters evictions;
  PrepareCounters prepares;
  SummaryCounters summaries;
  std::mutex append_mutex;  // held for one piece of an append: memory, no disk
  LineIndexCache line_indexes;
  ConversationCache seen_lists;
  // Bodies that are being prepared.
  const std::shared_ptr<Budget> prepare_bytes = std::make_shared<Budget>(limits::kBodiesBytes);
  const std::shared_ptr<FactsUnderWay> facts = std::make_shared<FactsUnderWay>();
  Proven proven;
  const std::shared_ptr<LateChanges> late_changes = std::make_shared<LateChanges>();
  SummaryDesk desk;
  EventHub events;
  std::atomic<bool> stopping = false;  // no new writes; waits for peers end
  BlockingPool blocking{kBlockingThreads, kPipes};
  DelayQueue delays;  // what is left when it goes may still ask the pool
  Summariser summariser;
};

// Root acts as the daemon's user.
inline uid_t acting_uid(const Services& services, const Peer& peer) {
  return peer.uid == 0 ? services.uid : peer.uid;
}

// A change that this call asks of the store; not begun any more after `patience_ms`.
inline ChangeOptions durable_change(int patience_ms = limits::kRequestDeadlineMs) {
  return {.durability = Durability::durable,
          .origin = 0,
          .deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms)};
}

// Lets those who wait for events look, on a thread of the blocking pool.
void look_for_events(Services& services);

// Tells the mounts and those who wait for events, and runs `then` when they have been told, or
// after kDeliveryWaitMs with false. `held` lives until they have been told.
void deliver_then(Services& services, const ChangeSet& changes,
                  std::move_only_function<void(bool delivered)> then,
                  std::shared_ptr<void> held = nullptr);

// One request on its way through a method. Answers exactly once: one that is dropped unanswered
// answers internal_error.
class MethodCall {
 public:
  MethodCall(Services& services, std::shared_ptr<Request> request, Responder respond);
  MethodCall(MethodCall&& other) noexcept
      : services_(other.services_),
        request_(std::move(other.request_)),
        respond_(std::exchange(other.respond_, nullptr)) {}
  MethodCall& operator=(MethodCall&&) = delete;
  ~MethodCall();

  Services& services() const { return *services_; }
  Request& request() const { return *request_; }
  const Json& params() const { return request_->params; }
  // Parameter, or nullptr when absent or null.
  const Json* param(std::string_view name) const;
  bool cancelled() const;
  // From here on other calls of its session may run while this one waits.
  void leave_order() const;

  uid_t uid() const;  // who acts
  gid_t gid() const;
  bool owner() const { return uid() == services_->uid; }

  void reply(std::string result, std::vector<std::string> blobs = {});
  void refuse(Error error);
  void refuse(Code code, std::string text) { refuse(Error{code, std::move(text)}); }

 private:
  Services* services_;
  std::shared_ptr<Request> request_;
  Responder respond_;
};

}  // namespace ebla::daemon
