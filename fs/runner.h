// Runs functions on a thread of its own, in their order and not before their time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace ebla::fs {

class Runner {
 public:
  using Clock = std::chrono::steady_clock;
  using Work = std::move_only_function<void()>;

  Runner() : thread_([this] { run(); }) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  // Runs what is queued, whatever its time, then ends.
  ~Runner() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void post(Work work) { post_at(Clock::time_point::min(), std::move(work)); }
  void post_at(Clock::time_point when, Work work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.emplace(when, std::move(work));
    }
    wake_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (queue_.empty()) {
        if (stopping_) return;
        wake_.wait(lock);
        continue;
      }
      const auto first = queue_.begin();
      if (!stopping_ && first->first > Clock::now()) {
        const Clock::time_point until = first->first;
        wake_.wait_until(lock, until);
        continue;
      }
      Work work = std::move(first->second);
      queue_.erase(first);
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<Clock::time_point, Work> queue_;
  bool stopping_ = false;
  std::thread thread_;  // last: sees all of the above
};

}  // namespace ebla::fs
