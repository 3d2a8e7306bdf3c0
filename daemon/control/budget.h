// A shared amount that many holders draw from: bytes of memory or descriptors. Thread safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace ebla::daemon {

class Budget {
 public:
  explicit Budget(size_t limit) : limit_(limit) {}
  // False when that would exceed the limit; nothing is taken then.
  bool take(size_t amount) {
    size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (amount > limit_ || used > limit_ - amount) return false;
    } while (!used_.compare_exchange_weak(used, used + amount, std::memory_order_relaxed));
    return true;
  }
  void give(size_t amount) { used_.fetch_sub(amount, std::memory_order_relaxed); }
  size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const size_t limit_;
  std::atomic<size_t> used_{0};
};

// What one holder has drawn; given back when it goes. May outlive everything but the budget, which
// it keeps alive. Not thread safe itself.
class Lease {
 public:
  Lease() = default;
  explicit Lease(std::shared_ptr<Budget> budget) : budget_(std::move(budget)) {}
  Lease(Lease&& other) noexcept
      : budget_(std::move(other.budget_)), amount_(std::exchange(other.amount_, 0)) {}
  Lease& operator=(Lease&& other) noexcept {
    if (this != &other) {
      reset();
      budget_ = std::move(other.budget_);
      amount_ = std::exchange(other.amount_, 0);
    }
    return *this;
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { reset(); }

  // Draws so much more; false (and unchanged) when the budget has no room.
  bool grow(size_t amount) {
    if (budget_ == nullptr || !budget_->take(amount)) return false;
    amount_ += amount;
    return true;
  }
  void reset() {
    if (budget_ != nullptr && amount_ > 0) budget_->give(std::exchange(amount_, 0));
  }
  size_t amount() const { return amount_; }

 private:
  std::shared_ptr<Budget> budget_;
  size_t amount_ = 0;
};

}  // namespace ebla::daemon
