// One transaction: many units, a savepoint each.
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "schema/sqlite/tree.h"
#include "schema/sqlite/writer_impl.h"

namespace ebla::sqlite {
namespace {

// For another program that writes to the store; no longer than it is worth for what waits behind.
constexpr int kLockWaitMs = 1'000;
constexpr auto kRetryPause = std::chrono::milliseconds(100);
constexpr auto kHeldPause = std::chrono::milliseconds(100);
// How often a unit is run again after a full disk has taken its transaction. The first repetition
// has an empty log, the second has the reserve too, which growth may not have.
constexpr int kGrowthAttempts = 2;
constexpr int kRemovalAttempts = 3;

Result<void> run_cached(Database& db, const char* sql) {
  auto statement = db.prepare(sql);
  if (!statement) return std::unexpected(std::move(statement.error()));
  return statement->run();
}

// A unit that throws is a bug or lack of memory; either way it fails alone.
template <class Function>
auto guarded(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return fail(Code::unavailable, "out of memory: try again, or give the daemon more");
  } catch (const std::exception& e) {
    return fail(Code::internal_error, std::string("change of the store: ") + e.what());
  }
}

bool in_transaction(Database& db) {
  return sqlite3_get_autocommit(db.handle()) == 0;
}

}  // namespace

void Writer::Impl::write(Lock& lock) {
  writing = true;
  if (failed && std::chrono::steady_clock::now() >= last_retry + kRetryPause) recover(lock);
  if (!failed) bound_log(lock);
  if (!failed && !queue.empty()) make_room(lock);
  if (failed) {
    refuse_queue(lock, *failed);
  } else if (!queue.empty()) {
    write_batch(lock);
  } else if (idle_due(std::chrono::steady_clock::now())) {
    run_idle(lock);
  }
  writing = false;
  // This thread may be about to sync: the other one takes over what has come meanwhile.
  if (write_due(std::chrono::steady_clock::now()) || stopping) work.notify_one();
}

void Writer::Impl::refuse_queue(Lock& lock, const Error& error) {
  // A copy: another thread may recover meanwhile, and `error` is gone then.
  const Error reason = error;  // NOLINT(performance-unnecessary-copy-initialization)
  std::deque<Pending> refused = std::exchange(queue, {});
  std::ranges::move(std::exchange(held, {}), std::back_inserter(refused));
  lock.unlock();
  for (auto& pending : refused) pending.unit.done(std::unexpected(reason), ChangeSet{});
  refused.clear();
  lock.lock();
}

std::optional<Writer::Impl::Pending> Writer::Impl::next_unit(Lock& lock) {
  lock.lock();
  while (!queue.empty()) {
    Pending next = std::move(queue.front());
    queue.pop_front();
    if (!next.unit.staging || (held.empty() && !over_soft())) {
      lock.unlock();
      return next;
    }
    if (held.empty()) next_held = std::chrono::steady_clock::now() + kHeldPause;
    held.push_back(std::move(next));
    checkpoint_work.notify_one();
  }
  lock.unlock();
  return std::nullopt;
}

void Writer::Impl::put_back(Lock& lock, std::vector<Pending>& batch) {
  lock.lock();
  queue.push_front(std::move(batch.back()));
  lock.unlock();
  batch.pop_back();
}

void Writer::Impl::write_batch(Lock& lock) {
  std::vector<Pending> batch;
  const uint64_t revision = committed_revision;
  const bool log_pinned = pinned;
  lock.unlock();
  const Outcome outcome = run_transaction(lock, batch, revision, log_pinned);
  publish(lock, batch, outcome);
}

// Another program that holds the lock of the store is waited for once. As long as it is there, what
// comes next is refused at once.
Result<void> Writer::Impl::begin_transaction() {
  sqlite3_busy_timeout(db.handle(), locked_out ? 0 : kLockWaitMs);
  Result<void> begun = run_cached(db, "BEGIN IMMEDIATE");
  sqlite3_busy_timeout(db.handle(), kBusyTimeoutMs);
  locked_out = !begun && begun.error().code == Code::busy;
  if (locked_out) return std::unexpected(locked_error());
  return begun;
}

Writer::Impl::Outcome Writer::Impl::run_transaction(Lock& lock, std::vector<Pending>& batch,
                                                    uint64_t revision, bool log_pinned) {
  const bool room = space.admit_growth();
  uint64_t pages_before = pages;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options.unit_ms);
  const int64_t written_before = pages_written();
  bool begun = false;
  while (auto next = next_unit(lock)) {
    Pending& pending = batch.emplace_back(std::move(*next));
    pending.changes = {};
    pending.changes.origin = pending.unit.options.origin;
    pending.result = {};
    const SteadyTime now = std::chrono::steady_clock::now();
    if (pending.unit.options.deadline < now) {
      pending.result =
          fail(Code::timeout, "the store was too busy: the deadline of the change passed");
      continue;
    }
    if (pending.unit.growth && !pending.unit.admitted && !room) {
      pending.result = fail(Code::no_space, space.text());
      continue;
    }
    if (pending.unit.growth && begun) {
      // This transaction may have taken the room: what is left is judged when it has ended.
      count_pages();
      look_at_space(pages_before);
      if (!space.above_low_mark() || !space.below_limit()) {
        put_back(lock, batch);
        break;
      }
    }
    if (pending.unit.growth && log_pinned) {
      pending.result = std::unexpected(pinned_error());
      continue;
    }
    if (!begun) {
      pending.result = begin_transaction();
      if (!pending.result) continue;
      begun = true;
      pages_before = enter_transaction();
    }
    pending.changes.revision = revision + 1;
    if (!run_unit(pending)) {
      const Error error = pending.result.error();
      transaction_lost(lock, batch, error, /*at_commit=*/false);
      return Outcome::lost;
    }
    if (pending.result) ++revision;
    if (std::chrono::steady_clock::now() >= end) break;
    const auto spilled = static_cast<uint64_t>(pages_written() - written_before);
    if (spilled * page_bytes >= options.unit_bytes) break;
  }
  if (!begun) return Outcome::nothing;
  count_pages();
  if (auto committed = run_cached(db, "COMMIT"); !committed) {
    transaction_lost(lock, batch, committed.error(), /*at_commit=*/true);
    return Outcome::lost;
  }
  return Outcome::committed;
}

// Returns how many pages the database has.
uint64_t Writer::Impl::enter_transaction() {
  count_pages();
  // Without them ids are drawn one by one.
  (void)reserve_ids(db);
  return pages;
}

// It was rolled back as a whole.
void Writer::Impl::forget_transaction() {
  db.reserved_ids() = {};
  count_pages();
}

// False: the transaction is lost, or is to be given up because the disk is full.
bool Writer::Impl::run_unit(Pending& pending) {
  pending.result = run_cached(db, "SAVEPOINT unit");
  if (!pending.result) return in_transaction(db);
  pending.result = guarded([&] { return pending.unit.apply(db, pending.changes); });
  if (pending.result && in_transaction(db)) pending.result = run_cached(db, "RELEASE unit");
  if (pending.result && in_transaction(db)) return true;

  if (pending.result) pending.result = fail(Code::io_error, "the transaction was rolled back");
  const MountId origin = pending.changes.origin;
  pending.changes = {};
  pending.changes.origin = origin;
  if (!in_transaction(db) || pending.result.error().code == Code::no_space) return false;
  return run_cached(db, "ROLLBACK TO unit").has_value() &&
         run_cached(db, "RELEASE unit").has_value();
}

// Puts the units that are to run again back to the front of the queue; those left in `batch` are
// answered with their errors.
void Writer::Impl::transaction_lost(Lock& lock, std::vector<Pending>& batch, const Error& error,
                                    bool at_commit) {
  // A write that found no room has lost nothing: its frames were never part of the log.
  const bool full = error.code == Code::no_space && !failed_in_sync(db.handle());
  if (in_transaction(db)) (void)db.exec("ROLLBACK");
  forget_transaction();
  if (full) space.note_full();
  Pending* culprit = at_commit ? nullptr : &batch.back();
  bool removal_again = false;
  for (auto& pending : batch) {
    // A full disk is nobody's fault: whoever met it is run again as well.
    const bool met_it = at_commit ? pending.result.has_value() : &pending == culprit && full;
    if (!met_it) continue;
    ++pending.attempts;
    const int limit = pending.unit.growth ? kGrowthAttempts : kRemovalAttempts;
    pending.result = pending.attempts < limit ? Result<void>{} : std::unexpected(error);
    if (pending.result && !pending.unit.growth && pending.attempts > 1) removal_again = true;
  }
  if (full && removal_again) space.drop_reserve();

  lock.lock();
  // Within a unit the log is written as well, once the cache is full, and even synced.
  if (full) {
    (void)truncate_log(lock);
  } else if (at_commit || error.code == Code::io_error || error.code == Code::no_space ||
             error.code == Code::read_only) {
    set_failed(error);
    recover(lock);
  }
  std::vector<Pending> answered;
  std::deque<Pending> again;
  for (auto& pending : batch) {
    if (failed && pending.result) pending.result = std::unexpected(*failed);
    if (pending.result) {
      again.push_back(std::move(pending));
    } else {
      pending.changes = {};
      answered.push_back(std::move(pending));
    }
  }
  std::ranges::move(std::exchange(queue, {}), std::back_inserter(again));
  queue = std::move(again);
  batch = std::move(answered);
  lock.unlock();
}

// Answers the batch: durable units go to the sync, all others at once. Takes the lock.
void Writer::Impl::publish(Lock& lock, std::vector<Pending>& batch, Outcome outcome) {
  std::vector<Pending> now;
  const auto told = [](const Pending& pending) { return pending.result && pending.unit.committed; };
  if (outcome == Outcome::committed && std::ranges::any_of(batch, told)) {
    // Whoever is let in now must find counted what this transaction has left in the log.
    look_at_space(pages);
    for (auto& pending : batch) {
      if (told(pending)) pending.unit.committed();
    }
  }
  lock.lock();
  if (outcome == Outcome::committed) note_commit();
  for (auto& pending : batch) {
    if (!pending.result || pending.unit.options.durability != Durability::durable) {
      if (pending.result) ++committed_revision;
      now.push_back(std::move(pending));
      continue;
    }
    ++committed_revision;
    Committed committed{std::move(pending.unit.done), std::move(pending.changes)};
    (failed ? suspended : unsynced).push_back(std::move(committed));
  }
  // Nobody syncs and this thread has completions to run first: the other one need not wait.
  if (!now.empty() && !unsynced.empty() && !syncing) work.notify_one();
  const bool pause = queue.empty();
  lock.unlock();
  batch.clear();
  for (auto& pending : now) pending.unit.done(std::move(pending.result), pending.changes);
  now.clear();
  if (pause) space.keep_reserve();
  lock.lock();
}

// Counts the transaction that has just been committed. Mutex held.
void Writer::Impl::note_commit() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (synced_commits == commits) oldest_unsynced = now;
  ++commits;
  last_write = now;
  for (auto& task : idle) task.rests = false;
  note_frames();
}

void Writer::Impl::run_idle(Lock& lock) {
  const auto task = std::ranges::find_if(idle, [](const IdleTask& t) { return !t.rests; });
  if (task == idle.end()) return;
  IdleTask& chosen = *task;  // a deque: stays where it is while others are added
  ChangeSet changes;
  changes.revision = committed_revision + 1;
  lock.unlock();
  Result<void> outcome = begin_transaction();
  if (locked_out) {
    // Not a failure of the store. It goes on after the next change.
    lock.lock();
    chosen.rests = true;
    return;
  }
  bool more = false;
  if (outcome) {
    auto step = guarded([&] { return chosen.step(db, changes); });
    if (step) more = *step;
    if (!step || !in_transaction(db)) {
      if (in_transaction(db)) (void)db.exec("ROLLBACK");
      forget_transaction();
      lock.lock();
      chosen.rests = true;
      last_idle = std::chrono::steady_clock::now();
      return;
    }
    count_pages();
    outcome = run_cached(db, "COMMIT");
    if (!outcome) {
      if (in_transaction(db)) (void)db.exec("ROLLBACK");
      forget_transaction();
    }
  }
  lock.lock();
  chosen.rests = !more;
  last_idle = std::chrono::steady_clock::now();
  if (!outcome) {
    set_failed(outcome.error());
    recover(lock);
    return;
  }
  if (synced_commits == commits) oldest_unsynced = last_idle;
  ++commits;
  ++committed_revision;
  note_frames();
}

}  // namespace ebla::sqlite
