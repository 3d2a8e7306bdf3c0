// One run of a summariser's command: what it gets, and how it ends.
#include "daemon/summariser/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "tests/kit/temp_dir.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;

class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  Result<std::string> run(const std::string& command, std::string_view input = "",
                          std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    CommandRun one;
    one.command = command;
    one.input = input;
    one.environment = {{"EBLA_SESSION", "s-1"}};
    one.output_limit_bytes = limits::kMiB;
    one.time_limit = limit;
    one.stop_fd = stop_.get();
    return run_command(one);
  }

  UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};
};

TEST_F(CommandTest, TextInTextOut) {
  const std::string input(3'000'000, 'x');
  EXPECT_EQ(run("wc -c", input), "3000000\n");
  EXPECT_EQ(run("printf '%s' \"$EBLA_SESSION\""), "s-1");
  EXPECT_EQ(run("head -c 5", input), "xxxxx") << "it need not read all";
  EXPECT_EQ(run("printf 'a\\000b'"), std::string("a\0b", 3));
}

TEST_F(CommandTest, GetsNothingOfOursButThreeDescriptors) {
  const UniqueFd leak(::open("/dev/null", O_RDONLY));  // not close-on-exec
  EXPECT_EQ(run("ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ") << "3 is ls's own";
}

TEST_F(CommandTest, HasNoChildButItsOwn) {
  EXPECT_EQ(run("exec cat /proc/self/task/$$/children"), "");
}

TEST_F(CommandTest, ItsWholeGroupEndsWithIt) {
  const kit::TempDir folder;
  // The background process keeps stdout open; the run ends with its leader all the same.
  const auto text = run("sleep 1000 & echo $! > " + (folder / "pid") + "; echo done");
  EXPECT_EQ(text, "done\n");
  pid_t pid = 0;
  std::ifstream(folder / "pid") >> pid;
  ASSERT_GT(pid, 0);
  // It was killed before the run ended; dying takes it a moment.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::string state = "alive";
  while (!state.empty() && state.find(") Z ") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), patience) << state;
    state = read_file("/proc/" + std::to_string(pid) + "/stat", 4096).value_or("");
  }
}

// Whoever holds the other end of the FIFO is alive.
TEST_F(CommandTest, ItsWholeGroupEndsWithAKilledDaemon) {
  const kit::TempDir folder;
  const std::string fifo = folder / "alive";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const pid_t daemon = ::fork();
  ASSERT_GE(daemon, 0);
  if (daemon == 0) {
    static_cast<void>(run("exec > " + fifo + "; echo up; sleep 1000 & sleep 1000; echo late", "",
                          std::chrono::hours(1)));
    ::_exit(0);
  }
  const UniqueFd alive(::open(fifo.c_str(), O_RDONLY));
  std::array<char, 16> text{};
  EXPECT_EQ(::read(alive.get(), text.data(), text.size()), 3);
  ::kill(daemon, SIGKILL);
  ASSERT_EQ(::waitpid(daemon, nullptr, 0), daemon);
  EXPECT_EQ(::read(alive.get(), text.data(), text.size()), 0) << "an end, when all are gone";
}

TEST_F(CommandTest, TimeAndOutputAreBounded) {
  EXPECT_EQ(run("sleep 1000", "", std::chrono::milliseconds(200)).error().code, Code::timeout);
  EXPECT_EQ(run("yes").error().code, Code::too_large);
  EXPECT_EQ(run("yes >&2", "", std::chrono::milliseconds(300)).error().code, Code::timeout);
  // Even when it takes no signal that can be ignored.
  EXPECT_EQ(run("trap '' TERM INT HUP; while :; do :; done", "", std::chrono::milliseconds(200))
                .error()
                .code,
            Code::timeout);
}

TEST_F(CommandTest, WhatLeftTheGroupAndKeepsThePipeHoldsUpNobody) {
  const kit::TempDir folder;
  const auto text =
      run("setsid sh -c 'echo $$ > " + (folder / "pid") + "; exec sleep 1000' & while [ ! -s " +
          (folder / "pid") + " ]; do :; done; echo done");
  EXPECT_EQ(text, "done\n");
  pid_t pid = 0;
  std::ifstream(folder / "pid") >> pid;
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGKILL);  // it is another's now: no signal of ours reaches its group
}

TEST_F(CommandTest, AFloodTakesNoMemory) {
  const auto resident = [] {
    const std::string text = read_file("/proc/self/statm", 4096).value_or("");
    return std::stoull(text.substr(text.find(' ') + 1)) * 4096;
  };
  const auto before = resident();
  EXPECT_FALSE(run("yes 'a flood of text' | head -c 200000000; sleep 1000", "",
                   std::chrono::milliseconds(2'000)));
  EXPECT_FALSE(run("yes 'a flood of errors' | head -c 200000000 >&2; exit 1"));
  EXPECT_LT(resident(), before + 32 * limits::kMiB);
}

TEST_F(CommandTest, WhatIsNoProgramSaysSo) {
  const kit::TempDir folder;
  std::ofstream(folder / "text") << "no program";
  EXPECT_THAT(run(folder / "text").error().text, HasSubstr("status 126"));
  EXPECT_THAT(run(folder / "none").error().text, HasSubstr("status 127"));
  EXPECT_THAT(run(folder.path()).error().text, HasSubstr("status 126"));
}

TEST_F(CommandTest, ItsErrorIsItsLastWords) {
  const auto failed = run("echo first >&2; printf 'the \\033[31mlast\\n\\n' >&2; exit 7");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::io_error);
  EXPECT_THAT(failed.error().text, HasSubstr("status 7: the \\x1b[31mlast"));
  EXPECT_THAT(run("exit 1").error().text, HasSubstr("said nothing"));
  EXPECT_THAT(run("kill -SEGV $$").error().text, HasSubstr("signal 11"));
}

TEST_F(CommandTest, AStopEndsIt) {
  const uint64_t one = 1;
  ASSERT_EQ(::write(stop_.get(), &one, sizeof one), 8);
  EXPECT_EQ(run("sleep 1000").error().code, Code::unavailable);
}

}  // namespace
}  // namespace ebla::daemon
