// Inside of Writer, shared by the files that make it: writer.cc (life, queue, threads), batch.cc
// (one transaction), log_sync.cc (acknowledging), checkpoint.cc (the log and what follows a
// failure).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "schema/base/fd.h"
#include "schema/sqlite/disk_space.h"
#include "schema/sqlite/writer.h"

namespace ebla::sqlite {

using SteadyTime = std::chrono::steady_clock::time_point;

Error pinned_error();
Error locked_error();
// Whether the connection's last call failed in a sync: whatever the reason, pages may be lost then.
bool failed_in_sync(sqlite3* db);

struct Writer::Impl {
  using Lock = std::unique_lock<std::mutex>;

  struct Pending {
    Unit unit;
    ChangeSet changes;
    int attempts = 0;  // transactions that were lost under it
    Result<void> result;
  };
  // Committed, waiting for the log to be on disk.
  struct Committed {
    decltype(Unit::done) done;
    ChangeSet changes;
  };
  struct IdleTask {
    std::string name;
    std::move_only_function<Result<bool>(Database&, ChangeSet&)> step;
    bool rests = false;
  };
  // lost: rolled back, and the units that are to be run again are in the queue.
  enum class Outcome { nothing, committed, lost };

  Impl(Database database, Options writer_options);

  // writer.cc
  void submit(Unit unit);
  void work_loop();
  bool may_run_here(const Unit& unit) const;
  void run_here(Lock& lock);
  bool idle_due(SteadyTime now) const;
  bool write_due(SteadyTime now) const;
  bool sync_due(SteadyTime now) const;
  SteadyTime next_wake(SteadyTime now) const;
  bool finished() const;
  Result<void> stop();
  void finish_stop();

  // batch.cc: by the holder of the write role.
  void write(Lock& lock);
  void write_batch(Lock& lock);
  std::optional<Pending> next_unit(Lock& lock);
  void put_back(Lock& lock, std::vector<Pending>& batch);
  Outcome run_transaction(Lock& lock, std::vector<Pending>& batch, uint64_t revision,
                          bool log_pinned);
  uint64_t enter_transaction();
  void forget_transaction();
  bool run_unit(Pending& pending);
  void transaction_lost(Lock& lock, std::vector<Pending>& batch, const Error& error,
                        bool at_commit);
  void publish(Lock& lock, std::vector<Pending>& batch, Outcome outcome);
  void refuse_queue(Lock& lock, const Error& error);
  Result<void> begin_transaction();
  void run_idle(Lock& lock);
  void note_commit();

  // log_sync.cc: by the holder of the sync role.
  void sync_log(Lock& lock);
  int sync_file();

  // checkpoint.cc
  void note_old_log();
  void note_frames();
  uint32_t read_log_sequence() const;
  void set_failed(const Error& error);
  void recover(Lock& lock);
  Result<void> rewrite_backfilled(Lock& lock);
  Result<void> run_checkpoint(Lock& lock, int mode, int wait_ms);
  Result<void> truncate_log(Lock& lock);  // drops the reserve when it must
  void note_checkpoint(const Result<void>& result, bool lost_pages);
  void bound_log(Lock& lock);
  void checkpoint_loop(Database connection);
  bool pass_due(SteadyTime now) const;
  void passive_pass(Lock& lock, Database& connection);
  void release_held();
  void count_pages();
  void look_at_space(uint64_t pages_before);
  void make_room(Lock& lock);
  int64_t pages_written() const;
  uint64_t log_bytes() const { return log_frames * frame_bytes; }
  bool over_soft() const;

  static int on_commit(void* self, sqlite3* db, const char* name, int frames);

  // ---- The write role's own.
  Database db;
  const Options options;
  uint64_t pass_frames = 0;  // committed between two passes of a checkpoint
  DiskSpace space;
  UniqueFd wal;
  uint64_t frame_bytes = 0;
  uint64_t page_bytes = 0;
  uint64_t pages = 0;        // of the database, as count_pages() has seen them
  uint64_t free_pages = 0;   // of them
  uint64_t hook_frames = 0;  // frames in the log after the last commit
  bool hook_fired = false;
  uint32_t log_sequence = 0;
  std::atomic<bool> locked_out = false;  // the last transaction could not begin

  // One checkpointer at a time; taken before `mutex`, never while it is held.
  std::mutex checkpoint_mutex;

  mutable std::mutex mutex;  // guards all below
  std::condition_variable work;
  std::condition_variable checkpoint_work;
  std::deque<Pending> queue;
  std::deque<Pending> held;  // staging units that wait for the log to shrink
  std::vector<Committed> unsynced;
  std::vector<Committed> suspended;  // committed when a failure stopped all acknowledging
  std::deque<IdleTask> idle;
  bool writing = false;
  bool syncing = false;
  bool stopping = false;
  bool stopped = false;
  Result<void> stop_result;

  uint64_t committed_revision = 0;
  uint64_t commits = 0;  // transactions
  uint64_t synced_commits = 0;
  SteadyTime oldest_unsynced;
  SteadyTime last_write;
  SteadyTime last_idle;
  SteadyTime planned_wake;  // when the thread that began to wait last looks again

  std::optional<Error> failed;  // set: read-only until a truncated log and a synced database
  SteadyTime next_retry;
  SteadyTime last_retry;
  std::chrono::milliseconds retry_pause{};
  uint64_t failed_syncs = 0;
  bool pinned = false;  // a reader keeps the log above its hard limit

  uint64_t log_frames = 0;         // in the log now
  uint64_t backfilled_frames = 0;  // of them, in the database
  uint64_t frames_since_pass = 0;  // counted since the last checkpoint began
  bool restart_wanted = false;
  SteadyTime next_pass;  // not before: after a pass that failed
  SteadyTime next_held;  // when held units are looked at again

  std::vector<std::thread> workers;
  std::thread checkpointer;
};

}  // namespace ebla::sqlite
