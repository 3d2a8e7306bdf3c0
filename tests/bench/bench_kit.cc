#include "tests/bench/bench_kit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace ebla::bench {
namespace {

constexpr long kFuseMagic = 0x65735546;
constexpr int kStartSeconds = 20;

bool is_fuse(const std::string& path) {
  struct statfs info{};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == kFuseMagic;
}

}  // namespace

void die(const std::string& text) {
  throw std::runtime_error(text);
}

WorkFolder::WorkFolder(const std::string& below) : path_(below + "/ebla-bench-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) die("cannot make a folder in " + below);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Child::Child(std::vector<std::string> command, int ready_fd, const std::string& mount) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) die("pipe");
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  // passthrough_hp holds a descriptor for each file that the kernel knows.
  struct rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], ready_fd);
  const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) die("cannot start " + command[0]);
  if (mount.empty()) {
    struct pollfd ready{ends[0], POLLIN, 0};
    char byte = 0;
    if (::poll(&ready, 1, kStartSeconds * 1000) != 1 || ::read(ends[0], &byte, 1) != 1) {
      die(command[0] + " did not become ready");
    }
  } else {
    for (int tries = 0; !is_fuse(mount); ++tries) {
      if (tries == kStartSeconds * 100) die(command[0] + " did not mount");
      ::usleep(10'000);
    }
  }
  ::close(ends[0]);
}

Child::~Child() {
  ::kill(pid_, SIGTERM);
  int status = 0;
  ::waitpid(pid_, &status, 0);
}

Daemon::Daemon(const std::string& eblad, const WorkFolder& folder, const std::string& name)
    : store(folder / (name + ".db")),
      socket(folder / (name + ".sock")),
      mount(folder / (name + ".mount")),
      child({eblad, "--store", store, "--socket", socket, "--mount", mount, "--ready-fd", "9",
             "--log-level", "error"},
            9) {}

double Samples::percentile(double share) const {
  if (values_.empty()) return 0;
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(at, sorted.size() - 1)];
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

uint64_t anonymous_bytes(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10) * 1024;
  }
  return 0;
}

double processor_seconds(pid_t pid) {
  clockid_t clock{};
  timespec now{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &now) != 0) die("clock");
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void print(const Row& row) {
  fmt::print("| {:<3} | {:<44} | {:<34} | {:<34} | {:<16} | {:<22} | {} |\n", row.number,
             row.metric, row.measured, row.floor, row.ratio, row.target,
             row.reached ? "yes" : "NO");
  std::fflush(stdout);
}

std::string distinct_text(size_t bytes, uint64_t seed) {
  std::string out;
  out.reserve(bytes + 100);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (size_t line = 1; out.size() < bytes; ++line) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out += fmt::format("{:>6} compile unit {:016x} took {} ms, 0 warnings\n", line, state,
                       state % 977);
  }
  out.resize(bytes);
  return out;
}

}  // namespace ebla::bench
