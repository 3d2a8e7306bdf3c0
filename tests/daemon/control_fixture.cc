#include "tests/daemon/control_fixture.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "schema/base/hash.h"
#include "schema/frame.h"

namespace ebla::daemon {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

std::string status_field(std::string_view name) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name)) return line.substr(name.size());
  }
  return "0";
}

std::string bytes_of(const Blob& blob) {
  if (!blob.file) return blob.bytes;
  std::string bytes(blob.size, '\0');
  EXPECT_EQ(pread_full(blob.file.get(), bytes.data(), bytes.size(), 0), blob.size);
  return bytes;
}

}  // namespace

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "ebla-control-XXXXXX").string();
  path_ = ::mkdtemp(name.data()) != nullptr ? name : "";
  EXPECT_FALSE(path_.empty());
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Reply describe(const Request& request) {
  JsonWriter out;
  out.begin_object().member("method", request.method->name);
  out.key("params").raw(to_json(request.params)).key("blobs").begin_array();
  for (const Blob& blob : request.blobs) {
    out.begin_object().member("size", blob.size);
    out.member("xxh3", std::string_view(xxh3_128(bytes_of(blob)).hex()));
    out.member("spooled", static_cast<bool>(blob.file)).end_object();
  }
  out.end_array().key("fds").begin_array();
  for (const UniqueFd& fd : request.fds) {
    char text[256];
    const auto size = pread_full(fd.get(), text, sizeof text, 0);
    out.string(size ? std::string_view(text, *size) : "unreadable");
  }
  out.end_array().member("client", std::string_view(request.client));
  out.member("wants_blobs", request.wants_blobs);
  out.member("uid", static_cast<uint64_t>(request.peer.uid)).end_object();
  return {out.take(), {}};
}

void ScriptedTarget::call(std::shared_ptr<Request> request, Responder respond) {
  const auto handler = handlers_.find(std::string(request->method->name));
  if (handler != handlers_.end()) return handler->second(std::move(request), std::move(respond));
  respond(describe(*request));
}

std::string ScriptedTarget::canonical_session(const Peer& peer, std::string_view session) {
  const auto name = names_.find(std::string(session));
  return name != names_.end() ? name->second : ControlTarget::canonical_session(peer, session);
}

std::string Received::id() const {
  const Json* id = line.find("id");
  return id == nullptr ? "" : to_json(*id);
}

const Json& Received::result() const {
  static const Json none;
  const Json* result = line.find("result");
  EXPECT_NE(result, nullptr) << to_json(line);
  return result == nullptr ? none : *result;
}

std::string Received::error_name() const {
  const Json* error = line.find("error");
  const Json* data = error == nullptr ? nullptr : error->find("data");
  const Json* name = data == nullptr ? nullptr : data->find("name");
  return name == nullptr ? "" : name->text;
}

int64_t Received::error_code() const {
  const Json* error = line.find("error");
  const Json* code = error == nullptr ? nullptr : error->find("code");
  return code == nullptr ? 0 : code->as_int64().value_or(0);
}

std::string Received::error_text() const {
  const Json* error = line.find("error");
  const Json* text = error == nullptr ? nullptr : error->find("message");
  return text == nullptr ? "" : text->text;
}

Client::Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval limit{std::chrono::seconds(kPatience).count(), 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  EXPECT_EQ(::connect(fd_.get(), plain, sizeof address), 0) << std::strerror(errno);
}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool Client::send_with(std::string_view bytes, const std::vector<int>& descriptors) {
  std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
  iovec from{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &from;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size() * sizeof(int));
  const ssize_t count = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  return count > 0 && send(bytes.substr(static_cast<size_t>(count)));
}

void Client::shut_write() {
  ::shutdown(fd_.get(), SHUT_WR);
}

bool Client::fill() {
  char piece[65536];
  const ssize_t count = ::recv(fd_.get(), piece, sizeof piece, 0);
  EXPECT_FALSE(count < 0 && errno == EAGAIN) << "no answer in time";
  if (count <= 0) return false;
  buffer_.append(piece, static_cast<size_t>(count));
  return true;
}

std::optional<Received> Client::receive() {
  size_t end = std::string::npos;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  auto line = parse_json(std::string_view(buffer_).substr(0, end));
  EXPECT_TRUE(line.has_value()) << buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  if (!line) return std::nullopt;
  Received out{std::move(*line), {}};
  if (const Json* blobs = out.line.find("blobs")) {
    for (const Json& size : blobs->items) {
      const size_t bytes = size.as_uint64().value_or(0);
      while (buffer_.size() < bytes) {
        if (!fill()) return std::nullopt;
      }
      out.blobs.push_back(buffer_.substr(0, bytes));
      buffer_.erase(0, bytes);
    }
  }
  return out;
}

Received Client::expect() {
  auto received = receive();
  EXPECT_TRUE(received.has_value()) << "closed";
  return received ? std::move(*received) : Received{};
}

Received Client::call(std::string_view line) {
  EXPECT_TRUE(send(line));
  return expect();
}

bool Client::closed_silently() {
  char byte = 0;
  return buffer_.empty() && ::recv(fd_.get(), &byte, 1, 0) <= 0 && errno != EAGAIN;
}

void ControlTest::Running::stop() {
  test_.gate_.open();
  test_.server_.reset();
}

ControlTest::Running ControlTest::start(unsigned workers) {
  options_.path = socket_path();
  if (options_.spool_folder.empty()) options_.spool_folder = folder_.path();
  options_.workers = workers;
  auto bound = ControlServer::bind(target_, options_);
  // Ends the test: there is nothing to talk to.
  if (!bound) throw std::runtime_error(bound.error().text);
  server_ = std::move(*bound);
  server_->start();
  return Running(*this);
}

void ControlTest::expect_alive() {
  Client client(socket_path());
  EXPECT_EQ(client.call(request("\"alive\"", "status")).id(), "\"alive\"");
}

std::string request(std::string_view id, std::string_view method, std::string_view params) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})"
                     "\n",
                     id, method, params);
}

std::string request_with_blobs(std::string_view id, std::string_view method,
                               std::string_view params, const std::vector<std::string>& blobs) {
  std::string object = request(id, method, params);
  object.pop_back();
  return encode_frame(object, {blobs.begin(), blobs.end()});
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

size_t thread_count() {
  return std::stoul(status_field("Threads:"));
}

size_t resident_bytes() {
  return std::stoul(status_field("VmRSS:")) * 1024;
}

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

}  // namespace ebla::daemon
