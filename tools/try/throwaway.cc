#include "tools/try/throwaway.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/launch.h"
#include "tools/places.h"
#include "tools/process.h"
#include "tools/verbs/input.h"

namespace ebla::tools {
namespace {

constexpr std::chrono::seconds kReadyTimeout{60};
constexpr int kEndMs = 10'000;  // then it is killed: its store is thrown away anyhow
constexpr std::string_view kReady = "ready";
// Descriptors of the keeper.
constexpr int kLifeFd = 3;
constexpr int kAnswerFd = 4;
constexpr int kFirstFreeFd = 5;

struct Plan {
  std::string program;
  std::string folder;
  std::string store;
  std::vector<std::string> words;
};

// The keeper holds nothing of its owner's but the two pipes: whoever reads the owner's output must
// not wait for it.
void let_go(int life, int answer) {
  // First out of the way of each other.
  const int kept_life = fcntl(life, F_DUPFD, kFirstFreeFd);
  const int kept_answer = fcntl(answer, F_DUPFD, kFirstFreeFd);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    dup2(null, fd);
  }
  dup3(kept_life, kLifeFd, O_CLOEXEC);
  dup3(kept_answer, kAnswerFd, O_CLOEXEC);
  close_range(kFirstFreeFd, ~0U, 0);
  setsid();
}

Result<Launched> launch_daemon(const Plan& plan) {
  auto log = StartLog::open(log_path(plan.store), false);
  if (!log) {
    return std::unexpected(log.error());
  }
  auto launched = launch(plan.program, plan.words, *log, kReadyTimeout);
  if (launched && !launched->ready) {
    return fail(exit_code(launched->exit_status),
                fmt::format("the throw-away eblad did not start: {}", log->news()));
  }
  return launched;
}

void end_daemon(pid_t pid) {
  const UniqueFd process = open_process(pid);
  signal_process(process, SIGTERM);
  pollfd entry{process.get(), POLLIN, 0};
  if (poll(&entry, 1, kEndMs) == 0) {
    signal_process(process, SIGKILL);
  }
  waitpid(pid, nullptr, 0);
}

// In a process of its own. It waits for the end of its owner, which no signal can keep from it.
[[noreturn]] void keep(const Plan& plan, int life, int answer) {
  let_go(life, answer);
  const auto launched = launch_daemon(plan);
  const std::string said = launched ? std::string(kReady)
                                    : fmt::format("{}\n{}", static_cast<int>(launched.error().code),
                                                  launched.error().text);
  const bool told = write_full(kAnswerFd, said).has_value();
  close(kAnswerFd);
  if (launched) {
    pollfd entry{kLifeFd, POLLIN, 0};
    while (told && poll(&entry, 1, -1) < 0 && errno == EINTR) {
    }
    end_daemon(launched->pid);
  }
  std::error_code error;
  std::filesystem::remove_all(plan.folder, error);
  _exit(error ? EXIT_FAILURE : EXIT_SUCCESS);
}

Result<void> answer_of(const UniqueFd& from) {
  constexpr size_t kAnswerBytes = 64 * 1024;
  std::string said(kAnswerBytes, '\0');
  auto got = read_full(from.get(), said.data(), said.size());
  said.resize(got.value_or(0));
  if (said == kReady) {
    return {};
  }
  int code = static_cast<int>(Code::internal_error);
  const size_t line = said.find('\n');
  if (line == std::string::npos) {
    return fail(Code::internal_error, "the throw-away eblad did not start: its keeper has ended");
  }
  std::from_chars(said.data(), said.data() + line, code);
  return fail(static_cast<Code>(code), said.substr(line + 1));
}

Result<Plan> plan_of(const Environment& env) {
  auto program = find_daemon(env);
  if (!program) {
    return std::unexpected(program.error());
  }
  std::string folder = temp_folder(env) + "/ebla-try-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return std::unexpected(errno_error(errno, "cannot make a folder in " + temp_folder(env)));
  }
  Plan plan{*program, folder, folder + "/try.db", {}};
  plan.words = {"--store=" + plan.store, "--socket=" + folder + "/sock", "--no-mount",
                "--allow-unsafe-filesystem"};
  return plan;
}

}  // namespace

Result<ThrowawayDaemon> ThrowawayDaemon::start(const Environment& env) {
  auto plan = plan_of(env);
  if (!plan) {
    return std::unexpected(plan.error());
  }
  std::array<int, 2> life{};
  std::array<int, 2> answer{};
  if (pipe2(life.data(), O_CLOEXEC) != 0) {
    return std::unexpected(errno_error(errno, "cannot make a pipe"));
  }
  const UniqueFd life_end(life[0]);
  ThrowawayDaemon daemon;
  daemon.life_.reset(life[1]);
  if (pipe2(answer.data(), O_CLOEXEC) != 0) {
    return std::unexpected(errno_error(errno, "cannot make a pipe"));
  }
  const UniqueFd from(answer[0]);
  UniqueFd answer_end(answer[1]);
  daemon.folder_ = plan->folder;
  daemon.socket_ = usable_socket_path(plan->folder + "/sock", geteuid());
  daemon.keeper_ = fork();
  if (daemon.keeper_ < 0) {
    const Error error = errno_error(errno, "cannot start a process");
    rmdir(plan->folder.c_str());
    return std::unexpected(error);
  }
  if (daemon.keeper_ == 0) {
    close(life[1]);
    keep(*plan, life[0], answer[1]);
  }
  answer_end.reset();
  if (auto ready = answer_of(from); !ready) {
    return std::unexpected(ready.error());
  }
  return daemon;
}

ThrowawayDaemon::ThrowawayDaemon(ThrowawayDaemon&& other) noexcept
    : folder_(std::move(other.folder_)),
      socket_(std::move(other.socket_)),
      life_(std::move(other.life_)),
      keeper_(std::exchange(other.keeper_, -1)) {}

bool ThrowawayDaemon::end() {
  life_.reset();
  if (keeper_ < 0) {
    return true;
  }
  int status = 0;
  while (waitpid(keeper_, &status, 0) < 0 && errno == EINTR) {
  }
  keeper_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

}  // namespace ebla::tools
