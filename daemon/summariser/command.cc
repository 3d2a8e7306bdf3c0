#include "daemon/summariser/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

constexpr size_t kErrorBytes = 4 * limits::kKiB;  // of stderr, the last ones
constexpr size_t kErrorLineBytes = 300;
constexpr size_t kReadBytes = 64 * limits::kKiB;

using Clock = std::chrono::steady_clock;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::unexpected(errno_error(errno, "pipe for the summariser"));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void set_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// Our environment with some variables set anew.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<std::string, std::string>>& own) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      const std::string_view name = text.substr(0, text.find('='));
      bool replaced = false;
      for (const auto& [own_name, value] : own) replaced = replaced || own_name == name;
      if (!replaced) pointers_.push_back(*entry);
    }
    for (const auto& [name, value] : own) texts_.push_back(fmt::format("{}={}", name, value));
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Descriptor of the child: its end is ours, or the daemon's death.
constexpr int kLifeline = 3;
// A daemon that is killed can end nobody. Somebody in the group waits for that, and does: no child
// of the command's, which may wait for all of its own.
constexpr const char* kScript =
    "((read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 &); exec 3<&-; exec /bin/sh -c \"$1\"";

// The child, killed with its whole group when this goes, or this process does.
class Child {
 public:
  static Result<Child> start(const CommandRun& run, int in, int out, int error);
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        process_(std::move(other.process_)),
        life_(std::move(other.life_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (pid_ > 0) static_cast<void>(end());
  }
  int fd() const { return process_.get(); }  // readable when it has ended
  // Kills what is left of the group and gives the leader's status as waitpid does. The leader is
  // still unreaped at the kill, so that its number belongs to nobody else.
  int end() {
    const pid_t pid = std::exchange(pid_, -1);
    ::kill(-pid, SIGKILL);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

 private:
  Child(pid_t pid, UniqueFd process, UniqueFd life)
      : pid_(pid), process_(std::move(process)), life_(std::move(life)) {}
  pid_t pid_;
  UniqueFd process_;
  UniqueFd life_;  // nobody else has this end of the lifeline
};

Result<Child> Child::start(const CommandRun& run, int in, int out, int error) {
  auto life = open_pipe();
  if (!life) return std::unexpected(life.error());
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, life->read.get(), kLifeline);
  posix_spawn_file_actions_addclosefrom_np(&actions, kLifeline + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh";
  std::string flag = "-c";
  std::string script = kScript;
  std::string command = run.command;
  std::array<char*, 6> arguments = {shell.data(), flag.data(),    script.data(),
                                    shell.data(), command.data(), nullptr};
  Environment environment(run.environment);
  pid_t pid = -1;
  const int failed =
      ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments.data(), environment.get());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return fail(Code::io_error,
                fmt::format("the summariser could not be started: {}", std::strerror(failed)));
  }
  Child child(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
              std::move(life->write));
  if (!child.process_) return std::unexpected(errno_error(errno, "pidfd_open: the summariser"));
  return child;
}

// The run while it lasts.
class Run {
 public:
  Run(const CommandRun& run, Child child, UniqueFd in, UniqueFd out, UniqueFd error)
      : run_(run),
        deadline_(Clock::now() + run.time_limit),
        child_(std::move(child)),
        in_(std::move(in)),
        out_(std::move(out)),
        error_(std::move(error)),
        left_(run.input) {
    for (const UniqueFd* fd : {&in_, &out_, &error_}) set_nonblocking(fd->get());
    if (left_.empty()) in_.reset();
  }

  Result<std::string> finish();

 private:
  void feed();
  void take(UniqueFd& from, std::string& into);
  std::optional<Error> step();  // Code::internal_error stands for: it has ended
  std::string last_words() const;

  const CommandRun& run_;
  const Clock::time_point deadline_;
  Child child_;
  UniqueFd in_;
  UniqueFd out_;
  UniqueFd error_;
  std::string_view left_;
  std::string text_;
  std::string complaint_;
  bool ended_ = false;
};

void Run::feed() {
  const ssize_t sent = ::write(in_.get(), left_.data(), left_.size());
  if (sent > 0) left_.remove_prefix(static_cast<size_t>(sent));
  const bool over = sent < 0 && errno != EAGAIN && errno != EINTR;  // it does not read on
  if (over || left_.empty()) in_.reset();
}

// All that is there now; closes at its end.
void Run::take(UniqueFd& from, std::string& into) {
  while (from && text_.size() <= run_.output_limit_bytes) {
    const size_t at = into.size();
    into.resize(at + kReadBytes);
    const ssize_t got = ::read(from.get(), into.data() + at, kReadBytes);
    into.resize(at + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) from.reset();
    if (&into == &complaint_ && into.size() > kErrorBytes) {
      into.erase(0, into.size() - kErrorBytes);
      return;  // who floods stderr does not keep us from looking at the clock
    }
  }
}

std::optional<Error> Run::step() {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  if (left <= 0) {
    return Error{Code::timeout, fmt::format("the summariser did not end within {} s and was killed",
                                            run_.time_limit.count() / 1000)};
  }
  std::array<pollfd, 5> wait = {{{child_.fd(), POLLIN, 0},
                                 {in_.get(), POLLOUT, 0},
                                 {out_.get(), POLLIN, 0},
                                 {error_.get(), POLLIN, 0},
                                 {run_.stop_fd, POLLIN, 0}}};
  if (::poll(wait.data(), wait.size(), static_cast<int>(left)) <= 0) return std::nullopt;
  ended_ = wait[0].revents != 0;
  if (wait[1].revents != 0 && in_) feed();
  if (wait[2].revents != 0 || ended_) take(out_, text_);
  if (wait[3].revents != 0 || ended_) take(error_, complaint_);
  if (text_.size() > run_.output_limit_bytes) {
    return Error{Code::too_large, fmt::format("the summariser printed more than {} bytes and was "
                                              "killed",
                                              run_.output_limit_bytes)};
  }
  if (wait[4].revents != 0 && !ended_) {
    return Error{Code::unavailable, "the daemon is stopping: the summariser was killed"};
  }
  return std::nullopt;
}

// The last line that says something, as a message may show it.
std::string Run::last_words() const {
  std::string_view text = complaint_;
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "it said nothing on stderr";
  text = text.substr(0, end + 1);
  const size_t start = text.find_last_of("\r\n");
  if (start != std::string_view::npos) text.remove_prefix(start + 1);
  return printable(text.substr(0, kErrorLineBytes));
}

Result<std::string> Run::finish() {
  while (!ended_) {
    if (auto failed = step()) return std::unexpected(*std::move(failed));
  }
  const int status = child_.end();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(text_);
  const std::string how = WIFEXITED(status)
                              ? fmt::format("ended with status {}", WEXITSTATUS(status))
                              : fmt::format("was ended by signal {}", WTERMSIG(status));
  return fail(Code::io_error, fmt::format("the summariser {}: {}", how, last_words()));
}

}  // namespace

Result<std::string> run_command(const CommandRun& run) {
  auto in = open_pipe();
  if (!in) return std::unexpected(in.error());
  auto out = open_pipe();
  if (!out) return std::unexpected(out.error());
  auto error = open_pipe();
  if (!error) return std::unexpected(error.error());
  auto child = Child::start(run, in->read.get(), out->write.get(), error->write.get());
  if (!child) return std::unexpected(child.error());
  in->read.reset();
  out->write.reset();
  error->write.reset();
  return Run(run, *std::move(child), std::move(in->write), std::move(out->read),
             std::move(error->read))
      .finish();
}

}  // namespace ebla::daemon
