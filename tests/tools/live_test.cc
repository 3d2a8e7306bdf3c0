// The command line against the real daemon and a real mount.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LiveTest : public testing::Test {
 protected:
  void SetUp() override {
    if (access("/dev/fuse", R_OK | W_OK) != 0) {
      GTEST_SKIP() << "/dev/fuse can not be used here";
    }
    ASSERT_NE(std::getenv("EBLAD_FOLDER"), nullptr) << "the build says where eblad is";
  }
  void TearDown() override {
    if (pid_ > 0) {
      stop();
    }
  }

  Command command(std::vector<std::string> words) const {
    Command command;
    command.words = std::move(words);
    command.environment = {{"EBLA_SOCKET", folder_ / "sock"},
                           {"HOME", folder_.path()},
                           {"PATH", std::string(std::getenv("EBLAD_FOLDER")) + ":/usr/bin:/bin"}};
    return command;
  }
  Ran run(std::vector<std::string> words) const { return command(std::move(words)).run(); }
  Json json(std::vector<std::string> words) const {
    words.emplace_back("--json");
    const Ran ran = run(std::move(words));
    EXPECT_EQ(ran.status, 0) << ran.err;
    auto value = parse_json(ran.out);
    EXPECT_TRUE(value) << ran.out;
    return value ? *value : Json();
  }

  void start() {
    const Ran ran = run({"start", "--store", folder_ / "x.db", "--mount", folder_ / "mount"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr(folder_ / "mount"), HasSubstr(folder_ / "x.db"),
                               HasSubstr(folder_ / "sock")));
    pid_ = static_cast<pid_t>(json({"status"}).find("pid")->as_int64().value());
  }
  void stop() {
    const Ran ran = run({"stop"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr((folder_ / "mount") + " is no longer mounted"));
    reap(0);
  }
  // The daemon is a child of the test, which an ebla of its own would leave to init.
  void reap(int signal) {
    int status = -1;
    EXPECT_EQ(waitpid(std::exchange(pid_, 0), &status, 0) > 0, true);
    EXPECT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), signal);
  }
  std::string from_mount(const std::string& path) const {
    return read_file((folder_ / "mount") + path, 64 * limits::kMiB).value_or("cannot be read");
  }

  kit::TempDir folder_{"live"};
  pid_t pid_ = 0;
};

TEST_F(LiveTest, FilesOfTheTreeAreWrittenFromTheCommandLine) {
  start();
  Command write = command({"write", "notes/plan.txt", "--parents"});
  write.input = "第一\nsecond\n";
  EXPECT_EQ(write.run().status, 0);
  EXPECT_EQ(from_mount("/notes/plan.txt"), "第一\nsecond\n");
  write = command({"write", "/notes/plan.txt", "-", "--append"});
  write.input = "third\n";
  EXPECT_EQ(write.run().status, 0);
  Ran ran = run({"edit", "/notes/plan.txt", "second", "2nd"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, "/notes/plan.txt: 1 place replaced, line 2\n");
  EXPECT_EQ(from_mount("/notes/plan.txt"), "第一\n2nd\nthird\n");
  ran = run({"edit", "/notes/plan.txt", "nowhere", "x"});
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.err, HasSubstr("old is not in the file"));
  EXPECT_EQ(run({"mkdir", "/notes"}).status, 1);
  EXPECT_EQ(run({"mkdir", "/notes/old/er", "--parents"}).status, 0);
  EXPECT_EQ(run({"mv", "/notes/plan.txt", "/notes/old/plan.txt"}).status, 0);
  EXPECT_EQ(from_mount("/notes/old/plan.txt"), "第一\n2nd\nthird\n");
  ran = run({"rm", "/notes", "/conversation_history"});
  EXPECT_NE(ran.status, 0) << "nothing but Ebla's own is there";
  EXPECT_THAT(ran.err, HasSubstr("/conversation_history"));
  EXPECT_NE(access((folder_ / "mount/notes").c_str(), F_OK), 0);
  EXPECT_EQ(run({"edit", "/x"}).status, kExitUsage);
  EXPECT_EQ(run({"mv", "/x"}).status, kExitUsage);
  EXPECT_EQ(run({"rm"}).status, kExitUsage);
}

TEST_F(LiveTest, ARealTextIsPutAwayAndReadBackOverKillAndRestart) {
  const std::string text = kit::even_lines(240'000, 3'886);
  start();
  Command evict = command({"evict", "--id", "call_1", "--tool", "build"});
  evict.input = text;
  const Ran first = evict.run();
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr((folder_ / "mount") + "/large_tool_results/call_1"));
  EXPECT_TRUE(from_mount("/large_tool_results/call_1") == text);

  ASSERT_EQ(kill(pid_, SIGKILL), 0);
  reap(SIGKILL);
  EXPECT_EQ(run({"status"}).status, kExitNotRunning);
  start();
  EXPECT_TRUE(from_mount("/large_tool_results/call_1") == text);
  evict.input_by_pipe = true;
  EXPECT_EQ(evict.run().out, first.out) << "the same item, the same bytes, for ever";

  EXPECT_THAT(run({"ls", "/large_tool_results"}).out, HasSubstr("240000"));
  EXPECT_THAT(run({"stat", "large_tool_results/call_1"}).out, HasSubstr("user.ebla.tool"));
  EXPECT_THAT(run({"sessions"}).out, HasSubstr("default"));
  EXPECT_THAT(run({"stats"}).out, HasSubstr("store.evictions"));
  EXPECT_EQ(run({"read", "/large_tool_results/call_2"}).status, kExitNotFound);
  stop();
  EXPECT_EQ(run({"stop"}).status, kExitNotRunning);
  start();
}

TEST_F(LiveTest, PagesJoinedAreTheFile) {
  start();
  for (const auto& [name, text] : kit::all_shapes()) {
    Command evict = command({"evict", "--id", name, "--force", "--json"});
    evict.input = text;
    const auto reply = parse_json(evict.run().out);
    if (!reply || !reply->find("evicted")->boolean) {
      continue;  // too short for a replacement to pay
    }
    const std::string path = reply->find("path")->text;
    EXPECT_TRUE(from_mount(path) == text) << name;
    std::string joined;
    std::vector<std::string> words = {"read", path, "--limit", "1000"};
    for (;;) {
      const Json page = json(words);
      if (page.find("binary") != nullptr || page.find("encoding")->text != "utf-8") {
        joined = text;  // shown as escapes: the mount has given the bytes above
        break;
      }
      joined += page.find("text")->text;
      const Json* next = page.find("next");
      if (next == nullptr) {
        break;
      }
      const Json* column = page.find("next_column");
      words = {"read",     path,       "--limit",  "1000",
               "--offset", next->text, "--column", column == nullptr ? "0" : column->text};
    }
    EXPECT_TRUE(joined == text) << name;
  }
}

TEST_F(LiveTest, SmallContentComesBackAndLeavesNoFile) {
  start();
  Command evict = command({"evict"});
  evict.input_by_pipe = true;
  for (const std::string& text : {std::string(), std::string("small\n"), kit::prose(80'000)}) {
    evict.input = text;
    const Ran ran = evict.run();
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_TRUE(ran.out == text);
  }
  EXPECT_EQ(run({"ls", "/large_tool_results"}).out, "");
}

TEST_F(LiveTest, TheMountCanBeListedAsSoonAsStartReturns) {
  for (int i = 0; i < 10; ++i) {
    start();
    std::error_code error;
    const std::filesystem::directory_iterator listing(folder_ / "mount", error);
    EXPECT_FALSE(error) << error.message();
    EXPECT_NE(listing, std::filesystem::directory_iterator());
    stop();
  }
}

TEST_F(LiveTest, TheSecondDaemonOnAStoreIsRefusedWithItsStatus) {
  start();
  Command second =
      command({"start", "--store", folder_ / "x.db", "--no-mount", "--socket", folder_ / "other"});
  const Ran ran = second.run();
  EXPECT_EQ(ran.status, kExitStoreLocked) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(std::to_string(pid_)));
}

TEST_F(LiveTest, AMistakeInAnOptionIsTheDaemonsToName) {
  const Ran ran = run({"start", "--store", folder_ / "x.db", "--no-mount", "--threds", "5"});
  EXPECT_EQ(ran.status, kExitUsage);
  EXPECT_THAT(ran.err, HasSubstr("threds"));
}

}  // namespace
}  // namespace ebla::tools
