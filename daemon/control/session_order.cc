#include "daemon/control/session_order.h"

#include <algorithm>
#include <utility>

namespace ebla::daemon {

SessionOrder::Ticket SessionOrder::next_ticket() {
  const std::lock_guard lock(mutex_);
  return ++last_;
}

void SessionOrder::enter(Ticket ticket, std::vector<std::string> names, Task task) {
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  {
    const std::lock_guard lock(mutex_);
    if (cleared_) return;  // the task dies with its parameter, after the lock
    Entry entry{std::move(names), 0, nullptr};
    for (const std::string& name : entry.names) {
      std::deque<Ticket>& queue = queues_[name];
      queue.push_back(ticket);
      if (queue.size() > 1) ++entry.ahead;
    }
    if (entry.ahead > 0) {
      entry.task = std::move(task);
      entries_.emplace(ticket, std::move(entry));
      return;
    }
    entries_.emplace(ticket, std::move(entry));
  }
  start_(std::move(task));
}

void SessionOrder::leave(Ticket ticket) {
  std::vector<Task> due;
  {
    const std::lock_guard lock(mutex_);
    const auto left = entries_.find(ticket);
    if (left == entries_.end()) return;  // left before, or cleared meanwhile
    for (const std::string& name : left->second.names) {
      const auto queue = queues_.find(name);
      if (queue == queues_.end()) continue;  // never: an entry's queues live as long as it
      queue->second.pop_front();
      if (queue->second.empty()) {
        queues_.erase(queue);
        continue;
      }
      Entry& next = entries_.at(queue->second.front());
      if (--next.ahead == 0) due.push_back(std::move(next.task));
    }
    entries_.erase(left);
  }
  for (Task& task : due) start_(std::move(task));
}

void SessionOrder::clear() {
  std::unordered_map<Ticket, Entry> dropped;  // destroyed outside the lock: a task may call leave()
  const std::lock_guard lock(mutex_);
  cleared_ = true;
  dropped.swap(entries_);
  queues_.clear();
}

size_t SessionOrder::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::ranges::count_if(entries_, [](const auto& entry) { return entry.second.ahead > 0; }));
}

}  // namespace ebla::daemon
