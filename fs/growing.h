// Files that grow other than through a mount, and files that a mount has open for writing: never
// both. A kernel writes what is appended (O_APPEND) where it believes the end to be, so it must not
// open a file for that before it has heard of the new end.
//
// Thread safe; nothing waits and nothing is called with a lock held.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "schema/base/result.h"
#include "schema/model.h"

namespace ebla::fs {

class Growing {
 public:
  using Clock = std::chrono::steady_clock;
  // A kernel that is sent to look again gets to open the file within this time.
  static constexpr std::chrono::milliseconds kPromise{100};

  // A kernel wants to open the file for writing. False: what it knows of the file is old, it must
  // look the node up again first (ESTALE makes it do so).
  bool open(MountId mount, Ino ino, Clock::time_point now);
  void close(MountId mount, Ino ino);
  // The mount's connection is gone.
  void forget(MountId mount);
  // No kernel knows the node any more.
  void released(Ino ino);

  // Around a read of attributes that a kernel will be shown.
  uint64_t before_read() const { return now_.load(); }
  void shown(MountId mount, Ino ino, uint64_t before);

  // The file is about to grow; it has when what is answered goes. busy: a mount has it open for
  // writing, or is about to.
  Result<std::shared_ptr<void>> begin(Ino ino, Clock::time_point now);

 private:
  // Growths after which every kernel has heard of one.
  static constexpr uint64_t kRemembered = 1024;

  struct File {
    std::map<MountId, unsigned> open;
    std::map<MountId, uint64_t> seen;  // when the kernel was last shown its attributes
    unsigned growing = 0;
    uint64_t grown = 0;  // when it last grew
    Clock::time_point promised;
  };
  void end(Ino ino);

  std::mutex mutex_;
  std::atomic<uint64_t> now_{0};  // counts growths
  std::map<Ino, File> files_;
};

}  // namespace ebla::fs
