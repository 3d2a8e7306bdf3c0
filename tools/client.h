// The client side of the control socket: one connection, one call at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "schema/base/result.h"

namespace ebla::tools {

struct Reply {
  Json result;
  std::vector<std::string> blobs;

  // Bytes of a member that may come as a string or as {"$blob":i}.
  Result<std::string> bytes(std::string_view member) const;
};

// What goes with a call besides its parameters; {"$blob":i} and {"$fd":i} in them name it.
struct Attachments {
  std::vector<std::string_view> blobs;
  std::vector<int> fds;  // still the caller's
};

class Client {
 public:
  static constexpr std::chrono::milliseconds kConnectTimeout{10'000};
  // The daemon itself gives up on a change after limits::kRequestDeadlineMs; its word comes first.
  static constexpr std::chrono::milliseconds kCallTimeout{150'000};

  // Connects and says hello. not_running when nobody answers there, permission_denied when the
  // daemon does not serve this user, bad_configuration for another protocol; each text names the
  // socket and what to do.
  static Result<Client> connect(const std::string& socket_path,
                                std::chrono::milliseconds timeout = kConnectTimeout);

  // `params` is one JSON object. The daemon's error comes back with its own code and text;
  // `unavailable` when it ended in mid-call. After a failure of the connection itself every later
  // call fails too.
  Result<Reply> call(std::string_view method, std::string_view params,
                     const Attachments& attachments = {},
                     std::chrono::milliseconds timeout = kCallTimeout);

  const Json& hello() const { return hello_.result; }
  const std::string& socket_path() const { return path_; }
  pid_t peer_pid() const { return peer_pid_; }  // who listens, by the kernel's word; 0: not visible
  uid_t peer_uid() const { return peer_uid_; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  Client(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Result<void> say_hello(std::chrono::milliseconds timeout);
  Result<void> send(std::string_view bytes, std::span<const int> fds, Deadline deadline);
  Result<void> wait(short events, Deadline deadline) const;
  Result<Reply> receive(std::string_view method, uint64_t id, Deadline deadline);
  Error lost(std::string_view method) const;

  UniqueFd fd_;
  std::string path_;
  pid_t peer_pid_ = 0;
  uid_t peer_uid_ = 0;
  uint64_t last_id_ = 0;
  bool broken_ = false;
  Reply hello_;
};

}  // namespace ebla::tools
