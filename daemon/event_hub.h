// Who waits for the next event: looked after when something was committed, and when its time is up.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace ebla::daemon {

// Thread safe.
class EventHub {
 public:
  // Looks whether there is something to show, or whether its own time is up; true: it has answered
  // and goes. `last`: it must answer now.
  using Look = std::move_only_function<bool(bool last)>;

  // False when limits::kEventWaiters wait already; the look is not touched then. Call poke() after
  // it: what happened meanwhile is not told again.
  bool wait(Look& look);
  // Everyone looks, on this thread.
  void poke();
  // All look for the last time; nobody may wait from here on.
  void stop();
  bool empty() const { return count_ == 0; }

 private:
  void look_all(bool last);

  std::mutex looking_;  // one round at a time, so that nobody misses one
  std::mutex mutex_;
  bool stopped_ = false;
  std::vector<Look> waiting_;
  std::atomic<size_t> count_ = 0;
};

}  // namespace ebla::daemon
