// One client of the control socket: frames in, calls out, answers back, and the pauses between.
//
// Descriptors belong to the request with whose bytes they came: a client passes them with the first
// byte of the line (one send holds one request then). The kernel ends a read behind the send that
// carried descriptors, so they are the request's that the last byte read belongs to; several
// groups of one request are taken in order. Whatever a request does not use is closed.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/control/blob_spool.h"
#include "daemon/control/call.h"
#include "daemon/control/control_target.h"
#include "daemon/control/request_parser.h"
#include "schema/base/fd.h"
#include "schema/frame.h"

namespace ebla::daemon {

// Loop thread only.
class Connection final : private FrameSink {
 public:
  Connection(std::shared_ptr<ControlCore> core, uint64_t id, UniqueFd fd, Peer peer);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void on_event(uint32_t events);  // of epoll
  void deliver(Answer answer);     // of a call that this connection submitted
  void on_spooled();               // the batch under way is written

  int fd() const { return fd_.get(); }
  uint32_t wanted_events() const;
  // Nobody is there and nothing to read: the descriptor must leave epoll, which reports a hang-up
  // whether one asks or not.
  bool deaf() const { return hung_up_ && !reading(); }
  bool finished() const;  // may be destroyed
  bool quiet() const;     // no call under way, no answer unsent

 private:
  struct Waiting {
    ParsedRequest parsed;
    std::vector<IncomingBlob> blobs;
    std::vector<UniqueFd> fds;
    std::vector<Lease> leases;
    uint64_t spool_batch = 0;  // is complete when this batch is
  };
  // Descriptors on their way to their request.
  struct Passed {
    std::vector<UniqueFd> fds;
    std::vector<Lease> leases;  // one each
    bool too_many = false;
    bool lost = false;  // the system or our own limit left no room for them
    bool any() const { return !fds.empty() || too_many || lost; }
    void append(Passed more);
  };

  // Input (connection_input.cc).
  Result<std::vector<uint64_t>> on_line(std::string_view line) override;
  Result<void> on_blob(size_t index, std::string_view piece) override;
  Result<void> on_frame() override;
  void receive();
  std::span<char> room();
  void take_descriptors(const msghdr& message);
  size_t feed(std::string_view bytes);
  void feed_slice(std::string_view slice);
  std::optional<Error> descriptor_fault() const;
  void end_input();
  bool account_line(std::string_view slice);

  // Flow and output (connection.cc).
  bool blocked() const;
  bool answers_pile_up() const;
  bool reading() const { return !input_ended_ && rest_.empty() && !blocked(); }
  void advance();
  void pump();
  bool may_start(const Waiting& next) const;
  void dispatch(Waiting next);
  void spool();
  void refuse(const ParsedRequest& request, const Error& error);
  void send(std::string frame);
  void flush();
  void hang_up();

  const std::shared_ptr<ControlCore> core_;
  const uint64_t id_;
  UniqueFd fd_;
  const Peer peer_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;
  std::string client_;
  bool wants_blobs_ = false;

  FrameReader reader_;
  std::string rest_;  // received and, from rest_at_ on, not yet fed: reading pauses
  size_t rest_at_ = 0;
  Passed arrived_;  // with the last byte of what is being fed
  Passed passed_;   // the current request's
  ParsedRequest current_;
  Lease current_cost_;
  BlobCollector blobs_;
  uint64_t blob_left_ = 0;  // bytes of the current request's blobs still to come
  size_t line_bytes_ = 0;   // of the unfinished line
  Lease line_cost_;
  bool input_ended_ = false;
  bool hung_up_ = false;

  std::deque<Waiting> waiting_;
  size_t in_flight_ = 0;
  bool hello_under_way_ = false;  // what follows may depend on it
  uint64_t spool_started_ = 0;
  uint64_t spool_done_ = 0;

  std::deque<std::string> out_;
  size_t out_sent_ = 0;  // of the first
  size_t out_bytes_ = 0;
};

}  // namespace ebla::daemon
