// The one writer of a database. It runs many units in one transaction, a SAVEPOINT each, and makes
// the log durable for all durable units committed so far before their completions run.
// ebla-store(5) has the rules; the reasons for each are there.
//
// Threads: two that are alike. At any moment at most one of them has the write role (it alone uses
// the connection) and at most one has the sync role. Whoever commits goes on to sync by itself when
// nobody does, so that a lone client pays for no second hand-over, while the other thread goes on
// committing. A third thread does nothing but PASSIVE checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "schema/base/result.h"
#include "schema/change_set.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"
#include "schema/store.h"

namespace ebla::sqlite {

class Writer {
 public:
  struct Unit {
    ChangeOptions options;
    bool growth = true;  // refused with no_space while the disk is full; removals are not
    // Growth that accepts_growth() allowed before: not refused for want of room, but the reserve is
    // not for it.
    bool admitted = false;
    bool staging = false;  // waits, in order, while the log is above its soft limit
    // Runs on a thread of the writer's inside a savepoint that is rolled back when it fails. May
    // run more than once: each time the ChangeSet is a new one, with origin and revision filled in.
    std::move_only_function<Result<void>(Database&, ChangeSet&)> apply;
    // May be empty. Runs once, after COMMIT and before any later unit begins or any completion of
    // the same transaction runs.
    std::move_only_function<void()> committed;
    // Runs once, on a thread of the writer's: after the sync for durable units, after COMMIT for
    // others. With an error the unit has changed nothing, but for a failed sync: then what it did
    // is committed and visible but may not survive a power cut, and the ChangeSet says what it was.
    std::move_only_function<void(Result<void>, const ChangeSet&)> done;
  };

  struct DiskFree {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
  };

  struct Options {
    std::string path;                   // the database file
    uint64_t checkpoint_frames = 1024;  // committed since the last pass: 16 MiB of 16 KiB pages
    // Above: begun anew as soon as little is left to take over. To overwrite the pages of the log
    // that the kernel has costs half of what new ones cost.
    uint64_t wal_restart_bytes = 24u << 20;
    uint64_t wal_soft_bytes = 64u << 20;  // above: units that stage content wait
    uint64_t wal_hard_bytes = 256u
                              << 20;  // above: the writer waits for readers and restarts the log
    uint64_t unit_bytes = 8u << 20;   // of content in one transaction
    int unit_ms = 20;                 // and time
    uint64_t reserve_bytes = 16u << 20;
    uint64_t low_water_bytes = 64u << 20;    // host free below: growth is refused
    uint64_t high_water_bytes = 128u << 20;  // and accepted again above
    uint64_t store_bytes = 0;                // pages in use beyond: growth is refused; 0: any
    uint64_t revision = 0;                   // of the last committed unit: counting goes on there
    // Replaced by tests; empty: ask the system. The first returns 0 or an errno.
    std::function<int(int fd)> sync;
    std::function<DiskFree(const std::string& folder)> disk_free;
  };

  // Starts its threads. `database` is the writer's.
  static Result<std::unique_ptr<Writer>> start(Database database, Options options);
  ~Writer();  // stop()

  // After stop(): `done` runs at once, on the caller's thread, with Code::unavailable.
  void submit(Unit unit);
  // Work of the idle class: run only while the queue of units is empty, at most 1 MB or 5 ms a
  // call, each call in a transaction of its own, again while it returns true. After false or an
  // error (which rolls the call back) it rests until the next unit has been committed.
  void add_idle(std::string name,
                std::move_only_function<Result<bool>(Database&, ChangeSet&)> step);

  // Runs what is queued, syncs, checkpoints (TRUNCATE) and ends the threads. Idempotent.
  Result<void> stop();

  // Whether a unit that grows the store would be accepted now, with so many bytes to be written
  // that are not yet: no_space, busy, or the reason why the store is read-only.
  Result<void> accepts_growth(uint64_t bytes) const;

  Health health() const;  // writable, name, text, failed_syncs
  uint64_t wal_bytes() const;
  uint64_t host_free_bytes() const;
  uint64_t revision() const;

 private:
  struct Impl;
  explicit Writer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebla::sqlite
