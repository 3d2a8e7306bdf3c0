// Writes of clients: into the overlay at once, into the database later. Decides when, and makes
// those wait who write faster than the store can.
//
// Thread safe. No call waits for the writer. One thread of its own looks after what is due; the
// writer's thread does the rest.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "schema/base/clock.h"
#include "schema/sqlite/overlay.h"
#include "schema/sqlite/quota.h"
#include "schema/sqlite/reader_pool.h"
#include "schema/sqlite/writer.h"
#include "schema/store.h"

namespace ebla::sqlite {

// Written bytes that a unit commits together with what it does itself. One for each unit, shared by
// the parts of it; used on the writer's thread.
class Carried {
 public:
  explicit Carried(Overlay& overlay) : overlay_(overlay) {}
  void begin() { undone(); }  // a unit may start more than once
  // Everything written to the file so far.
  Result<void> write(Database& db, Ino ino, ChangeSet& changes);
  void committed();
  // The unit has failed: nothing of what it wrote stands in a row.
  void undone();

 private:
  struct Taken {
    Ino ino = 0;
    std::shared_ptr<Layer> layer;
    bool written = false;  // here, not by an earlier unit of the same transaction
  };
  Overlay& overlay_;
  std::vector<Taken> taken_;
};

class WriteBehind {
 public:
  // All must outlive it; nothing is committed before start().
  WriteBehind(Overlay& overlay, ReaderPool& readers, const Clock& clock, const Quotas& quotas);
  ~WriteBehind();  // stop()
  void start(Writer& writer);
  // Commits everything, as far as the store can, and ends the thread. Idempotent.
  void stop();

  void write(WritePlan plan, std::string_view bytes, ChangeOptions options,
             Completion<WriteOutcome> done);
  void allocate(AllocatePlan plan, ChangeOptions options, Completion<void> done);
  // What CopyPlan names, read before: bytes, or so many zeros, one after the other from
  // plan.to_offset on.
  using Segments = std::vector<Layer::Extent>;
  void copy(CopyPlan plan, Segments segments, ChangeOptions options, Completion<uint64_t> done);
  // A new size, within setattr; answers the old one.
  Result<uint64_t> resize(const SetAttrPlan& plan);

  void flush(Ino ino, ChangeOptions options, Completion<void> done);
  // Of every file; `done` gets the first error.
  void flush_all(std::move_only_function<void(Result<void>)> done);
  // There may be room again: those who wait try again. On the writer's thread.
  void room_made();

 private:
  struct Range {
    uint64_t offset = 0;
    uint64_t end = 0;
  };
  struct Edit;
  void run(std::unique_ptr<Edit> edit);
  // False: it has to wait.
  Result<bool> try_edit(Edit& edit, Range& range, ChangeSet& changes);
  bool must_wait(const DirtyFile& file, uint64_t weight) const;
  Result<void> admit(uint64_t bytes);
  Result<FileStart> read_start(Ino ino);
  // Whether the file may become `end` long.
  Result<void> check_end(const DirtyFile& file, uint64_t tree_left, uint64_t end) const;
  void fail_waiting(const Error& error);

  void submit(Ino ino, ChangeOptions options, Completion<void> done);
  // Whoever waits for room hears of a failure.
  void submit_quietly(Ino ino);
  void wake(bool all);
  void look_after();

  Overlay& overlay_;
  ReaderPool& readers_;
  const Clock& clock_;
  const Quotas& quotas_;
  Writer* writer_ = nullptr;

  std::mutex waiting_mutex_;
  std::deque<std::unique_ptr<Edit>> waiting_;

  std::atomic<bool> probing_{false};  // the writer is looking for room
  std::atomic<bool> armed_{false};    // the thread will look at what is due by itself
  std::mutex mutex_;                  // guards what follows
  std::condition_variable wake_;
  bool stopping_ = false;
  bool all_wanted_ = false;  // too much is waiting altogether
  std::thread thread_;
};

}  // namespace ebla::sqlite
