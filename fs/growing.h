// Files that grow other than through a mount, and files that a mount writes: never both. A kernel
// writes what is appended (O_APPEND) where it believes the end to be, so it must not open a file
// for that before it has been told of the new end.
//
// Thread safe; nothing waits and nothing is called with a lock held.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fs/runner.h"
#include "schema/base/limits.h"
#include "schema/base/result.h"
#include "schema/model.h"

namespace ebla::fs {

class Growing {
 public:
  using Then = std::move_only_function<void(Result<void>)>;

  // `patience`: how long who wants to open a file waits for one that grows.
  explicit Growing(
      std::chrono::milliseconds patience = std::chrono::milliseconds(limits::kGrowthWaitMs))
      : patience_(patience) {}

  // A mount is about to write the file. `then` is called once: at once, or when the file has grown;
  // after success it counts as open until close(). busy: it did not end growing in time;
  // unavailable: the mount is gone.
  void open(MountId mount, Ino ino, Then then);
  // The same for who cannot wait. False: it grows.
  bool open_now(MountId mount, Ino ino);
  void close(MountId mount, Ino ino);
  // The mount's connection is gone.
  void forget(MountId mount);

  bool grows(Ino ino) const;
  // The file is about to grow, until what is answered goes: not before every kernel has been told.
  // busy: a mount has it open for writing, or is about to.
  Result<std::shared_ptr<void>> begin(Ino ino);

 private:
  struct Waiter {
    uint64_t number = 0;
    MountId mount = 0;
    Then then;
  };
  struct File {
    std::map<MountId, unsigned> open;
    unsigned growing = 0;
    std::vector<Waiter> waiting;  // only while it grows
  };
  using Files = std::map<Ino, File>;

  void end(Ino ino);
  void give_up(Ino ino, uint64_t number);
  void drop_if_idle(Files::iterator file);  // under mutex_

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  uint64_t next_number_ = 0;
  Files files_;
  Runner timer_;  // last: what it still runs sees all of the above
};

}  // namespace ebla::fs
