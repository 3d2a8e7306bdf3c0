// Jobs that run once at a moment: one thread for all waits with an end. A job must be short and
// must not block.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "schema/base/clock.h"

namespace ebla::daemon {

class DelayQueue {
 public:
  using Job = std::move_only_function<void()>;

  DelayQueue();
  ~DelayQueue();  // runs what is left at once
  DelayQueue(const DelayQueue&) = delete;
  DelayQueue& operator=(const DelayQueue&) = delete;

  void at(Deadline when, Job job);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<Deadline, Job> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ebla::daemon
