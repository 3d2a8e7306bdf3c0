#include "fs/growing.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ebla::fs {

void Growing::open(MountId mount, Ino ino, Then then) {
  uint64_t number = 0;
  {
    const std::scoped_lock lock(mutex_);
    File& file = files_[ino];
    if (file.growing != 0) {
      number = ++next_number_;
      file.waiting.push_back({number, mount, std::move(then)});
    } else {
      ++file.open[mount];
    }
  }
  if (number == 0) return then({});
  timer_.post_at(Runner::Clock::now() + patience_, [this, ino, number] { give_up(ino, number); });
}

bool Growing::open_now(MountId mount, Ino ino) {
  const std::scoped_lock lock(mutex_);
  const auto file = files_.try_emplace(ino).first;
  if (file->second.growing != 0) return false;
  ++file->second.open[mount];
  return true;
}

void Growing::close(MountId mount, Ino ino) {
  const std::scoped_lock lock(mutex_);
  const auto file = files_.find(ino);
  if (file == files_.end()) return;
  const auto open = file->second.open.find(mount);
  if (open == file->second.open.end()) return;
  if (--open->second == 0) file->second.open.erase(open);
  drop_if_idle(file);
}

void Growing::forget(MountId mount) {
  std::vector<Waiter> gone;
  {
    const std::scoped_lock lock(mutex_);
    for (auto file = files_.begin(); file != files_.end();) {
      const auto one = file++;
      one->second.open.erase(mount);
      auto& waiting = one->second.waiting;
      const auto own = std::ranges::stable_partition(
          waiting, [mount](const Waiter& waiter) { return waiter.mount != mount; });
      std::ranges::move(own, std::back_inserter(gone));
      waiting.erase(own.begin(), own.end());
      drop_if_idle(one);
    }
  }
  for (Waiter& waiter : gone) waiter.then(fail(Code::unavailable, "the mount is gone"));
}

bool Growing::grows(Ino ino) const {
  const std::scoped_lock lock(mutex_);
  const auto file = files_.find(ino);
  return file != files_.end() && file->second.growing != 0;
}

Result<std::shared_ptr<void>> Growing::begin(Ino ino) {
  const std::scoped_lock lock(mutex_);
  File& file = files_[ino];
  // Who waits comes next, or would wait for ever.
  if (!file.open.empty() || !file.waiting.empty()) {
    return fail(Code::busy,
                "a program has it open for writing through a mount: append when it has closed it, "
                "or write through the mount");
  }
  ++file.growing;
  return std::shared_ptr<void>(nullptr, [this, ino](void*) { end(ino); });
}

void Growing::end(Ino ino) {
  std::vector<Waiter> next;
  {
    const std::scoped_lock lock(mutex_);
    const auto file = files_.find(ino);
    if (--file->second.growing != 0) return;
    next = std::exchange(file->second.waiting, {});
    for (const Waiter& waiter : next) ++file->second.open[waiter.mount];
    drop_if_idle(file);
  }
  for (Waiter& waiter : next) waiter.then({});
}

void Growing::give_up(Ino ino, uint64_t number) {
  Then then;
  {
    const std::scoped_lock lock(mutex_);
    const auto file = files_.find(ino);
    if (file == files_.end()) return;
    auto& waiting = file->second.waiting;
    const auto late = std::ranges::find(waiting, number, &Waiter::number);
    if (late == waiting.end()) return;
    then = std::move(late->then);
    waiting.erase(late);
  }
  then(fail(Code::busy, "the file did not end growing"));
}

void Growing::drop_if_idle(Files::iterator file) {
  if (file->second.open.empty() && file->second.growing == 0) files_.erase(file);
}

}  // namespace ebla::fs
