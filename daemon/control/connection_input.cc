// What comes in: bytes and descriptors, cut into frames.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "daemon/control/connection.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

// Most that the kernel passes in one message (SCM_MAX_FD): with room for all, none gets lost
// unseen.
constexpr size_t kPassedAtOnce = 253;
// Shorter lines are not worth counting: they are the rule, and gone at once.
constexpr size_t kUncountedLineBytes = 64 * limits::kKiB;

}  // namespace

void Connection::Passed::append(Passed more) {
  std::ranges::move(more.fds, std::back_inserter(fds));
  std::ranges::move(more.leases, std::back_inserter(leases));
  too_many |= more.too_many;
  lost |= more.lost;
}

void Connection::receive() {
  const std::span<char> buffer = room();
  alignas(cmsghdr) char control[CMSG_SPACE(kPassedAtOnce * sizeof(int))];
  iovec into{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    hang_up();
    end_input();
    return;
  }
  take_descriptors(message);
  if (count == 0) {
    const bool answered = blob_left_ > 0 && current_.refusal;
    if ((blob_left_ > 0 || line_bytes_ > 0) && !answered) {
      refuse(ParsedRequest{}, {Code::parse_error,
                               "the input ended inside a request: its line ends "
                               "with a newline, its blobs follow whole"});
    }
    return end_input();
  }
  const std::string_view bytes(buffer.data(), static_cast<size_t>(count));
  const size_t fed = feed(bytes);
  if (!input_ended_) rest_ = bytes.substr(fed);
}

// The rest of a long blob is received where it belongs.
std::span<char> Connection::room() {
  const std::span<char> shared(core_->receive_buffer);
  if (blob_left_ < shared.size() || current_.refusal || arrived_.any()) return shared;
  const std::span<char> own = blobs_.room();
  return own.empty() ? shared : own;
}

void Connection::take_descriptors(const msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
      UniqueFd fd(number);
      Lease lease(core_->descriptors);
      if (passed_.fds.size() + arrived_.fds.size() >= limits::kFdsPerRequest) {
        arrived_.too_many = true;
      } else if (!lease.grow(1)) {
        arrived_.lost = true;
      } else {
        arrived_.fds.push_back(std::move(fd));
        arrived_.leases.push_back(std::move(lease));
      }
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) arrived_.lost = true;
}

// Feeds up to where the connection is blocked; returns how many bytes that were. A slice never
// reaches beyond one request, and stops before the byte with which descriptors belong.
size_t Connection::feed(std::string_view bytes) {
  size_t fed = 0;
  while (fed < bytes.size() && !input_ended_ && !blocked()) {
    const std::string_view left = bytes.substr(fed);
    size_t size = left.size();
    if (blob_left_ > 0) {
      size = static_cast<size_t>(std::min<uint64_t>(blob_left_, size));
    } else if (const size_t end = left.find('\n'); end != std::string_view::npos) {
      size = end + 1;
    }
    if (arrived_.any()) {
      if (left.size() > 1) {
        size = std::min(size, left.size() - 1);
      } else {
        passed_.append(std::exchange(arrived_, {}));
      }
    }
    feed_slice(left.substr(0, size));
    fed += size;
  }
  return fed;
}

void Connection::feed_slice(std::string_view slice) {
  if (blob_left_ == 0 && !account_line(slice)) {
    refuse(ParsedRequest{},
           {Code::busy, "too many long lines are under way: send contents as blobs, or try again"});
    return end_input();
  }
  if (auto fed = reader_.feed(slice); !fed) {
    // A line that is too long; every other fault was answered by on_line().
    if (!current_.framing_lost) refuse(ParsedRequest{}, fed.error());
    return end_input();
  }
  const bool between = blob_left_ == 0 && line_bytes_ == 0;
  if (between) passed_ = {};  // came behind the request, or the request had no use for them
}

// Keeps count of unfinished lines; false when all connections together hold too much.
bool Connection::account_line(std::string_view slice) {
  if (slice.ends_with('\n')) {
    line_bytes_ = 0;
    line_cost_.reset();
    return true;
  }
  line_bytes_ += slice.size();
  if (line_bytes_ < kUncountedLineBytes) return true;
  return line_cost_.grow(line_bytes_ - line_cost_.amount());
}

// No more requests from here. What was asked is answered all the same.
void Connection::end_input() {
  input_ended_ = true;
  rest_.clear();
  arrived_ = {};
  passed_ = {};
  line_cost_.reset();
  current_cost_.reset();
  static_cast<void>(blobs_.take());
}

Result<std::vector<uint64_t>> Connection::on_line(std::string_view line) {
  core_->requests.fetch_add(1, std::memory_order_relaxed);
  current_ = parse_request(line);
  current_cost_ = Lease(core_->parsed);
  if (!current_.refusal && !current_cost_.grow(current_.cost_bytes)) {
    current_.refusal = Error{Code::busy, "the daemon has too much to do: call again in a moment"};
    current_.params = Json();
  }
  if (current_.framing_lost) {
    refuse(current_, *current_.refusal);
    return std::unexpected(*current_.refusal);
  }
  for (const uint64_t size : current_.blobs) blob_left_ += size;
  if (current_.refusal) {
    // Before its blobs: whoever sees it may end instead of sending them.
    refuse(current_, *current_.refusal);
    current_cost_.reset();
  } else {
    blobs_.begin(current_.blobs);
  }
  return current_.blobs;
}

Result<void> Connection::on_blob(size_t index, std::string_view piece) {
  blob_left_ -= piece.size();
  if (!current_.refusal) blobs_.add(index, piece);
  return {};
}

std::optional<Error> Connection::descriptor_fault() const {
  if (passed_.too_many) {
    return Error{Code::too_large, "a request has at most " +
                                      std::to_string(limits::kFdsPerRequest) + " descriptors"};
  }
  if (passed_.lost) {
    return Error{Code::busy, "no room for this request's descriptors: call again in a moment"};
  }
  if (current_.fds_needed > passed_.fds.size()) {
    return Error{Code::invalid_params,
                 "$fd names descriptor " + std::to_string(current_.fds_needed - 1) + ", but " +
                     std::to_string(passed_.fds.size()) +
                     " came with this request: pass them with the first byte of its line"};
  }
  return std::nullopt;
}

Result<void> Connection::on_frame() {
  const bool answered = current_.refusal.has_value();  // with its line
  const auto fault = answered ? std::nullopt : descriptor_fault();
  if (fault) {
    refuse(current_, *fault);
    current_cost_.reset();
  } else if (!answered) {
    Waiting next;
    next.parsed = std::move(current_);
    next.blobs = blobs_.take();
    next.fds = std::move(passed_.fds);
    next.leases = std::move(passed_.leases);
    next.leases.push_back(std::move(current_cost_));
    next.spool_batch = spool_started_ + (blobs_.pending_bytes() > 0 ? 1 : 0);
    waiting_.push_back(std::move(next));
  }
  passed_ = {};
  current_ = {};
  return {};
}

}  // namespace ebla::daemon
