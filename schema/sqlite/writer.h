// The one writer of a database: a thread that runs many units in one transaction, a SAVEPOINT each,
// and a sync thread that makes the log durable for all durable units committed so far before their
// completions run. ebla-store(5) has the rules; the reasons for each are there.
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
    // Runs on the writer thread inside a savepoint that is rolled back when it fails. May run
    // twice.
    std::move_only_function<Result<void>(Database&, ChangeSet&)> apply;
    // Runs once: on the sync thread for durable units, on the writer thread for others.
    std::move_only_function<void(Result<void>, const ChangeSet&)> done;
  };

  struct Options {
    std::string path;                     // the database file
    uint64_t checkpoint_frames = 1024;    // committed since the last pass: 16 MiB of 16 KiB pages
    uint64_t wal_soft_bytes = 64u << 20;  // above: units that stage content wait
    uint64_t wal_hard_bytes = 256u
                              << 20;  // above: the writer waits for readers and restarts the log
    uint64_t unit_bytes = 8u << 20;   // of content in one transaction
    int unit_ms = 20;                 // and time
    uint64_t reserve_bytes = 16u << 20;
    uint64_t low_water_bytes = 64u << 20;    // host free below: growth is refused
    uint64_t high_water_bytes = 128u << 20;  // and accepted again above
  };

  // Opens its own connection and starts its threads. `database` is the writer's.
  static Result<std::unique_ptr<Writer>> start(Database database, Options options);
  ~Writer();  // stop()

  void submit(Unit unit);
  // Work of the idle class: run only while the queue of units is empty, at most 1 MB or 5 ms a
  // call, each call in a transaction of its own, again while it returns true.
  void add_idle(std::string name,
                std::move_only_function<Result<bool>(Database&, ChangeSet&)> step);

  // Runs what is queued, syncs, checkpoints (TRUNCATE) and ends the threads. Idempotent.
  Result<void> stop();

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
