// Runs functions in their order on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace ebla::fs {

class Runner {
 public:
  Runner() : thread_([this] { run(); }) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  // Runs what is queued, then ends.
  ~Runner() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void post(std::move_only_function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    wake_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      auto work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::move_only_function<void()>> queue_;
  bool stopping_ = false;
  std::thread thread_;  // last: sees all of the above
};

}  // namespace ebla::fs
