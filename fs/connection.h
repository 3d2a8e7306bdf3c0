// One connection to a kernel: libfuse's session, served by whoever calls serve_one().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fs/channel.h"
#include "fs/served.h"
#include "schema/base/fd.h"
#include "schema/base/result.h"

struct fuse_session;

namespace ebla::fs {

class Connection final : public Channel, public std::enable_shared_from_this<Connection> {
 public:
  // `fd`: /dev/fuse after mount(2), or any descriptor that keeps the borders of messages. It is
  // made non-blocking.
  static Result<std::shared_ptr<Connection>> create(UniqueFd fd, Shared& shared, MountId id,
                                                    View view);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Served& served() { return served_; }
  bool alive() const { return alive_.load(); }

  // Channel.
  int fd() const override { return fd_; }
  Outcome serve_one(ReceiveBuffer& buffer, Turn& turn) override;
  void died() override;

  // What the kernel is to drop or to know. Any thread but one that serves requests: each may wait
  // for a lock that the kernel holds while it waits for an answer. False: it had nothing of it, or
  // is gone.
  bool drop_entry(uint64_t parent, const std::string& name);
  bool drop_removed(uint64_t parent, uint64_t child, const std::string& name);
  bool drop_attributes(uint64_t nodeid);
  bool drop_pages(uint64_t nodeid, uint64_t offset, uint64_t length);  // length 0: to the end
  // The kernel's pages are to have this byte; a file that it believes to be shorter ends after it.
  bool keep_byte(uint64_t nodeid, uint64_t offset, char byte);
  // Returns when every lookup and listing in `parent` that was under way has arrived in the caches.
  void wait_for_lookups(uint64_t parent);

 private:
  Connection(Shared& shared, MountId id, View view);
  Result<void> start(UniqueFd fd);
  static bool is_sound(const char* message, size_t size);

  Gauge::Token token_;  // first: goes last
  Served served_;
  std::atomic<bool> alive_{true};
  int fd_ = -1;  // owned by session_
  fuse_session* session_ = nullptr;
};

}  // namespace ebla::fs
