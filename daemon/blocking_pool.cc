#include "daemon/blocking_pool.h"

#include <utility>

namespace ebla::daemon {

Result<void> BlockingPool::submit(Job& job, bool endless) {
  const std::scoped_lock lock(mutex_);
  if (stopping_) return fail(Code::unavailable, "the daemon is stopping");
  if (endless && endless_ >= endless_limit_) {
    return fail(Code::busy, "too many contents are being read from pipes: ask again later");
  }
  if (queue_.size() >= kQueued) {
    return fail(Code::busy, "too many large contents wait to be read: ask again later");
  }
  if (endless) ++endless_;
  queue_.push_back({std::move(job), endless});
  if (idle_ < queue_.size() && threads_.size() < limit_) {
    threads_.emplace_back([this] { loop(); });
  } else {
    wake_.notify_one();
  }
  return {};
}

void BlockingPool::stop() {
  std::vector<std::thread> threads;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void BlockingPool::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (queue_.empty()) {
      if (stopping_) return;
      ++idle_;
      wake_.wait(lock);
      --idle_;
    }
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    entry.job();
    entry.job = nullptr;
    lock.lock();
    if (entry.endless) --endless_;
  }
}

}  // namespace ebla::daemon
