// Time is passed in, so that a test can stand at any moment.
#pragma once

#include <chrono>
#include <cstdint>

namespace ebla {

using Deadline = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t wall_ns() const = 0;  // since the epoch, UTC
};

class SystemClock final : public Clock {
 public:
  int64_t wall_ns() const override;
};

// Ticks by hand. Not thread safe while it is set.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t start_ns = 1'700'000'000'000'000'000) : now_ns_(start_ns) {}
  int64_t wall_ns() const override { return now_ns_; }
  void advance_ns(int64_t by_ns) { now_ns_ += by_ns; }

 private:
  int64_t now_ns_;
};

}  // namespace ebla
