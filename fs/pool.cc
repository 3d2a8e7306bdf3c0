#include "fs/pool.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <utility>

#include "schema/base/log.h"

namespace ebla::fs {
namespace {

// Requests that a thread takes from one channel before it looks at the others.
constexpr int kTurn = 64;
constexpr uint32_t kEvents = EPOLLIN | EPOLLET;

}  // namespace

Result<std::unique_ptr<Pool>> Pool::create(unsigned threads) {
  if (threads == 0) threads = std::thread::hardware_concurrency();
  threads = std::clamp(threads, kLeastThreads, kMostThreads);
  std::unique_ptr<Pool> pool(new Pool);
  pool->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  pool->stop_event_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!pool->epoll_ || !pool->stop_event_) {
    return std::unexpected(errno_error(errno, "make the FUSE threads' event queue"));
  }
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = 0}};  // stays ready: wakes every thread
  if (epoll_ctl(pool->epoll_.get(), EPOLL_CTL_ADD, pool->stop_event_.get(), &event) != 0) {
    return std::unexpected(errno_error(errno, "watch the FUSE threads' end"));
  }
  // Signals are for the threads that ask for them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (unsigned i = 0; i < threads; ++i) {
    pool->threads_.emplace_back([raw = pool.get()] { raw->run(); });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pool;
}

Pool::~Pool() {
  stop();
}

Result<void> Pool::add(std::shared_ptr<Channel> channel) {
  const int fd = channel->fd();
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
    channels_.emplace(id, std::move(channel));
  }
  epoll_event event = {.events = kEvents, .data = {.u64 = id}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  const Error error = errno_error(errno, "watch the FUSE device");
  const std::lock_guard lock(mutex_);
  channels_.erase(id);
  return std::unexpected(error);
}

void Pool::stop() {
  if (threads_.empty()) return;
  stopping_.store(true);
  eventfd_write(stop_event_.get(), 1);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  channels_.clear();
}

std::shared_ptr<Channel> Pool::find(uint64_t id) const {
  const std::shared_lock lock(mutex_);
  const auto found = channels_.find(id);
  return found == channels_.end() ? nullptr : found->second;
}

bool Pool::take_out(uint64_t id, const Channel& channel) {
  const std::lock_guard lock(mutex_);
  if (channels_.erase(id) == 0) return false;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, channel.fd(), nullptr);
  return true;
}

void Pool::run() {
  ReceiveBuffer buffer;
  while (!stopping_.load()) {
    epoll_event event = {};
    const int n = epoll_wait(epoll_.get(), &event, 1, -1);
    if (n != 1 || event.data.u64 == 0) continue;
    const auto channel = find(event.data.u64);
    if (channel) serve(event.data.u64, *channel, buffer);
  }
}

void Pool::serve(uint64_t id, Channel& channel, ReceiveBuffer& buffer) {
  for (int served = 0; served < kTurn; ++served) {
    if (stopping_.load()) return;
    switch (channel.serve_one(buffer)) {
      case Channel::Outcome::served:
        continue;
      case Channel::Outcome::empty:
        return;
      case Channel::Outcome::dead:
        if (take_out(id, channel)) channel.died();
        return;
    }
  }
  // The queue's event is used up although requests may wait: ask for it again.
  epoll_event event = {.events = kEvents, .data = {.u64 = id}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, channel.fd(), &event);
}

}  // namespace ebla::fs
