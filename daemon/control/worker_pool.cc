#include "daemon/control/worker_pool.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "schema/base/log.h"

namespace ebla::daemon {

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

unsigned WorkerPool::default_size() {
  return std::clamp(4 * std::thread::hardware_concurrency(), 4u, 16u);
}

void WorkerPool::start(unsigned size) {
  const SignalsBlocked blocked;
  threads_.reserve(size);
  for (unsigned i = 0; i < size; ++i) threads_.emplace_back([this] { work(); });
}

void WorkerPool::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;  // the task dies with its parameter, after the lock
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  // Outside the lock: a dropped task may post another.
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(tasks_);
  }
}

void WorkerPool::work() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
      if (stopped_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    try {
      task();
    } catch (const std::exception& e) {
      log::error("worker: a call ended with an exception: {}", e.what());
    }
  }
}

}  // namespace ebla::daemon
