// Where threads wait until the test lets them go; shut until it does. Every wait has an end: a gate
// that stays shut fails the test and does not hang it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace ebla::kit {

class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [this] { return open_; }));
  }
  void await_arrivals(size_t count = 1) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kPatience, [&] { return arrived_ >= count; }));
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Arrivals are counted from here on.
  void shut() {
    const std::lock_guard lock(mutex_);
    open_ = false;
    arrived_ = 0;
  }

 private:
  static constexpr auto kPatience = std::chrono::seconds(60);

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t arrived_ = 0;
  bool open_ = false;
};

}  // namespace ebla::kit
