#include "daemon/control/connection.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/control/reply.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

// Calls of one connection that are in the hands of workers. Fewer than may be pipelined: answers
// that pile up because nobody reads them are limited by not starting more.
constexpr size_t kCallsUnderWay = 16;
// Above this, all connections together, each may queue much less and has one call at a time.
constexpr size_t kReplyTotalBytes = 64 * limits::kMiB;
// Received ahead of the disk for one connection.
constexpr size_t kSpoolAheadBytes = 1 * limits::kMiB;
// Small answers are sent together.
constexpr size_t kJoinedReplyBytes = 64 * limits::kKiB;

}  // namespace

Connection::Connection(std::shared_ptr<ControlCore> core, uint64_t id, UniqueFd fd, Peer peer)
    : core_(std::move(core)),
      id_(id),
      fd_(std::move(fd)),
      peer_(peer),
      cancelled_(std::make_shared<std::atomic<bool>>(false)),
      reader_(*this, limits::kRequestLineBytes),
      blobs_(core_->blobs),
      line_cost_(core_->lines) {}

Connection::~Connection() {
  cancelled_->store(true);
  core_->reply_bytes -= out_bytes_;
}

void Connection::on_event(uint32_t events) {
  const bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;
  if (gone) hang_up();
  // Behind a hang-up there may still be requests to read: a notification is sent and left.
  if ((gone || (events & EPOLLIN) != 0) && reading()) receive();
  advance();
}

void Connection::deliver(Answer answer) {
  --in_flight_;
  if (answer.ends_hello) hello_under_way_ = false;
  if (answer.greets) {
    client_ = std::move(answer.greeting.client);
    wants_blobs_ = answer.greeting.wants_blobs;
  }
  if (!answer.frame.empty()) send(std::move(answer.frame));
  advance();
}

void Connection::on_spooled() {
  ++spool_done_;
  advance();
}

uint32_t Connection::wanted_events() const {
  return (reading() ? uint32_t{EPOLLIN} : 0u) | (out_.empty() ? 0u : uint32_t{EPOLLOUT});
}

bool Connection::finished() const {
  const bool all_started = input_ended_ && rest_.empty() && waiting_.empty();
  return all_started && (hung_up_ || quiet());
}

bool Connection::quiet() const {
  return in_flight_ == 0 && waiting_.empty() && out_.empty();
}

bool Connection::blocked() const {
  return waiting_.size() + in_flight_ >= limits::kPipelinedRequests || answers_pile_up() ||
         blobs_.pending_bytes() >= kSpoolAheadBytes;
}

// Ends when this peer reads: while anything is queued, epoll tells when there is room.
bool Connection::answers_pile_up() const {
  const size_t most =
      core_->reply_bytes < kReplyTotalBytes ? limits::kReplyQueueBytes : kJoinedReplyBytes;
  return out_bytes_ >= most;
}

// Whatever has become possible. Each step may make room for the one before.
void Connection::advance() {
  for (;;) {
    spool();
    pump();
    flush();
    if (rest_.empty() || blocked()) return;
    std::string bytes = std::exchange(rest_, {});
    rest_at_ += feed(std::string_view(bytes).substr(rest_at_));
    const bool more = !input_ended_ && rest_at_ < bytes.size();
    if (more) rest_ = std::move(bytes);
    if (!more) rest_at_ = 0;
  }
}

bool Connection::may_start(const Waiting& next) const {
  if (hello_under_way_ || spool_done_ < next.spool_batch) return false;
  if (answers_pile_up()) return false;
  return in_flight_ < (core_->reply_bytes < kReplyTotalBytes ? kCallsUnderWay : 1);
}

void Connection::pump() {
  while (!waiting_.empty() && may_start(waiting_.front())) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (core_->stopping) {
      refuse(next.parsed, stopping_error());
      continue;
    }
    const auto failed = std::ranges::find_if(next.blobs, [](const IncomingBlob& incoming) {
      return incoming.spool != nullptr && incoming.spool->failed();
    });
    if (failed != next.blobs.end()) {
      refuse(next.parsed, *failed->spool->error());
      continue;
    }
    dispatch(std::move(next));
  }
}

void Connection::dispatch(Waiting next) {
  auto request = std::make_shared<AccountedRequest>();
  request->method = next.parsed.method;
  request->params = std::move(next.parsed.params);
  request->leases = std::move(next.leases);
  for (IncomingBlob& incoming : next.blobs) {
    if (incoming.spool != nullptr) {
      incoming.blob.file = incoming.spool->take();
      request->leases.push_back(incoming.spool->take_lease());
    } else {
      request->leases.push_back(std::move(incoming.memory));
    }
    request->blobs.push_back(std::move(incoming.blob));
  }
  request->fds = std::move(next.fds);
  request->peer = peer_;
  request->client = client_;
  request->wants_blobs = wants_blobs_;
  request->cancelled = cancelled_;
  hello_under_way_ = request->method->name == "hello";
  ++in_flight_;
  Call::submit(std::make_unique<Call>(core_, id_, std::move(next.parsed.id),
                                      next.parsed.notification, std::move(request)));
}

// One batch at a time, so that the pieces of a file arrive in order.
void Connection::spool() {
  if (spool_started_ > spool_done_ || blobs_.pending_bytes() == 0) return;
  ++spool_started_;
  core_->pool.post([core = core_.get(), id = id_, batch = blobs_.take_pending()] {
    for (const SpoolPiece& piece : batch) piece.file->write(piece.bytes);
    core->mailbox.post([core, id] { core->spooled(id); });
  });
}

void Connection::refuse(const ParsedRequest& request, const Error& error) {
  core_->errors.fetch_add(1, std::memory_order_relaxed);
  if (!request.notification) send(encode_error(request.id, error));
}

void Connection::send(std::string frame) {
  if (hung_up_) return;
  out_bytes_ += frame.size();
  core_->reply_bytes += frame.size();
  if (!out_.empty() && out_.back().size() + frame.size() <= kJoinedReplyBytes) {
    out_.back() += frame;
  } else {
    out_.push_back(std::move(frame));
  }
}

void Connection::flush() {
  while (!out_.empty()) {
    const std::string& front = out_.front();
    const ssize_t count = ::send(fd_.get(), front.data() + out_sent_, front.size() - out_sent_,
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return hang_up();
    out_sent_ += static_cast<size_t>(count);
    out_bytes_ -= static_cast<size_t>(count);
    core_->reply_bytes -= static_cast<size_t>(count);
    if (out_sent_ < front.size()) continue;
    out_.pop_front();
    out_sent_ = 0;
  }
}

// The peer is gone: nobody reads the answers. Requests that came whole are run all the same.
void Connection::hang_up() {
  hung_up_ = true;
  cancelled_->store(true);
  core_->reply_bytes -= std::exchange(out_bytes_, 0);
  out_.clear();
  out_sent_ = 0;
}

}  // namespace ebla::daemon
