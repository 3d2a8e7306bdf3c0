// One thread that runs jobs in their order; started with the first one.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ebla::sqlite {

class HelperThread {
 public:
  HelperThread() = default;
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;
  ~HelperThread() { stop(); }

  // From any thread, also from a job.
  void post(std::move_only_function<void()> job);
  // Runs what is queued and waits for its end.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::move_only_function<void()>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ebla::sqlite
