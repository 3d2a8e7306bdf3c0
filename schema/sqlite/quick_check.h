// PRAGMA quick_check in the background, after a stop that was not in order. It has a thread and a
// read connection of its own, runs at the lowest priority, and gives its snapshot back whenever the
// log must be shortened; then it begins anew after a pause.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "schema/base/result.h"

namespace ebla::sqlite {

class QuickCheck {
 public:
  struct Options {
    std::string path;                  // the database
    std::function<bool()> must_yield;  // asked every poll: true gives the snapshot back
    std::chrono::milliseconds poll{50};
    std::chrono::milliseconds pause{10'000};  // before it begins anew
    int attempts = 6;                         // then it gives up with Code::unavailable
  };
  // What was found, at most 20 lines; empty: the database is whole. Runs once, on the checker's
  // thread, unless the check is stopped before its end.
  using Done = std::move_only_function<void(Result<std::vector<std::string>>)>;

  QuickCheck() = default;
  QuickCheck(const QuickCheck&) = delete;
  QuickCheck& operator=(const QuickCheck&) = delete;
  ~QuickCheck() { stop(); }

  void start(Options options, Done done);  // once
  bool running() const { return running_.load(); }
  void stop();  // ends it early; idempotent

 private:
  void run();
  Result<std::vector<std::string>> attempt();
  bool wait(std::chrono::milliseconds time);  // false: stopping

  Options options_;
  Done done_;
  std::atomic<bool> running_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ebla::sqlite
