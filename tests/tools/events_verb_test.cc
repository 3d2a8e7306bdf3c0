// `ebla events`: a decision a line, and --follow that ends in good order.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"
#include "tests/tools/fake_daemon.h"

namespace ebla::tools {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPage =
    R"({"events":[{"id":7,"at":"now","session":"s-1","what":"tool_result","detail":"ba\u001bsh",)"
    R"("tokens_before":30000,"tokens_after":97,"path":"/large_tool_results/s-1/call_1"},)"
    R"({"id":9,"at":"now","session":"s-1","what":"session_close"}],"next":9})";
constexpr std::string_view kLines =
    "7 now s-1 tool_result ba\\x1bsh: 30000 -> 97 tokens, /large_tool_results/s-1/call_1\n"
    "9 now s-1 session_close\n";

class EventsVerbTest : public testing::Test {
 protected:
  Command command(std::vector<std::string> words) const {
    Command command;
    command.words = std::move(words);
    command.environment = {{"EBLA_SOCKET", folder_ / "sock"}};
    return command;
  }

  kit::TempDir folder_{"events-verb"};
};

TEST_F(EventsVerbTest, OneLineADecision) {
  FakeDaemon daemon(folder_ / "sock",
                    [](const FakeRequest&) { return result(std::string(kPage)); });
  const Ran ran = command({"events", "--session", "s", "--after", "5", "--limit", "20"}).run();
  EXPECT_EQ(ran.out, kLines);
  EXPECT_EQ(to_json(daemon.requests().at(0).params), R"({"session":"s","after":5,"limit":20})");
  const std::string json = command({"events", "--json"}).run().out;
  EXPECT_EQ(to_json(daemon.requests().at(1).params), "{}");
  const size_t line = json.find('\n') + 1;
  EXPECT_EQ(parse_json(json.substr(0, line))->find("id")->text, "7");
  EXPECT_EQ(parse_json(json.substr(line))->find("id")->text, "9");
  EXPECT_EQ(command({"events", "--limit", "0"}).run().status, kExitUsage);
}

// What --follow does in a process of its own; the daemon falls silent after the first page.
class Follower {
 public:
  explicit Follower(const Command& command) {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends_[0]);
      Command own = command;
      own.output = ends_[1];
      _exit(own.run().status);
    }
    close(ends_[1]);
  }
  std::string read(size_t bytes) const {
    std::string text(bytes, '\0');
    text.resize(read_full(ends_[0], text.data(), bytes).value_or(0));
    return text;
  }
  void send(int number) const { kill(pid_, number); }
  void close_output() { close(std::exchange(ends_[0], -1)); }
  int wait() {
    if (ends_[0] >= 0) {
      close_output();
    }
    int status = -1;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  std::array<int, 2> ends_{};
  pid_t pid_ = 0;
};

TEST_F(EventsVerbTest, FollowGoesOnBehindWhatItShowedAndEndsOnASignal) {
  for (const int number : {SIGINT, SIGTERM}) {
    FakeDaemon daemon(folder_ / "sock", [](const FakeRequest& request) {
      FakeAnswer silent;
      silent.keep_silent = true;
      return request.params.find("wait_ms") == nullptr ? result(std::string(kPage)) : silent;
    });
    Follower follower(command({"events", "--follow"}));
    EXPECT_EQ(follower.read(kLines.size()), kLines);
    follower.send(number);
    EXPECT_EQ(follower.wait(), 0);
    EXPECT_EQ(to_json(daemon.requests().at(0).params), "{}");
  }
}

TEST_F(EventsVerbTest, FollowEndsWhenNobodyReads) {
  FakeDaemon daemon(folder_ / "sock",
                    [](const FakeRequest&) { return result(std::string(kPage)); });
  Follower follower(command({"events", "--follow"}));
  EXPECT_EQ(follower.read(kLines.size()), kLines);
  follower.close_output();
  EXPECT_EQ(follower.wait(), 0);
}

TEST_F(EventsVerbTest, FollowSaysThatTheDaemonWentAway) {
  FakeAnswer hang_up;
  hang_up.hang_up = true;
  FakeDaemon daemon(folder_ / "sock", [&](const FakeRequest& request) {
    return request.params.find("wait_ms") == nullptr ? result(std::string(kPage)) : hang_up;
  });
  const Ran ran = command({"events", "--follow"}).run();
  EXPECT_EQ(ran.status, kExitRetry);
  EXPECT_EQ(ran.out, kLines);
  EXPECT_EQ(to_json(daemon.requests().at(1).params), R"({"after":9,"wait_ms":10000})");
}

}  // namespace
}  // namespace ebla::tools
