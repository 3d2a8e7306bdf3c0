// A fixed number of threads that run tasks in the order they came.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ebla::daemon {

class WorkerPool {
 public:
  using Task = std::move_only_function<void()>;

  // By the number of CPUs, within 4 to 16: calls wait for disks more than they compute.
  static unsigned default_size();

  WorkerPool() = default;
  ~WorkerPool() { stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // The threads take no signals: those belong to the program's main thread.
  void start(unsigned size);
  // From any thread. Tasks posted before start() wait for it; after stop() they are destroyed
  // without running.
  void post(Task task);
  // Waits for the tasks under way; those still waiting are destroyed without running.
  void stop();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

// Blocks all signals for the calling thread while it lives; threads started meanwhile inherit that.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ebla::daemon
