// The control socket: framing, limits, peer check, pipelining, order within a session. Knows
// JSON-RPC and the method table, nothing of what a method does.
//
// One event-loop thread reads and writes; a bounded pool of workers runs the calls. A slow, dead,
// hostile or huge client costs itself: its reading pauses when its replies or its calls pile up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/control/control_target.h"
#include "schema/base/result.h"

namespace ebla::daemon {

struct ControlServerOptions {
  std::string path;               // checked against the 107 bytes of sun_path
  std::string spool_folder;       // large blobs become unnamed files here
  std::vector<uid_t> allow_uids;  // besides the daemon's own and root
  unsigned workers = 0;           // 0: by the number of CPUs, within 4 to 16
};

struct ControlCounters {
  uint64_t connections = 0;  // open now
  uint64_t accepted = 0;
  uint64_t refused = 0;  // foreign uid or too many
  uint64_t failed = 0;   // accepts for which descriptors or memory were wanting
  uint64_t requests = 0;
  uint64_t errors = 0;
};

class ControlServer {
 public:
  // Binds and listens; requests are answered from start() on. socket_in_use when a live daemon
  // answers there; a stale socket file is replaced. Folder 0700, socket 0600.
  static Result<std::unique_ptr<ControlServer>> bind(ControlTarget& target,
                                                     ControlServerOptions options);
  ~ControlServer();

  void start();
  // New calls get `unavailable`; those under way finish within `patience_ms`; then all connections
  // close and the threads end. Removes the socket file if it is still ours.
  void stop(int patience_ms);
  ControlCounters counters() const;

 private:
  struct Impl;
  explicit ControlServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebla::daemon
