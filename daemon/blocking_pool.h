// Threads for calls that wait: for a pipe, for a disk, for the store. The control socket's workers
// never do, so that a quiet pipe holds up nobody else.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "schema/base/result.h"

namespace ebla::daemon {

class BlockingPool {
 public:
  using Job = std::move_only_function<void()>;

  // `endless` jobs may last as long as a peer likes (a pipe): at most that many at once, so that
  // the other threads go on serving jobs that end by themselves.
  BlockingPool(size_t threads, size_t endless) : limit_(threads), endless_limit_(endless) {}
  ~BlockingPool() { stop(); }
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // busy: the queue is full or too many endless jobs run; unavailable after stop(). The job is not
  // run then, nor touched.
  Result<void> submit(Job& job, bool endless = false);
  // Runs what is queued and ends the threads. Endless jobs must be told to end before.
  void stop();

 private:
  struct Entry {
    Job job;
    bool endless = false;
  };
  static constexpr size_t kQueued = 1024;

  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Entry> queue_;
  std::vector<std::thread> threads_;  // started as they are needed
  const size_t limit_;
  const size_t endless_limit_;
  size_t idle_ = 0;
  size_t endless_ = 0;
  bool stopping_ = false;
};

}  // namespace ebla::daemon
