#include "fs/pool.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <span>
#include <utility>

#include "schema/base/log.h"

namespace ebla::fs {
namespace {

// Requests that a thread takes from one channel before it looks at the others.
constexpr int kTurn = 64;
// So many without a pause: more come than one thread serves.
constexpr int kBurst = 16;
// The watch sleeps when nothing was served for so many looks.
constexpr int kQuietLooks = 25;
// A channel calls one thread, which is the only one until the channel may call again.
constexpr uint32_t kEvents = EPOLLIN | EPOLLONESHOT;

// Signals are for the threads that ask for them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

class Pool::ServerTurn final : public Turn {
 public:
  ServerTurn(const Pool& pool, uint64_t id, const Channel& channel)
      : pool_(pool), id_(id), channel_(channel) {}
  void let_others_in() override { pool_.call(id_, channel_); }

 private:
  const Pool& pool_;
  const uint64_t id_;
  const Channel& channel_;
};

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
  pool->start(threads);
  return pool;
}

void Pool::start(unsigned threads) {
  const SignalsBlocked blocked;
  servers_ = std::make_unique<Server[]>(threads);
  for (Server& server : std::span(servers_.get(), threads)) {
    threads_.emplace_back([this, &server] { run(server); });
  }
  watch_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "ebla-watch");
    watch();
  });
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
  wake_watch();
  for (std::thread& thread : threads_) thread.join();
  watch_.join();
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

// The channel may call a thread again, and does at once when a request waits.
void Pool::call(uint64_t id, const Channel& channel) const {
  epoll_event event = {.events = kEvents, .data = {.u64 = id}};
  // It fails where the channel was taken out meanwhile.
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, channel.fd(), &event);
}

void Pool::run(Server& server) {
  ReceiveBuffer buffer;
  while (!stopping_.load()) {
    epoll_event event = {};
    const int n = epoll_wait(epoll_.get(), &event, 1, -1);
    if (n != 1 || event.data.u64 == 0) continue;
    const auto channel = find(event.data.u64);
    if (!channel) continue;
    server.channel.store(event.data.u64);
    serve(server, event.data.u64, *channel, buffer);
  }
}

void Pool::serve(Server& server, uint64_t id, Channel& channel, ReceiveBuffer& buffer) {
  ServerTurn turn(*this, id, channel);
  for (int served = 0; served < kTurn && !stopping_.load(); ++served) {
    if (served % kBurst == kBurst - 1) turn.let_others_in();
    server.step.fetch_add(1);
    if (!watching_.load()) wake_watch();
    const Channel::Outcome outcome = channel.serve_one(buffer, turn);
    server.step.fetch_add(1);
    if (outcome == Channel::Outcome::empty) break;
    if (outcome == Channel::Outcome::dead) {
      if (take_out(id, channel)) channel.died();
      return;
    }
  }
  call(id, channel);
}

// Lets others in where a thread is at one request for long: its disk may be slow. Sleeps while
// nothing is served.
void Pool::watch() {
  std::unique_lock lock(watch_mutex_);
  int quiet = 0;
  while (!stopping_.load()) {
    if (quiet < kQuietLooks) {
      watch_wake_.wait_for(lock, kPatience);
    } else {
      watching_.store(false);
      // Whoever began before that was not told to wake this thread.
      if (!look()) watch_wake_.wait(lock, [this] { return watching_.load() || stopping_.load(); });
      watching_.store(true);
      quiet = 0;
      continue;
    }
    quiet = look() ? 0 : quiet + 1;
  }
}

// True: something was served since the last look, or is.
bool Pool::look() {
  bool busy = false;
  for (Server& server : std::span(servers_.get(), threads_.size())) {
    const uint64_t step = server.step.load();
    const bool at_request = step % 2 == 1;
    if (at_request && step == server.seen) {
      const uint64_t id = server.channel.load();
      if (const auto channel = find(id)) call(id, *channel);
    }
    busy |= at_request || step != server.seen;
    server.seen = step;
  }
  return busy;
}

void Pool::wake_watch() {
  {
    const std::lock_guard lock(watch_mutex_);
    watching_.store(true);
  }
  watch_wake_.notify_one();
}

}  // namespace ebla::fs
