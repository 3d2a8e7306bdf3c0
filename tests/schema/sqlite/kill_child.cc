#include "tests/schema/sqlite/kill_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "schema/sqlite/open.h"

extern char** environ;

namespace ebla {

const char* self_path = nullptr;

std::unique_ptr<Store> open_at(const std::string& path, const Clock& clock) {
  sqlite::OpenOptions options;
  options.path = path;
  options.clock = &clock;
  auto opened = sqlite::open_store(options);
  if (opened) return std::move(*opened);
  std::fprintf(stderr, "open: %s\n", opened.error().text.c_str());
  return nullptr;
}

Child start_child(std::string flag, std::string store, uint64_t number) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Child started{.pid = 0, .out = UniqueFd(ends[0])};
  const UniqueFd in(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), 1);
  std::string digits = std::to_string(number);
  std::string program = self_path;
  char* const arguments[] = {program.data(), flag.data(), store.data(), digits.data(), nullptr};
  EXPECT_EQ(posix_spawn(&started.pid, self_path, &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return started;
}

void expect_killed(const Child& child) {
  int status = 0;
  ASSERT_EQ(waitpid(child.pid, &status, 0), child.pid);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
}

uint64_t kill_rounds() {
  const char* text = std::getenv("EBLA_KILL_ROUNDS");
  return text == nullptr ? 20 : std::strtoull(text, nullptr, 10);
}

}  // namespace ebla
