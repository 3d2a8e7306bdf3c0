// One call on its way from a connection through the order of sessions to a worker and back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/control/blob_spool.h"
#include "daemon/control/budget.h"
#include "daemon/control/control_target.h"
#include "daemon/control/mailbox.h"
#include "daemon/control/session_order.h"
#include "daemon/control/worker_pool.h"

namespace ebla::daemon {

// What a connection learns from an answered hello.
struct Greeting {
  std::string client;
  bool wants_blobs = false;
};

struct Answer {
  std::string frame;  // empty: a notification's
  bool ends_hello = false;
  bool greets = false;  // that hello succeeded
  Greeting greeting;
};

// What the event loop, the workers and late responders share. Lives as long as any of them.
struct ControlCore {
  ControlCore(ControlTarget& to, UniqueFd event, std::string spool_folder, size_t descriptor_limit);

  ControlTarget& target;
  Mailbox mailbox;
  WorkerPool pool;
  SessionOrder order;
  const std::shared_ptr<Budget> parsed;       // bytes of requests under way
  const std::shared_ptr<Budget> lines;        // bytes of unfinished lines
  const std::shared_ptr<Budget> descriptors;  // passed ones and spool files
  const BlobLimits blobs;
  std::atomic<bool> stopping{false};
  std::atomic<uint64_t> requests{0};
  std::atomic<uint64_t> errors{0};

  // Loop thread only.
  std::function<void(uint64_t connection, Answer)> deliver;
  std::function<void(uint64_t connection)> spooled;
  size_t calls_under_way = 0;  // also those whose connection is gone
  size_t reply_bytes = 0;      // queued on all connections
  std::vector<char> receive_buffer;
};

// A request that gives its share of the limits back when the target lets it go.
struct AccountedRequest : Request {
  std::vector<Lease> leases;
};

// Answers exactly once: a call that is dropped unanswered answers internal_error.
class Call {
 public:
  Call(std::shared_ptr<ControlCore> core, uint64_t connection, std::string id, bool notification,
       std::shared_ptr<Request> request);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Loop thread. The call waits for its turn, then a worker hands it to the target.
  static void submit(std::unique_ptr<Call> call);

 private:
  static void run(std::unique_ptr<Call> call);
  void answer(Result<Reply> result);

  std::shared_ptr<ControlCore> core_;
  uint64_t connection_;
  std::string id_;
  bool notification_;
  bool answered_ = false;
  bool is_hello_;
  Greeting greeting_;
  SessionOrder::Ticket ticket_ = 0;
  std::shared_ptr<Request> request_;
};

Error stopping_error();

// The names under which the call queues: each session that it names, else the default one; none
// for a method without an order.
std::vector<std::string> order_names(ControlTarget& target, const Request& request);

}  // namespace ebla::daemon
