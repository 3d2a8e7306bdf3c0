// One request of a kernel, answered exactly once. A handler that returns or throws without an
// answer, and a completion that is dropped, answer EIO.
#pragma once

#include <fuse_lowlevel.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "fs/served.h"
#include "schema/base/result.h"

namespace ebla::fs {

class Connection;

// How long the kernel may keep what it learnt of a node. The store tells every change, so: for
// ever. The one place that would say otherwise.
struct Keep {
  double entry_seconds;
  double attr_seconds;
};
Keep keep_of(const Attr& attr);
double keep_of_absence();

struct stat to_stat(const Attr& attr);
fuse_entry_param to_entry(const Node& node);

class Request {
 public:
  explicit Request(fuse_req_t req);
  Request(Request&& other) noexcept
      : req_(std::exchange(other.req_, nullptr)),
        explained_(other.explained_),
        connection_(std::move(other.connection_)) {}
  Request& operator=(Request&&) = delete;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  Served& served() const;
  uint32_t uid() const { return fuse_req_ctx(req_)->uid; }
  uint32_t gid() const { return fuse_req_ctx(req_)->gid; }
  fuse_req_t raw() const { return req_; }

  void error(int errno_value);
  void error(const Error& error);
  // From now on an error of this code is answered so.
  void explain(Code code, int errno_value) { explained_ = {code, errno_value}; }
  void ok() { error(0); }
  void none();  // for what has no answer
  // False: the kernel did not take it, and holds nothing.
  bool entry(const Node& node);
  void absent();  // a name that is not there, to be kept
  void attr(const Node& node);
  void link(const std::string& target);
  bool open(const fuse_file_info& info);                      // false: there will be no release
  bool create(const Node& node, const fuse_file_info& info);  // as entry()
  void written(size_t bytes);
  void offset(off_t offset);
  bool bytes(std::span<const char> bytes);
  void size(size_t bytes);  // getxattr, listxattr with size 0
  void statfs(const struct statvfs& values);

 private:
  fuse_req_t take() { return std::exchange(req_, nullptr); }

  fuse_req_t req_;
  std::optional<std::pair<Code, int>> explained_;
  std::shared_ptr<Connection> connection_;  // libfuse's session outlives its requests
};

}  // namespace ebla::fs
