#include "daemon/control/control_server.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/control/call.h"
#include "daemon/control/connection.h"
#include "daemon/control/listen_socket.h"
#include "daemon/control/reply.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"

namespace ebla::daemon {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Keys of epoll; connections count on from here.
constexpr uint64_t kListenerKey = 0;
constexpr uint64_t kMailboxKey = 1;
constexpr uint64_t kFirstConnectionKey = 2;
// While descriptors are used up: a connection that closes is noticed at once, whatever else in the
// process frees one only by looking again.
constexpr auto kAcceptAgain = std::chrono::milliseconds(200);
constexpr int kAcceptsInARow = 256;

size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<size_t>(std::min<rlim_t>(limit.rlim_cur, 1u << 20));
}

Peer peer_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return {0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  }
  return {credentials.pid, credentials.uid, credentials.gid};
}

}  // namespace

// Plain epoll rather than Boost.Asio: all the loop does is recvmsg for descriptors, send, accept
// and one eventfd, and the pauses in reading are event masks. The wrapper would be longer than
// this.
struct ControlServer::Impl {
  struct Slot {
    std::unique_ptr<Connection> connection;
    std::optional<uint32_t> registered;  // events in epoll, if it is there
  };

  Impl(ControlTarget& target, ControlServerOptions given, UniqueFd event, UniqueFd poll,
       ListenSocket socket)
      : options(std::move(given)),
        // Half of the process's descriptors for connections, a quarter for what requests hold: the
        // store and the mounts need theirs.
        connection_limit(std::clamp<size_t>(descriptor_limit() / 2, 1, limits::kConnections)),
        core(std::make_shared<ControlCore>(target, std::move(event), options.spool_folder,
                                           std::max<size_t>(descriptor_limit() / 4, 16))),
        epoll(std::move(poll)),
        listener(std::move(socket)) {}

  bool watch(int fd, uint64_t key, uint32_t events, bool known);
  void accept_ready();
  bool accept_one();
  bool admitted(const Peer& peer) const;
  void refused(const Peer& peer, std::string_view why);
  void settle(uint64_t key);
  void with(uint64_t key, const std::function<void(Connection&)>& act);
  void handle(uint64_t key, uint32_t events);
  int wait_ms() const;
  bool quiet() const;
  void loop();
  void close_all();

  const ControlServerOptions options;
  const size_t connection_limit;
  const std::shared_ptr<ControlCore> core;
  UniqueFd epoll;
  std::thread thread;
  bool stopped = false;  // by the owner's thread

  // Loop thread once it runs.
  std::optional<ListenSocket> listener;
  bool accept_paused = false;
  bool accept_warned = false;
  SteadyClock::time_point accept_again;             // while paused
  std::optional<SteadyClock::time_point> deadline;  // set: stopping
  std::unordered_map<uint64_t, Slot> slots;
  uint64_t next_key = kFirstConnectionKey;

  std::atomic<uint64_t> open_count{0};
  std::atomic<uint64_t> accepted_count{0};
  std::atomic<uint64_t> refused_count{0};
  std::atomic<uint64_t> failed_count{0};
};

bool ControlServer::Impl::watch(int fd, uint64_t key, uint32_t events, bool known) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return ::epoll_ctl(epoll.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0;
}

bool ControlServer::Impl::admitted(const Peer& peer) const {
  if (peer.uid == ::geteuid() || peer.uid == 0) return true;
  return std::ranges::find(options.allow_uids, peer.uid) != options.allow_uids.end();
}

void ControlServer::Impl::refused(const Peer& peer, std::string_view why) {
  const uint64_t count = refused_count.fetch_add(1) + 1;
  // Whoever knocks a million times does not fill the log.
  if (!std::has_single_bit(count)) return;
  log::warning("control socket: refused process {} of uid {}: {} ({} refused so far)", peer.pid,
               peer.uid, why, count);
}

// False when there is nothing more to accept now.
bool ControlServer::Impl::accept_one() {
  UniqueFd fd(::accept4(listener->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    if (errno == EINTR || errno == ECONNABORTED) return true;
    if (errno == EAGAIN) return false;
    // Out of descriptors or memory. The listener would report itself ready for ever.
    failed_count.fetch_add(1);
    if (!std::exchange(accept_warned, true)) {
      log::warning("control socket: {}", errno_error(errno, "new connections wait").text);
    }
    accept_paused = true;
    accept_again = SteadyClock::now() + kAcceptAgain;
    ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, listener->fd(), nullptr);
    return false;
  }
  accept_warned = false;
  const Peer peer = peer_of(fd.get());
  if (!admitted(peer)) {
    refused(peer, "neither the daemon's user nor in allow_uids");
    return true;
  }
  if (slots.size() >= connection_limit) {
    refused(peer, "too many connections");
    const std::string line =
        encode_error("null", {Code::busy, "too many connections: close some, then try again"});
    // Best effort: a socket that was just made has room for it.
    static_cast<void>(::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    return true;
  }
  const uint64_t key = next_key++;
  accepted_count.fetch_add(1);
  open_count.fetch_add(1);
  Slot& slot = slots[key];
  slot.connection = std::make_unique<Connection>(core, key, std::move(fd), peer);
  settle(key);
  return true;
}

void ControlServer::Impl::accept_ready() {
  if (!listener) return;
  if (accept_paused) {
    accept_paused = false;
    watch(listener->fd(), kListenerKey, EPOLLIN, false);
  }
  // Not without end: those who are connected have their turn between.
  for (int i = 0; i < kAcceptsInARow; ++i) {
    if (!accept_one()) return;
  }
}

// Brings epoll in line with what the connection waits for, or closes it when it is over.
void ControlServer::Impl::settle(uint64_t key) {
  const auto found = slots.find(key);
  if (found == slots.end()) return;
  Slot& slot = found->second;
  const Connection& connection = *slot.connection;
  if (!connection.finished()) {
    if (connection.deaf()) {
      if (slot.registered) {
        ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, connection.fd(), nullptr);
        slot.registered.reset();
      }
      return;
    }
    const uint32_t events = connection.wanted_events();
    if (slot.registered == events) return;
    if (watch(connection.fd(), key, events, slot.registered.has_value())) {
      slot.registered = events;
      return;
    }
    log::warning("control socket: {}", errno_error(errno, "epoll_ctl, connection closed").text);
  }
  slots.erase(found);
  open_count.fetch_sub(1);
  if (accept_paused) accept_ready();
}

void ControlServer::Impl::with(uint64_t key, const std::function<void(Connection&)>& act) {
  const auto found = slots.find(key);
  if (found == slots.end()) return;  // closed meanwhile
  try {
    act(*found->second.connection);
  } catch (const std::exception& e) {
    // Out of memory for this one's request: it loses its connection, the others nothing.
    log::error("control socket: connection closed: {}", e.what());
    slots.erase(key);
    open_count.fetch_sub(1);
    return;
  }
  settle(key);
}

void ControlServer::Impl::handle(uint64_t key, uint32_t events) {
  if (key == kListenerKey) return accept_ready();
  if (key == kMailboxKey) return core->mailbox.run();
  with(key, [events](Connection& connection) { connection.on_event(events); });
}

bool ControlServer::Impl::quiet() const {
  return core->calls_under_way == 0 &&
         std::ranges::all_of(slots, [](const auto& s) { return s.second.connection->quiet(); });
}

// Until the next thing that happens by time alone.
int ControlServer::Impl::wait_ms() const {
  if (!deadline && !accept_paused) return -1;
  auto until = deadline.value_or(SteadyClock::time_point::max());
  if (accept_paused) until = std::min(until, accept_again);
  const auto left = until - SteadyClock::now();
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<int64_t>(ms, 0, 60'000));
}

void ControlServer::Impl::loop() {
  std::vector<epoll_event> events(256);
  while (!deadline || (!quiet() && SteadyClock::now() < *deadline)) {
    const int count =
        ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), wait_ms());
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      handle(event.data.u64, event.events);
    }
    if (accept_paused && SteadyClock::now() >= accept_again) accept_ready();
  }
  close_all();
}

void ControlServer::Impl::close_all() {
  listener.reset();
  slots.clear();  // tells the calls under way that nobody waits for them
  open_count.store(0);
}

Result<std::unique_ptr<ControlServer>> ControlServer::bind(ControlTarget& target,
                                                           ControlServerOptions options) {
  auto socket = ListenSocket::bind(options.path);
  if (!socket) return std::unexpected(socket.error());
  auto event = Mailbox::open_event();
  if (!event) return std::unexpected(event.error());
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return std::unexpected(errno_error(errno, "epoll_create1"));
  auto impl = std::make_unique<Impl>(target, std::move(options), std::move(*event),
                                     std::move(epoll), std::move(*socket));
  Impl& it = *impl;
  if (!it.watch(it.core->mailbox.event_fd(), kMailboxKey, EPOLLIN, false) ||
      !it.watch(it.listener->fd(), kListenerKey, EPOLLIN, false)) {
    return std::unexpected(errno_error(errno, "epoll_ctl"));
  }
  it.core->deliver = [&it](uint64_t key, Answer answer) {
    it.with(key, [&](Connection& connection) { connection.deliver(std::move(answer)); });
  };
  it.core->spooled = [&it](uint64_t key) {
    it.with(key, [](Connection& connection) { connection.on_spooled(); });
  };
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(impl)));
}

ControlServer::ControlServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ControlServer::~ControlServer() {
  stop(0);
}

void ControlServer::start() {
  const unsigned given = impl_->options.workers;
  impl_->core->pool.start(given == 0 ? WorkerPool::default_size() : given);
  const SignalsBlocked blocked;
  impl_->thread = std::thread([impl = impl_.get()] { impl->loop(); });
}

void ControlServer::stop(int patience_ms) {
  if (std::exchange(impl_->stopped, true)) return;
  ControlCore& core = *impl_->core;
  core.stopping = true;
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(std::max(patience_ms, 0));
  core.mailbox.post([impl = impl_.get(), deadline] {
    impl->deadline = deadline;
    impl->accept_paused = false;
    impl->listener.reset();
  });
  if (impl_->thread.joinable()) {
    impl_->thread.join();
  } else {
    impl_->close_all();
  }
  core.order.clear();
  core.pool.stop();
  core.mailbox.close();
}

ControlCounters ControlServer::counters() const {
  const ControlCore& core = *impl_->core;
  return {impl_->open_count.load(),   impl_->accepted_count.load(), impl_->refused_count.load(),
          impl_->failed_count.load(), core.requests.load(),         core.errors.load()};
}

}  // namespace ebla::daemon
