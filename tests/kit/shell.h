// Ordinary programs, as a user of the mount runs them.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "schema/base/fd.h"

extern char** environ;

namespace ebla::kit {

struct ShellResult {
  int status = -1;     // exit status; 128 + signal
  std::string output;  // stdout and stderr
};

inline ShellResult shell(const std::string& command) {
  ShellResult result;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return result;
  UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDERR_FILENO);
  std::string name = "sh";
  std::string option = "-c";
  std::string whole = "export LC_ALL=C; " + command;
  std::array<char*, 4> argv{name.data(), option.data(), whole.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/bin/sh", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return result;
  to.reset();
  std::array<char, 65536> part{};
  for (;;) {
    const auto n = read_full(from.get(), part.data(), part.size());
    if (!n || *n == 0) break;
    result.output.append(part.data(), *n);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace ebla::kit
