// How other threads hand work to the event loop: a locked list and an eventfd that wakes it.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::daemon {

class Mailbox {
 public:
  using Task = std::move_only_function<void()>;

  static Result<UniqueFd> open_event();
  explicit Mailbox(UniqueFd event) : event_(std::move(event)) {}

  // From any thread. After close() the task is destroyed without running.
  void post(Task task);
  // Loop thread: runs what has come in, on the calling thread.
  void run();
  void close();
  int event_fd() const { return event_.get(); }

 private:
  UniqueFd event_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
  bool closed_ = false;
};

}  // namespace ebla::daemon
