// The root of all objects of the daemon, and the order in which they start and stop.
#pragma once

#include <sys/types.h>

#include <memory>

#include "daemon/control/control_server.h"
#include "daemon/method_table.h"
#include "daemon/options.h"
#include "daemon/services.h"
#include "fs/mount_table.h"
#include "schema/base/clock.h"
#include "schema/store.h"

namespace ebla::daemon {

class Daemon {
 public:
  // Opens the store, takes the socket, mounts, listens. When it returns, mounts and socket answer.
  // Fails with everything undone; the code says what is missing, its exit status is documented.
  static Result<std::unique_ptr<Daemon>> start(Options options);
  ~Daemon();  // stop()

  // Refuses new writes; unmounts strictly while the loops still serve, then detaches; lets calls
  // under way end; makes everything durable; ends. Takes about 2 s at most when something hangs on.
  // Idempotent. An error: the last sync failed.
  Result<void> stop();

 private:
  explicit Daemon(Options options);
  Result<void> open();
  Result<void> mount_all();

  Options options_;
  SystemClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<fs::MountTable> mounts_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<MethodTable> methods_;
  std::unique_ptr<ControlServer> control_;
  bool stopped_ = false;
};

}  // namespace ebla::daemon
