#include "daemon/delay_queue.h"

#include <utility>

namespace ebla::daemon {

DelayQueue::DelayQueue() : thread_([this] { loop(); }) {}

DelayQueue::~DelayQueue() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void DelayQueue::at(Deadline when, Job job) {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto place = jobs_.emplace(when, std::move(job));
    first = place == jobs_.begin();
  }
  if (first) wake_.notify_one();
}

void DelayQueue::loop() {
  std::unique_lock lock(mutex_);
  while (!jobs_.empty() || !stopping_) {
    if (jobs_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const auto first = jobs_.begin();
    if (!stopping_ && first->first > std::chrono::steady_clock::now()) {
      wake_.wait_until(lock, Deadline(first->first));
      continue;
    }
    Job job = std::move(first->second);
    jobs_.erase(first);
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

}  // namespace ebla::daemon
