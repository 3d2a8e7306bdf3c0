// A daemon on a temporary store that ends, and takes its files with it, when its owner does: by
// return, by signal, by kill -9.
#pragma once

#include <sys/types.h>

#include <string>

#include "schema/base/fd.h"
#include "schema/base/result.h"
#include "schema/default_paths.h"

namespace ebla::tools {

class ThrowawayDaemon {
 public:
  // Starts eblad without a mount in a new private folder below $TMPDIR, else /tmp. Settings hold as
  // for any daemon; store, socket and mounts of a configuration do not.
  static Result<ThrowawayDaemon> start(const Environment& env);

  ThrowawayDaemon(ThrowawayDaemon&& other) noexcept;
  ThrowawayDaemon& operator=(ThrowawayDaemon&&) = delete;
  ThrowawayDaemon(const ThrowawayDaemon&) = delete;
  ThrowawayDaemon& operator=(const ThrowawayDaemon&) = delete;
  ~ThrowawayDaemon() { end(); }

  const std::string& socket() const { return socket_; }
  // Waits until daemon and folder are gone; false when something could not be removed.
  bool end();
  const std::string& folder() const { return folder_; }

 private:
  ThrowawayDaemon() = default;

  std::string folder_;
  std::string socket_;
  UniqueFd life_;      // the keeper cleans up when the last copy of it is closed
  pid_t keeper_ = -1;  // the process that started the daemon
};

}  // namespace ebla::tools
