#include "tests/tools/fake_daemon.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "schema/base/limits.h"
#include "schema/frame.h"

namespace ebla::tools {
namespace {

constexpr std::string_view kHello =
    R"({"server":{"name":"ebla","version":"9.9"},"protocol":1,"mounts":[]})";

class RequestSink final : public FrameSink {
 public:
  Result<std::vector<uint64_t>> on_line(std::string_view line) override {
    auto parsed = parse_json(line);
    if (!parsed) {
      return std::unexpected(parsed.error());
    }
    id = to_json(*parsed->find("id"));
    request.method = parsed->find("method")->text;
    request.params = *parsed->find("params");
    std::vector<uint64_t> sizes;
    if (const Json* blobs = parsed->find("blobs"); blobs != nullptr) {
      for (const Json& size : blobs->items) {
        sizes.push_back(size.as_uint64().value());
      }
    }
    request.blobs.resize(sizes.size());
    return sizes;
  }
  Result<void> on_blob(size_t index, std::string_view piece) override {
    request.blobs[index] += piece;
    return {};
  }
  Result<void> on_frame() override {
    complete = true;
    return {};
  }

  std::string id;
  FakeRequest request;
  bool complete = false;
};

std::string content_of(int fd) {
  struct stat info{};
  fstat(fd, &info);
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  (void)pread_full(fd, bytes.data(), bytes.size(), 0);
  return bytes;
}

// Bytes and descriptors that came; false at the end.
bool receive(int connection, std::string& bytes, std::vector<std::string>& files) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(limits::kFdsPerRequest * sizeof(int))> control{};
  std::array<char, 65536> buffer{};
  iovec piece{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) {
    return false;
  }
  bytes.assign(buffer.data(), static_cast<size_t>(got));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      files.push_back(content_of(UniqueFd(fd).get()));
    }
  }
  return true;
}

std::string frame_of(const FakeAnswer& answer, const std::string& id) {
  if (!answer.raw.empty() || answer.hang_up) {
    return answer.raw;
  }
  const bool failed = !answer.error.empty();
  const std::string object =
      fmt::format(R"({{"jsonrpc":"2.0","id":{},"{}":{}}})", id, failed ? "error" : "result",
                  failed ? answer.error : answer.result);
  return encode_frame(object, {answer.blobs.begin(), answer.blobs.end()});
}

}  // namespace

FakeAnswer error(std::string_view name, std::string_view message) {
  JsonWriter json;
  json.begin_object().member("code", 1).member("message", message).key("data").begin_object();
  json.member("name", name).member("retry", false).end_object().end_object();
  FakeAnswer answer;
  answer.error = json.take();
  return answer;
}

FakeDaemon::FakeDaemon(std::string path, Handler handler, bool handler_says_hello)
    : path_(std::move(path)),
      handler_(std::move(handler)),
      handler_says_hello_(handler_says_hello) {
  listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  wake_.reset(eventfd(0, EFD_CLOEXEC));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path_, std::begin(address.sun_path));
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_.get(), SOMAXCONN) != 0) {
    std::perror(path_.c_str());
    std::abort();
  }
  thread_ = std::thread([this] { accept_all(); });
}

FakeDaemon::~FakeDaemon() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
  unlink(path_.c_str());
}

std::vector<FakeRequest> FakeDaemon::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeDaemon::refuse() {
  const std::lock_guard lock(mutex_);
  refusing_ = true;
}

// One connection at a time is enough for a client that makes one call at a time.
void FakeDaemon::accept_all() {
  for (;;) {
    std::array<pollfd, 2> entries = {pollfd{listener_.get(), POLLIN, 0},
                                     pollfd{wake_.get(), POLLIN, 0}};
    poll(entries.data(), entries.size(), -1);
    if (entries[1].revents != 0) {
      return;
    }
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    bool refused = false;
    {
      const std::lock_guard lock(mutex_);
      refused = refusing_;
    }
    if (connection && !refused) {
      serve(std::move(connection));
    }
  }
}

void FakeDaemon::serve(UniqueFd connection) {
  RequestSink sink;
  FrameReader reader(sink, limits::kRequestLineBytes);
  std::string bytes;
  std::vector<std::string> files;
  for (;;) {
    std::array<pollfd, 2> entries = {pollfd{connection.get(), POLLIN, 0},
                                     pollfd{wake_.get(), POLLIN, 0}};
    poll(entries.data(), entries.size(), -1);
    if (entries[1].revents != 0 || !receive(connection.get(), bytes, files) ||
        !reader.feed(bytes)) {
      return;
    }
    if (!sink.complete) {
      continue;
    }
    sink.complete = false;
    FakeRequest request = std::exchange(sink.request, {});
    request.files = std::exchange(files, {});
    const bool hello = request.method == "hello";
    const FakeAnswer answer =
        hello && !handler_says_hello_ ? result(std::string(kHello)) : handler_(request);
    if (!hello) {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    if (answer.keep_silent) {
      continue;
    }
    const std::string frame = frame_of(answer, sink.id);
    const size_t step = answer.byte_by_byte ? 1 : std::max<size_t>(frame.size(), 1);
    for (size_t at = 0; at < frame.size(); at += step) {
      send(connection.get(), frame.data() + at, std::min(step, frame.size() - at), MSG_NOSIGNAL);
    }
    if (answer.hang_up) {
      return;
    }
  }
}

}  // namespace ebla::tools
