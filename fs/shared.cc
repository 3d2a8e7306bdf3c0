#include "fs/shared.h"

#include <utility>

#include "schema/base/log.h"

namespace ebla::fs {

std::map<std::string, uint64_t> Counters::read() const {
  std::map<std::string, uint64_t> out;
  for (size_t i = 0; i < kOpCount; ++i) {
    const uint64_t n = counts_[i].load(std::memory_order_relaxed);
    if (n != 0) out.emplace(op_name(static_cast<Op>(i)), n);
  }
  return out;
}

void Orphanage::add(const std::vector<Ino>& inos) {
  if (inos.empty()) return;
  std::vector<Ino> free;
  {
    const std::lock_guard lock(mutex_);
    // Raised before asking: a release that comes in between must not take the short way out.
    waiting_count_ += inos.size();
    for (const Ino ino : inos) {
      if (held_(ino)) {
        waiting_.insert(ino);
      } else {
        free.push_back(ino);
      }
    }
    waiting_count_ = waiting_.size();
  }
  reap(free);
}

void Orphanage::released(Ino ino) {
  if (waiting_count_.load() == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.contains(ino) || held_(ino)) return;
    waiting_.erase(ino);
    waiting_count_ = waiting_.size();
  }
  reap({ino});
}

void Orphanage::reap(const std::vector<Ino>& inos) {
  if (inos.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    const bool under_way = !free_.empty();
    free_.insert(free_.end(), inos.begin(), inos.end());
    if (under_way) return;
  }
  later_([this] { reap_free(); });
}

void Orphanage::reap_free() {
  std::vector<Ino> inos;
  {
    const std::lock_guard lock(mutex_);
    inos.swap(free_);
  }
  store_.reap(std::move(inos), {.durability = Durability::ordered},
              [](const Result<void>& result, const ChangeSet&) {
                // The store finds nodes without a name again at its next start.
                if (!result) log::warning("reap: {}", result.error().text);
              });
}

void Gauge::change(int by) {
  const std::lock_guard lock(mutex_);
  count_ += by;
  // Told under the lock: the waiter may destroy the gauge as soon as it has it.
  if (count_ == 0) none_.notify_all();
}

void Gauge::wait_for_none() {
  std::unique_lock lock(mutex_);
  none_.wait(lock, [this] { return count_ == 0; });
}

}  // namespace ebla::fs
