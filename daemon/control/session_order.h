// Calls that share a name run one after the other, in the order they entered; calls that share
// none do not wait for each other. No thread waits: a call that is due is handed to `start`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace ebla::daemon {

// Thread safe. `start` is called without a lock held, from enter() or leave(), and must not run the
// task itself.
class SessionOrder {
 public:
  using Task = std::move_only_function<void()>;
  using Start = std::function<void(Task)>;
  using Ticket = uint64_t;  // 0: none

  explicit SessionOrder(Start start) : start_(std::move(start)) {}

  // A ticket for enter() and leave(): the task may need to know it.
  Ticket next_ticket();
  // The call waits for every earlier one that shares one of `names`; an order over several names
  // cannot lock up, since a call queues for all of them at once. After clear() the task is dropped.
  void enter(Ticket ticket, std::vector<std::string> names, Task task);
  // The call is over, or waits for nothing that others change; at least once for each that has been
  // started, the first one counts.
  void leave(Ticket ticket);
  // Destroys the calls that wait; from then on none waits any more.
  void clear();
  size_t waiting() const;

 private:
  struct Entry {
    std::vector<std::string> names;
    size_t ahead = 0;  // names at whose queue's head another call is
    Task task;
  };

  Start start_;
  mutable std::mutex mutex_;
  Ticket last_ = 0;
  bool cleared_ = false;
  std::unordered_map<Ticket, Entry> entries_;
  std::unordered_map<std::string, std::deque<Ticket>> queues_;
};

}  // namespace ebla::daemon
