#include "tools/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "schema/base/limits.h"
#include "schema/frame.h"
#include "schema/rpc.h"

namespace ebla::tools {
namespace {

// An answer is read whole; the largest there is has a whole request in it.
constexpr size_t kReplyBytes = limits::kBodyBytes + limits::kRequestLineBytes;
constexpr size_t kReadBytes = 64 * limits::kKiB;

// Gathers one frame.
class Collector final : public FrameSink {
 public:
  Result<std::vector<uint64_t>> on_line(std::string_view line) override {
    auto parsed = parse_json(line);
    if (!parsed) {
      return std::unexpected(parsed.error());
    }
    message = std::move(*parsed);
    std::vector<uint64_t> sizes;
    const Json* blobs_member = message.find("blobs");
    if (blobs_member == nullptr) {
      return sizes;
    }
    uint64_t total = 0;
    for (const Json& item : blobs_member->items) {
      const auto size = item.as_uint64();
      if (!size || *size > kReplyBytes - total) {
        return fail(Code::too_large, "an answer with blobs of such sizes");
      }
      total += *size;
      sizes.push_back(*size);
    }
    blobs.resize(sizes.size());
    return sizes;
  }
  Result<void> on_blob(size_t index, std::string_view piece) override {
    blobs[index] += piece;
    return {};
  }
  Result<void> on_frame() override {
    complete = true;
    return {};
  }

  Json message;
  std::vector<std::string> blobs;
  bool complete = false;
};

// The daemon's error object as ours. An unknown name stays readable through its text.
Error error_of(const Json& object) {
  Error error{Code::internal_error, "the daemon sent an error without a message"};
  if (const Json* message = object.find("message"); message != nullptr) {
    error.text = message->text;
  }
  const Json* data = object.find("data");
  const Json* name = data == nullptr ? nullptr : data->find("name");
  if (name == nullptr) {
    return error;
  }
  for (int i = 0; i <= static_cast<int>(Code::not_running); ++i) {
    if (code_info(static_cast<Code>(i)).name == name->text) {
      error.code = static_cast<Code>(i);
      return error;
    }
  }
  error.text = fmt::format("{} ({})", error.text, name->text);
  return error;
}

Result<Reply> reply_of(Collector& frame, uint64_t id) {
  const Json* frame_id = frame.message.find("id");
  const Json* error = frame.message.find("error");
  // A line that the daemon could not read at all is answered with a null id.
  const bool ours = frame_id != nullptr && (frame_id->as_uint64() == id ||
                                            (frame_id->is(Json::Kind::null) && error != nullptr));
  if (!ours) {
    return fail(Code::internal_error, "the daemon answered another call than the one made");
  }
  if (error != nullptr) {
    return std::unexpected(error_of(*error));
  }
  const Json* result = frame.message.find("result");
  if (result == nullptr) {
    return fail(Code::internal_error, "the daemon sent an answer without a result");
  }
  return Reply{*result, std::move(frame.blobs)};
}

Error connect_error(int errno_value, const std::string& path) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
      return {Code::not_running,
              fmt::format("no daemon answers at {}; start one with `ebla start`", path)};
    case EACCES:
    case EPERM:
      return {Code::permission_denied,
              fmt::format("no permission to use {}: the daemon there belongs to another user; "
                          "start your own with `ebla start`, or name its socket with --socket",
                          path)};
    case EAGAIN:
      return {Code::timeout,
              fmt::format("the daemon at {} does not accept connections; it may be overloaded or "
                          "stopped by a signal: try again, and look at its log",
                          path)};
    default:
      return errno_error(errno_value, "cannot connect to " + path);
  }
}

void set_timeout(int fd, int option, std::chrono::milliseconds timeout) {
  const timeval value{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  setsockopt(fd, SOL_SOCKET, option, &value, sizeof value);
}

}  // namespace

Result<std::string> Reply::bytes(std::string_view member) const {
  const Json* value = result.find(member);
  if (value != nullptr && value->is(Json::Kind::string)) {
    return value->text;
  }
  const Json* blob = value == nullptr ? nullptr : value->find("$blob");
  const auto index = blob == nullptr ? std::nullopt : blob->as_uint64();
  if (!index || *index >= blobs.size()) {
    return fail(Code::internal_error, fmt::format("the daemon's answer lacks `{}`", member));
  }
  return blobs[*index];
}

Result<Client> Client::connect(const std::string& socket_path, std::chrono::milliseconds timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.empty() || socket_path.size() >= sizeof address.sun_path) {
    return fail(Code::bad_configuration,
                fmt::format("the socket path {} has {} bytes; the system takes 1 to {}: give a "
                            "shorter one with --socket or EBLA_SOCKET",
                            socket_path, socket_path.size(), sizeof address.sun_path - 1));
  }
  std::ranges::copy(socket_path, std::begin(address.sun_path));
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) {
    return std::unexpected(errno_error(errno, "cannot make a socket"));
  }
  set_timeout(fd.get(), SO_SNDTIMEO, timeout);
  int connected = 0;
  do {
    // The cast is the socket API's own way to pass an address.
    connected = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (connected != 0 && errno == EINTR);
  if (connected != 0) {
    return std::unexpected(connect_error(errno, socket_path));
  }
  Client client(std::move(fd), socket_path);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(client.fd_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
    client.peer_pid_ = peer.pid;
    client.peer_uid_ = peer.uid;
  }
  if (auto greeted = client.say_hello(timeout); !greeted) {
    return std::unexpected(greeted.error());
  }
  return client;
}

Result<void> Client::say_hello(std::chrono::milliseconds timeout) {
  JsonWriter params;
  params.begin_object()
      .member("client", fmt::format("ebla/{}", EBLA_VERSION))
      .member("protocol", rpc::kProtocol)
      .member("blobs", true)
      .end_object();
  auto reply = call("hello", params.take(), {}, timeout);
  if (!reply) {
    Error error = reply.error();
    if (error.code == Code::unavailable && broken_) {
      // The peer check of the daemon closes without a byte.
      if (peer_uid_ != geteuid() && geteuid() != 0) {
        return fail(Code::permission_denied,
                    fmt::format("the daemon at {} belongs to user {} and does not serve user {}; "
                                "start your own with `ebla start`",
                                path_, peer_uid_, geteuid()));
      }
      error.text = fmt::format(
          "the daemon at {} closed the connection at once: it is stopping, "
          "or has too many connections; try again",
          path_);
    } else if (error.code == Code::invalid_params) {
      error = {Code::bad_configuration,
               fmt::format("this ebla {} speaks protocol {} and the daemon at {} does not: {}; use "
                           "the ebla that came with it",
                           EBLA_VERSION, rpc::kProtocol, path_, error.text)};
    }
    return std::unexpected(error);
  }
  const Json* protocol = reply->result.find("protocol");
  const auto number = protocol == nullptr ? std::nullopt : protocol->as_int64();
  if (number != rpc::kProtocol) {
    return fail(
        Code::bad_configuration,
        fmt::format("the daemon at {} speaks protocol {}, this ebla {} speaks {}; use the "
                    "ebla that came with it",
                    path_, number ? fmt::to_string(*number) : "?", EBLA_VERSION, rpc::kProtocol));
  }
  hello_ = std::move(*reply);
  return {};
}

Result<Reply> Client::call(std::string_view method, std::string_view params,
                           const Attachments& attachments, std::chrono::milliseconds timeout) {
  if (broken_) {
    return std::unexpected(lost(method));
  }
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  const uint64_t id = ++last_id_;
  JsonWriter request;
  request.begin_object().member("jsonrpc", "2.0").member("id", id).member("method", method);
  request.key("params").raw(params);
  request.end_object();
  const std::string object = request.take();
  if (object.size() > limits::kRequestLineBytes - 4 * limits::kKiB) {
    return fail(Code::too_large, fmt::format("the parameters of `{}` take {} bytes; a request may "
                                             "have {}",
                                             method, object.size(), limits::kRequestLineBytes));
  }
  // Until a whole answer is there the connection is in an unknown state.
  broken_ = true;
  auto sent = send(encode_line(object, attachments.blobs), attachments.fds, deadline);
  for (size_t i = 0; sent && i < attachments.blobs.size(); ++i) {
    sent = send(attachments.blobs[i], {}, deadline);
  }
  // A daemon that refuses closes before it has read everything; its reason may still be there.
  if (!sent && sent.error().code != Code::unavailable) {
    return std::unexpected(sent.error());
  }
  return receive(method, id, deadline);
}

Result<void> Client::wait(short events, Deadline deadline) const {
  pollfd entry{fd_.get(), events, 0};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = poll(&entry, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready > 0) {
      return {};
    }
    if (ready == 0) {
      return fail(Code::timeout, fmt::format("the daemon at {} did not answer in time; `ebla "
                                             "status` and its log tell more",
                                             path_));
    }
    if (errno != EINTR) {
      return std::unexpected(errno_error(errno, "poll"));
    }
  }
}

Result<void> Client::send(std::string_view bytes, std::span<const int> fds, Deadline deadline) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(limits::kFdsPerRequest * sizeof(int))> control{};
  while (!bytes.empty()) {
    // The API takes no pointer to const, and only reads.
    iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      fds = {};
    } else if (errno == EAGAIN) {
      if (auto ready = wait(POLLOUT, deadline); !ready) {
        return ready;
      }
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return fail(Code::unavailable, "");
    } else if (errno != EINTR) {
      return std::unexpected(errno_error(errno, "cannot send to the daemon at " + path_));
    }
  }
  return {};
}

Result<Reply> Client::receive(std::string_view method, uint64_t id, Deadline deadline) {
  Collector frame;
  FrameReader reader(frame, kReplyBytes);
  std::vector<char> buffer(kReadBytes);
  while (!frame.complete) {
    if (auto ready = wait(POLLIN, deadline); !ready) {
      return std::unexpected(ready.error());
    }
    const ssize_t got = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) {
      return std::unexpected(lost(method));
    }
    if (got < 0) {
      if (errno == EINTR || errno == EAGAIN) {
        continue;
      }
      return std::unexpected(errno_error(errno, "cannot read from the daemon at " + path_));
    }
    if (auto fed = reader.feed({buffer.data(), static_cast<size_t>(got)}); !fed) {
      return fail(Code::internal_error,
                  fmt::format("what answers at {} does not speak the protocol: {}", path_,
                              fed.error().text));
    }
  }
  broken_ = false;
  return reply_of(frame, id);
}

Error Client::lost(std::string_view method) const {
  return {Code::unavailable,
          fmt::format("the daemon at {} closed the connection during `{}`, so its outcome is not "
                      "known; look at `ebla status` and its log, then repeat the call",
                      path_, method)};
}

}  // namespace ebla::tools
