#include "daemon/control/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace ebla::daemon {

Result<UniqueFd> Mailbox::open_event() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return std::unexpected(errno_error(errno, "eventfd"));
  return event;
}

void Mailbox::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;  // the task dies with its parameter, after the lock
  tasks_.push_back(std::move(task));
  if (tasks_.size() > 1) return;  // the loop was woken for the first of them
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the loop is awake anyway.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

void Mailbox::run() {
  // Before the list is taken: what comes between wakes the loop once too often, never too rarely.
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) task();
}

void Mailbox::close() {
  std::vector<Task> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(tasks_);
}

}  // namespace ebla::daemon
