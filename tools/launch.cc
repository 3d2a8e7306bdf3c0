#include "tools/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

#include "schema/base/limits.h"
#include "tools/process.h"

namespace ebla::tools {
namespace {

constexpr uint64_t kLogBytes = 4 * limits::kMiB;
constexpr size_t kNewsBytes = 16 * limits::kKiB;
constexpr size_t kNewsLines = 20;
constexpr int kReadyFd = 3;

Result<void> make_folders(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) {
    return {};
  }
  if (folder.has_parent_path() && folder.parent_path() != folder) {
    if (auto made = make_folders(folder.parent_path()); !made) {
      return made;
    }
  }
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return std::unexpected(errno_error(errno, "cannot make the folder " + folder.string()));
  }
  return {};
}

Result<UniqueFd> open_log(const std::string& path) {
  auto fd = open_file(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0600);
  if (!fd) {
    fd.error().text = "cannot write the daemon's log: " + fd.error().text;
  }
  return fd;
}

uint64_t size_of(int fd) {
  struct stat info{};
  return fstat(fd, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

bool same_file(int fd, const std::string& path) {
  struct stat open_one{};
  struct stat named{};
  return fstat(fd, &open_one) == 0 && stat(path.c_str(), &named) == 0 &&
         open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

// posix_spawn's two option objects, freed together.
struct SpawnPlan {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  SpawnPlan() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

Result<pid_t> spawn(const std::string& program, std::vector<std::string>& words, int ready_fd,
                    int log_fd) {
  SpawnPlan plan;
  int failed = 0;
  failed |= posix_spawn_file_actions_addopen(&plan.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  failed |= posix_spawn_file_actions_adddup2(&plan.files, log_fd, STDOUT_FILENO);
  failed |= posix_spawn_file_actions_adddup2(&plan.files, log_fd, STDERR_FILENO);
  failed |= posix_spawn_file_actions_adddup2(&plan.files, ready_fd, kReadyFd);
  failed |= posix_spawn_file_actions_addclosefrom_np(&plan.files, kReadyFd + 1);
  // Signals as a fresh program expects them, whatever the caller has done to them.
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  failed |= posix_spawnattr_setsigmask(&plan.attributes, &none);
  failed |= posix_spawnattr_setsigdefault(&plan.attributes, &all);
  failed |= posix_spawnattr_setflags(
      &plan.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (failed != 0) {
    return fail(Code::internal_error, "cannot prepare the start of eblad: no memory");
  }
  std::vector<char*> argv;
  std::string name = program;
  argv.push_back(name.data());
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program.c_str(), &plan.files, &plan.attributes, argv.data(), environ);
  if (error != 0) {
    return std::unexpected(errno_error(error, "cannot run " + program));
  }
  return pid;
}

int status_of(const siginfo_t& info) {
  constexpr int kSignalled = 128;
  return info.si_code == CLD_EXITED ? info.si_status : kSignalled + info.si_status;
}

}  // namespace

Result<StartLog> StartLog::open(std::string path, bool make_folder) {
  StartLog log;
  log.path_ = std::move(path);
  if (make_folder) {
    if (auto made = make_folders(std::filesystem::path(log.path_).parent_path()); !made) {
      return std::unexpected(made.error());
    }
  }
  // Whoever waited here may hold the lock of a file that has been renamed meanwhile.
  do {
    auto lock = open_log(log.path_);
    if (!lock) {
      return std::unexpected(lock.error());
    }
    log.lock_ = std::move(*lock);
    while (flock(log.lock_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) {
        return std::unexpected(errno_error(errno, "cannot lock " + log.path_));
      }
    }
    if (size_of(log.lock_.get()) > kLogBytes) {
      std::error_code error;
      std::filesystem::rename(log.path_, log.path_ + ".old", error);
    }
  } while (!same_file(log.lock_.get(), log.path_));
  auto fd = open_log(log.path_);
  if (!fd) {
    return std::unexpected(fd.error());
  }
  log.fd_ = std::move(*fd);
  log.start_ = size_of(log.fd_.get());
  return log;
}

std::string StartLog::news() const {
  const uint64_t end = size_of(fd_.get());
  const uint64_t from = std::max(start_, end > kNewsBytes ? end - kNewsBytes : 0);
  std::string text(end - std::min(from, end), '\0');
  auto got = pread_full(fd_.get(), text.data(), text.size(), from);
  text.resize(got ? *got : 0);
  std::vector<std::string> lines;
  size_t at = 0;
  while (at < text.size()) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, stop - at);
    // "<3>" is journald's mark of a level.
    if (line.size() >= 3 && line[0] == '<' && line[2] == '>') {
      line.erase(0, 3);
    }
    lines.push_back(std::move(line));
    at = stop + 1;
  }
  std::string out;
  for (size_t i = lines.size() > kNewsLines ? lines.size() - kNewsLines : 0; i < lines.size();
       ++i) {
    out += (out.empty() ? "" : "\n") + lines[i];
  }
  return out;
}

Result<Launched> launch(const std::string& program, std::vector<std::string> words,
                        const StartLog& log, std::chrono::milliseconds timeout) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::unexpected(errno_error(errno, "cannot make a pipe"));
  }
  const UniqueFd ready(ends[0]);
  UniqueFd ready_end(ends[1]);
  words.emplace_back("--ready-fd");
  words.push_back(fmt::to_string(kReadyFd));
  auto pid = spawn(program, words, ready_end.get(), log.fd());
  if (!pid) {
    return std::unexpected(pid.error());
  }
  ready_end.reset();
  const UniqueFd process = open_process(*pid);
  if (!process) {
    return std::unexpected(errno_error(errno, "cannot watch eblad"));
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::array<pollfd, 2> entries = {pollfd{ready.get(), POLLIN, 0},
                                   pollfd{process.get(), POLLIN, 0}};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int events =
        poll(entries.data(), entries.size(), static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (events == 0) {
      return fail(Code::timeout,
                  fmt::format("eblad (process {}) has not become ready within {} s, and goes on; "
                              "its log is {}",
                              *pid, timeout.count() / 1000, log.path()));
    }
    if (events < 0) {
      if (errno == EINTR) {
        continue;
      }
      return std::unexpected(errno_error(errno, "poll"));
    }
    if (entries[0].revents != 0) {
      char mark = 0;
      const ssize_t got = read(ready.get(), &mark, 1);
      if (got == 1) {
        return Launched{*pid, true, 0};
      }
      entries[0].fd = -1;  // closed without a word: it is about to end
    }
    if (entries[1].revents != 0) {
      siginfo_t info{};
      if (waitid(P_PIDFD, static_cast<id_t>(process.get()), &info, WEXITED) != 0) {
        return std::unexpected(errno_error(errno, "cannot learn how eblad ended"));
      }
      return Launched{*pid, false, status_of(info)};
    }
  }
}

Code exit_code(int exit_status) {
  switch (exit_status) {
    case kExitUsage:
      return Code::usage;
    case kExitNotFound:
      return Code::file_not_found;
    case kExitDenied:
      return Code::permission_denied;
    case kExitNoSpace:
      return Code::no_space;
    case kExitRetry:
      return Code::unavailable;
    case kExitCorrupt:
      return Code::corrupt;
    default:
      break;
  }
  for (int i = 0; i <= static_cast<int>(Code::not_running); ++i) {
    const CodeInfo& info = code_info(static_cast<Code>(i));
    if (info.exit_status == exit_status && exit_status >= kExitStoreLocked) {
      return info.code;
    }
  }
  return Code::internal_error;
}

}  // namespace ebla::tools
