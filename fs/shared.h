// What all mounts of one table have in common. Knows no libfuse.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "fs/growing.h"
#include "fs/op.h"
#include "fs/virtual_tree.h"
#include "schema/change_set.h"
#include "schema/store.h"

namespace ebla::fs {

// Requests served, by operation.
class Counters {
 public:
  void count(Op op) { counts_[static_cast<size_t>(op)].fetch_add(1, std::memory_order_relaxed); }
  std::map<std::string, uint64_t> read() const;  // only those that came

 private:
  std::array<std::atomic<uint64_t>, kOpCount> counts_{};
};

// Nodes without a name wait here until no mount holds them, then the store frees them: many at a
// time, since nobody waits for it and each time is a transaction.
class Orphanage {
 public:
  // `held`: whether any mount's kernel still knows the node. Called under the orphanage's lock.
  // `later` runs a function a few milliseconds later, or at its own end if that comes before.
  using Later = std::function<void(std::move_only_function<void()>)>;
  Orphanage(Store& store, std::function<bool(Ino)> held, Later later)
      : store_(store), held_(std::move(held)), later_(std::move(later)) {}

  void add(const std::vector<Ino>& inos);
  // One mount does not know the node any more.
  void released(Ino ino);

 private:
  void reap(const std::vector<Ino>& inos);
  void reap_free();

  Store& store_;
  const std::function<bool(Ino)> held_;
  const Later later_;
  std::atomic<size_t> waiting_count_{0};  // over-estimates while add() decides
  std::mutex mutex_;
  std::unordered_set<Ino> waiting_;
  std::vector<Ino> free_;  // to be freed by the reap_free() that is under way
};

// Counts what must be gone before the table may go.
class Gauge {
 public:
  class Token {
   public:
    explicit Token(Gauge& gauge) : gauge_(gauge) { gauge_.change(1); }
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;
    ~Token() { gauge_.change(-1); }

   private:
    Gauge& gauge_;
  };
  void wait_for_none();

 private:
  void change(int by);

  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

struct Shared {
  Shared(Store& the_store, VirtualTree tree, std::function<bool(Ino)> is_held,
         Orphanage::Later later)
      : store(the_store),
        virtual_tree(std::move(tree)),
        orphanage(the_store, std::move(is_held), std::move(later)) {}

  Store& store;
  VirtualTree virtual_tree;
  Counters counters;
  Growing growing;
  Orphanage orphanage;
  Gauge sessions;  // each lives until its last request is answered
  // Grows before a change is told to any mount. Whoever gives nodes to a kernel compares it before
  // the read and after the registration: unequal means that what was read may be old and that the
  // telling may have missed the node.
  std::atomic<uint64_t> epoch{0};
  // Tells the other mounts what a request of one mount has changed.
  std::function<void(const ChangeSet&)> publish;
  // A mount's connection has ended. On a FUSE thread, which must not wait.
  std::function<void(MountId)> died;
};

}  // namespace ebla::fs
