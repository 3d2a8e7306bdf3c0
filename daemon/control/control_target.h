// Between the control socket and what it controls: plain requests in, one reply out.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "schema/base/result.h"
#include "schema/rpc.h"

namespace ebla::daemon {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

// Bytes that followed the line. Above limits::kBlobMemoryBytes they lie in an unnamed file.
struct Blob {
  std::string bytes;
  UniqueFd file;  // valid: the bytes are there, from offset 0
  uint64_t size = 0;
};

struct Request {
  const rpc::Method* method = nullptr;
  Json params;  // an object; names and types were checked against the method table
  std::vector<Blob> blobs;
  std::vector<UniqueFd> fds;
  Peer peer;
  std::string client;                            // what hello named
  bool wants_blobs = false;                      // hello said so: bytes may go out as blobs
  std::shared_ptr<std::atomic<bool>> cancelled;  // the connection is gone: reads may stop
  // Lets the next calls of the same sessions start before this one is answered. Empty: no order.
  std::function<void()> leave_order;
};

struct Reply {
  std::string result;  // one JSON value; bytes as {"$blob":i}
  std::vector<std::string> blobs;
};

using Responder = std::move_only_function<void(Result<Reply>)>;  // exactly once, from any thread

class ControlTarget {
 public:
  virtual ~ControlTarget() = default;
  // On a worker thread. May return before the responder has run.
  virtual void call(std::shared_ptr<Request> request, Responder respond) = 0;
  // Id and key are two names of one session; this is the one by which its calls are put in order.
  // Best the key where the session has one: calls by key may wait from before the session exists.
  // On the event loop's thread, for each call with an order: must not wait.
  virtual std::string canonical_session(const Peer& /*peer*/, std::string_view session) {
    return std::string(session);
  }
};

}  // namespace ebla::daemon
