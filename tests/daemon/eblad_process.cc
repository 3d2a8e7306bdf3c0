#include "tests/daemon/eblad_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "schema/frame.h"

namespace ebla::daemon {
namespace {

constexpr int kPatienceMs = 20'000;

int poll_one(int fd, short events) {
  pollfd wait{.fd = fd, .events = events, .revents = 0};
  return ::poll(&wait, 1, kPatienceMs);
}

}  // namespace

// ---- Eblad.

Eblad::Eblad(Setup setup) : setup_(std::move(setup)) {
  spawn();
}

void Eblad::spawn() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  std::vector<std::string> arguments = {EBLAD_PATH, "--store", setup_.store, "--socket",
                                        setup_.socket};
  if (setup_.ready_fd) {
    arguments.insert(arguments.end(), {"--ready-fd", std::to_string(writing.get())});
  }
  arguments.insert(arguments.end(), setup_.arguments.begin(), setup_.arguments.end());
  const std::string log = folder_ / "stderr";
  pid_ = ::fork();
  if (pid_ == 0) {
    const int error = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(error, 2);
    ::fcntl(writing.get(), F_SETFD, 0);
    for (const auto& [name, value] : setup_.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (setup_.in_child) setup_.in_child();
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    ::execv(EBLAD_PATH, raw.data());
    ::_exit(127);
  }
  writing.reset();
  if (setup_.ready_fd) wait_ready(reading.get());
}

void Eblad::wait_ready(int fd) {
  char byte = 0;
  if (poll_one(fd, POLLIN) == 1 && ::read(fd, &byte, 1) == 1) {
    ready_ = byte == '\n';
    return;
  }
  wait();
}

void Eblad::signal(int number) const {
  ::kill(pid_, number);
}

int Eblad::wait() {
  if (status_) return *status_;
  const UniqueFd child(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (poll_one(child.get(), POLLIN) != 1) {
    ADD_FAILURE() << "eblad does not end:\n" << log();
    ::kill(pid_, SIGKILL);
  }
  int raw = 0;
  ::waitpid(pid_, &raw, 0);
  status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return *status_;
}

int Eblad::stop() {
  if (!status_) signal(SIGTERM);
  return wait();
}

void Eblad::kill_hard() {
  signal(SIGKILL);
  wait();
}

std::string Eblad::log() const {
  return whole_file(folder_ / "stderr");
}

Eblad::~Eblad() {
  if (!status_) {
    EXPECT_EQ(stop(), 0) << log();
  }
  const std::string text = log();
  for (const char* suspicious : {"Sanitizer", "runtime error", "terminate called", "Assertion"}) {
    EXPECT_EQ(text.find(suspicious), std::string::npos) << text;
  }
}

// ---- Client.

Client::Client(const std::string& socket) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) {
    fd_.reset();
    return;
  }
  std::memcpy(address.sun_path, socket.data(), socket.size());
  if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fd_.reset();
  }
}

bool Client::send(std::string_view method, std::string_view params,
                  const std::vector<std::string_view>& blobs, int passed_fd) {
  const std::string object = fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})",
                                         ++id_, method, params);
  std::string frame = encode_frame(object, blobs);
  size_t sent = 0;
  if (passed_fd >= 0) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec part{.iov_base = frame.data(), .iov_len = frame.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &passed_fd, sizeof passed_fd);
    const ssize_t got = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (got <= 0) return false;
    sent = static_cast<size_t>(got);
  }
  while (sent < frame.size()) {
    const ssize_t got = ::send(fd_.get(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (got <= 0) return false;
    sent += static_cast<size_t>(got);
  }
  return true;
}

bool Client::fill() {
  if (poll_one(fd_.get(), POLLIN) != 1) {
    ADD_FAILURE() << "no answer";
    return false;
  }
  char bytes[65536];
  const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(got));
  return true;
}

CallAnswer Client::receive() {
  CallAnswer answer;
  size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (!fill()) return {{}, "closed", {}, {}};
  }
  auto line = parse_json(std::string_view(buffer_).substr(0, end));
  buffer_.erase(0, end + 1);
  if (!line) {
    ADD_FAILURE() << line.error().text;
    return {{}, "no JSON", {}, {}};
  }
  if (const Json* sizes = line->find("blobs")) {
    for (const Json& size : sizes->items) {
      while (buffer_.size() < *size.as_uint64()) {
        if (!fill()) return {{}, "closed", {}, {}};
      }
      answer.blobs.push_back(buffer_.substr(0, *size.as_uint64()));
      buffer_.erase(0, *size.as_uint64());
    }
  }
  if (const Json* error = line->find("error")) {
    answer.error = error->find("data")->find("name")->text;
    answer.text = error->find("message")->text;
    return answer;
  }
  answer.result = *line->find("result");
  return answer;
}

CallAnswer Client::call(std::string_view method, std::string_view params,
                        const std::vector<std::string_view>& blobs, int passed_fd) {
  if (!connected() || !send(method, params, blobs, passed_fd)) return {{}, "closed", {}, {}};
  return receive();
}

Json Client::must(std::string_view method, std::string_view params,
                  const std::vector<std::string_view>& blobs) {
  auto answer = call(method, params, blobs);
  if (answer.result) return *std::move(answer.result);
  ADD_FAILURE() << method << ": " << answer.error << ": " << answer.text;
  return {};
}

int as_user(uid_t uid, const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(uid) != 0 || ::setuid(uid) != 0) ::_exit(126);
    ::_exit(body());
  }
  int raw = 0;
  ::waitpid(child, &raw, 0);
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

std::string whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace ebla::daemon
