#include "tests/kit/mounted_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <iostream>
#include <sstream>

#include "schema/base/clock.h"
#include "tests/kit/fill_store.h"
#include "tests/kit/model_store.h"

namespace ebla::kit {
namespace {

constexpr int kPatienceMs = 60'000;
constexpr size_t kMessageBytes = 65536;

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

bool is_suspicious(const std::string& text) {
  for (const char* word : {"rror", "arning", "libfuse", "anitizer", "terminate", "ssert"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

std::string built_in(ChildSide& side, const std::string& question, bool& known) {
  known = true;
  std::istringstream words(question);
  std::string verb;
  words >> verb;
  std::string rest;
  std::getline(words >> std::ws, rest);
  if (verb == "counts") {
    std::string out;
    for (const auto& [name, n] : side.table.request_counts())
      out += fmt::format("{} {}\n", name, n);
    return out;
  }
  if (verb == "unmount") {
    const auto ended = side.table.unmount_all(std::chrono::milliseconds(std::stoi(rest)));
    return ended ? "" : ended.error().text;
  }
  if (verb == "mount") {
    const auto spec = fs::parse_mount_spec(rest);
    if (!spec) return spec.error().text;
    const auto made = side.table.mount(*spec);
    return made ? "" : made.error().text;
  }
  if (verb == "unmount-one") {
    const auto gone = side.table.unmount(rest);
    return gone ? "" : gone.error().text;
  }
  if (verb == "list") {
    std::string out;
    for (const auto& one : side.table.list()) {
      out += fmt::format("{} {}\n", one.alive ? "alive" : "dead", one.spec.directory);
    }
    return out;
  }
  if (verb == "put") {
    const size_t space = rest.find(' ');
    side.put(rest.substr(0, space), space == std::string::npos ? "" : rest.substr(space + 1));
    return "";
  }
  known = false;
  return "";
}

}  // namespace

void ChildSide::deliver(const ChangeSet& changes) {
  std::promise<void> told;
  table.deliver(changes, [&told] { told.set_value(); });
  told.get_future().wait();
}

void ChildSide::put(const std::string& name, const std::string& bytes, const std::string& session) {
  const auto done = kit::put(store, session, name, bytes, uid, uid);
  if (!done.result) {
    std::cerr << "error: put " << name << ": " << done.result.error().text << "\n";
    return;
  }
  deliver(done.changes);
}

void ChildSide::open_session(const std::string& id) {
  const auto done = kit::open_session(store, id, uid, uid);
  if (!done.result) {
    std::cerr << "error: session " << id << ": " << done.result.error().text << "\n";
    return;
  }
  deliver(done.changes);
}

std::string MountedChild::unusable() {
  if (access("/dev/fuse", R_OK | W_OK) != 0) {
    return fmt::format("/dev/fuse cannot be used here: {}", std::strerror(errno));
  }
  if (geteuid() != 0) return "mount tests run as root";
  return "";
}

MountedChild::MountedChild(Plan plan) : plan_(std::move(plan)) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  std::cout.flush();
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    serve(ends[1]);
  }
  close(ends[1]);
  channel_ = ends[0];
  mount_error_ = receive();
}

void MountedChild::serve(int channel) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const std::string log = folder_ / "stderr";
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  dup2(fd, STDERR_FILENO);
  if (plan_.before) plan_.before();
  if (plan_.uid != 0 &&
      (setgroups(0, nullptr) != 0 || setgid(plan_.uid) != 0 || setuid(plan_.uid) != 0)) {
    std::abort();
  }
  const SystemClock clock;
  {
    const auto store =
        plan_.open ? plan_.open(clock) : make_model_store(clock, plan_.uid, plan_.uid);
    if (store == nullptr) std::abort();
    if (plan_.options.fsname.empty()) plan_.options.fsname = "/test/store.db";
    if (plan_.options.version.empty()) plan_.options.version = "0.1.0";
    if (plan_.options.socket_path.empty()) plan_.options.socket_path = "/test/ebla.sock";
    auto table = fs::MountTable::create(*store, plan_.options);
    if (!table) std::abort();
    ChildSide side{*store, **table, plan_.uid};
    side.open_session("default");
    if (plan_.seed) plan_.seed(side);
    std::string error;
    for (const std::string& text : plan_.mounts) {
      bool known = false;
      if (error.empty()) error = built_in(side, "mount " + text, known);
    }
    send(channel, error.data(), error.size(), MSG_NOSIGNAL);
    std::string question(kMessageBytes, '\0');
    for (;;) {
      const ssize_t n = recv(channel, question.data(), question.size(), 0);
      if (n <= 0) break;
      const std::string text = question.substr(0, static_cast<size_t>(n));
      bool known = false;
      std::string reply = built_in(side, text, known);
      if (!known && plan_.answer) reply = plan_.answer(side, text);
      send(channel, reply.data(), reply.size(), MSG_NOSIGNAL);
    }
  }
  std::cerr.flush();
  _exit(0);
}

std::string MountedChild::receive() {
  pollfd ready = {.fd = channel_, .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, kPatienceMs) != 1) {
    ADD_FAILURE() << "the serving child does not answer: " << read_all(folder_ / "stderr");
    kill(pid_, SIGKILL);
    return "no answer";
  }
  std::string out(kMessageBytes, '\0');
  const ssize_t n = recv(channel_, out.data(), out.size(), 0);
  out.resize(n < 0 ? 0 : static_cast<size_t>(n));
  return out;
}

std::string MountedChild::ask(const std::string& question) {
  if (send(channel_, question.data(), question.size(), MSG_NOSIGNAL) < 0) {
    ADD_FAILURE() << "the serving child is gone: " << read_all(folder_ / "stderr");
    return "";
  }
  return receive();
}

std::map<std::string, uint64_t> MountedChild::counts() {
  std::map<std::string, uint64_t> out;
  std::istringstream lines(ask("counts"));
  std::string name;
  uint64_t n = 0;
  while (lines >> name >> n) out[name] = n;
  return out;
}

void MountedChild::kill_hard() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  killed_ = true;
}

std::string MountedChild::stop() {
  if (channel_ >= 0) {
    shutdown(channel_, SHUT_RDWR);  // also where another process has a copy of it
    close(channel_);
  }
  channel_ = -1;
  if (pid_ > 0) {
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child ended with " << status;
    pid_ = -1;
  }
  return read_all(folder_ / "stderr");
}

MountedChild::~MountedChild() {
  const std::string text = stop();
  EXPECT_FALSE(is_suspicious(text)) << text;
  if (killed_) return;
  const std::string mounts = read_all("/proc/self/mountinfo");
  for (const std::string& spec : plan_.mounts) {
    const size_t at = spec.find('=');
    const std::string folder = at == std::string::npos ? spec : spec.substr(at + 1);
    if (mounts.find(" " + folder + " ") != std::string::npos) {
      std::cerr << "still mounted: " << folder << "\n";
      std::abort();
    }
  }
}

}  // namespace ebla::kit
