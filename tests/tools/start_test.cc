// `ebla start` with shell scripts in the place of eblad: how it is started, and how its end is
// told.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "schema/base/limits.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"
#include "tests/tools/fake_daemon.h"
#include "tools/launch.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StartTest : public testing::Test {
 protected:
  StartTest() { std::filesystem::create_directory(folder_ / "bin"); }

  void eblad(std::string_view script) const {
    auto fd = open_file(folder_ / "bin/eblad", O_WRONLY | O_CREAT | O_TRUNC, 0700);
    ASSERT_TRUE(fd && write_full(fd->get(), "#!/bin/sh\n") && write_full(fd->get(), script));
  }
  Ran start(std::vector<std::string> words) const {
    Command command;
    command.words = {"start"};
    command.words.insert(command.words.end(), words.begin(), words.end());
    command.environment = {
        {"PATH", folder_ / "bin"}, {"EBLA_SOCKET", folder_ / "sock"}, {"HOME", folder_.path()}};
    return command.run();
  }
  std::string text_of(const std::string& name) const {
    return read_file(folder_ / name, limits::kMiB).value_or("");
  }
  std::string log() const { return text_of(".local/state/ebla/default.log"); }

  kit::TempDir folder_{"start"};
};

FakeAnswer status_of_store(const std::string& store) {
  JsonWriter json;
  json.begin_object().member("pid", 1).member("store", store).key("mounts").begin_array();
  json.end_array().end_object();
  return result(json.take());
}

TEST_F(StartTest, TheDaemonsOwnMessageAndStatusArePassedOn) {
  for (const int status : {1, 2, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17}) {
    eblad("echo '<3>eblad: this is why' >&2; exit " + std::to_string(status));
    const Ran ran = start({"--no-mount"});
    EXPECT_EQ(ran.status, status) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("eblad did not start: eblad: this is why\n"));
    EXPECT_THAT(ran.err, HasSubstr(folder_ / ".local/state/ebla/default.log"));
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(StartTest, OnlyTheNewMessageIsShown) {
  eblad("echo first; exit 1");
  EXPECT_THAT(start({"--no-mount"}).err, HasSubstr("first"));
  eblad("echo second\x1b; exit 1");
  EXPECT_THAT(start({"--no-mount"}).err, AllOf(HasSubstr("second\\x1b"), Not(HasSubstr("first"))));
  EXPECT_EQ(log(), "first\nsecond\x1b\n");
}

TEST_F(StartTest, AnEndWithoutAWordIsTold) {
  eblad("exit 0");
  EXPECT_THAT(start({"--no-mount"}).err, HasSubstr("exit status 0"));
  eblad("exec 3>&-; kill -SEGV $$");
  const Ran killed = start({"--no-mount"});
  EXPECT_EQ(killed.status, kExitFailure);
  EXPECT_THAT(killed.err, HasSubstr("killed by signal 11"));
}

TEST_F(StartTest, TheUsualMountGivesWayToAnyOther) {
  if (access("/dev/fuse", R_OK | W_OK) != 0) {
    GTEST_SKIP() << "/dev/fuse can not be used, which start says before it starts anything";
  }
  eblad("printf '%s ' \"$@\"; exit 1");
  std::filesystem::copy(folder_ / "bin/eblad", folder_ / "bin/fusermount3");
  const std::string usual = "--mount=" + (folder_ / ".ebla");
  const std::string file = folder_ / "ebla.conf";
  const auto configure = [&file](std::string_view text) {
    auto fd = open_file(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_TRUE(fd && write_full(fd->get(), text));
  };
  EXPECT_THAT(start({}).err, HasSubstr(usual));
  configure("# mount = /a\nmounts=/b\nstore = mount\n");
  EXPECT_THAT(start({"--config", file}).err, HasSubstr(usual));
  for (const char* text :
       {"mount=/a", "store = /s\n \t mount = /large_tool_results=/b\r\n", "no-mount = yes\n"}) {
    configure(text);
    EXPECT_THAT(start({"--config=" + file}).err, Not(HasSubstr(usual))) << text;
  }
  EXPECT_THAT(start({"--mount", "/m"}).err, Not(HasSubstr(usual)));
  EXPECT_THAT(start({"--no-mount"}).err, Not(HasSubstr(usual)));
}

TEST_F(StartTest, NoEbladAnywhere) {
  const Ran ran = start({"--no-mount"});
  EXPECT_EQ(ran.status, kExitBadConfiguration);
  EXPECT_THAT(ran.err, HasSubstr("eblad is not installed"));
}

TEST_F(StartTest, HomeIsNeededForTheUsualMountOnly) {
  eblad("exit 9");
  Command command;
  command.words = {"start"};
  command.environment = {{"PATH", folder_ / "bin"},
                         {"EBLA_SOCKET", folder_ / "sock"},
                         {"XDG_STATE_HOME", folder_.path()}};
  EXPECT_THAT(command.run().err, AllOf(HasSubstr("HOME"), HasSubstr("--no-mount")));
  command.words.emplace_back("--no-mount");
  EXPECT_THAT(command.run().err, HasSubstr("exit status 9"));
}

TEST_F(StartTest, WordsSessionAndDescriptorsOfTheDaemon) {
  const FakeDaemon answering(folder_ / "real",
                             [](const FakeRequest&) { return status_of_store("/s"); });
  // Says what it was given, then is there: the socket appears as a link to the fake's.
  eblad("cd " + folder_.path() +
        "\nprintf '%s\\n' \"$@\" >words\nls /proc/self/fd >fds\ncut -d' ' -f6 /proc/$$/stat "
        ">session\n"
        "echo $$ >pid\necho to the log\nln -s real sock\necho >&3\nexec 3>&-\nexec sleep 1000\n");
  // A descriptor that the caller leaves open must not live on in the daemon.
  const UniqueFd open_for_all(open("/dev/null", O_RDONLY));
  const Ran ran = start({"--no-mount", "--threads", "3"});
  const pid_t pid = std::stoi(text_of("pid"));
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("eblad runs as process"), HasSubstr("default.log")));
  EXPECT_EQ(text_of("words"),
            "--no-mount\n--threads\n3\n--socket=" + (folder_ / "sock") + "\n--ready-fd\n3\n");
  EXPECT_EQ(std::stoi(text_of("session")), pid);
  EXPECT_EQ(text_of("fds"), "0\n1\n2\n3\n4\n") << "4 is the folder that ls itself reads";
  EXPECT_EQ(log(), "to the log\n");
  EXPECT_THAT(start({"--no-mount"}).out, HasSubstr("runs already"));
  EXPECT_EQ(kill(pid, SIGKILL), 0);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

TEST_F(StartTest, ADaemonOfAnotherStoreOrMountWillNotDo) {
  const FakeDaemon answering(folder_ / "sock",
                             [](const FakeRequest&) { return status_of_store("/a.db"); });
  EXPECT_EQ(start({"--store", "/a.db"}).status, 0);
  const Ran store = start({"--store=/b.db"});
  EXPECT_EQ(store.status, kExitSocketInUse);
  EXPECT_THAT(store.err, AllOf(HasSubstr("/a.db"), HasSubstr("/b.db"), HasSubstr("--socket")));
  const Ran mount = start({"--mount", "/large_tool_results=/m"});
  EXPECT_EQ(mount.status, kExitMountFailed);
  EXPECT_THAT(mount.err, HasSubstr("does not mount /m"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / ".local")) << "nothing is made for these answers";
}

TEST_F(StartTest, AStoreFolderThatIsMissingIsNamed) {
  eblad("exit 9");
  const Ran ran = start({"--no-mount", "--store", folder_ / "no/such/x.db"});
  EXPECT_EQ(ran.status, kExitNotFound);
  EXPECT_THAT(ran.err, HasSubstr(folder_ / "no/such/x.log"));
}

TEST_F(StartTest, ALargeLogIsSetAside) {
  std::string path = folder_ / "x.log";
  {
    auto fd = open_file(path, O_WRONLY | O_CREAT, 0600);
    ASSERT_TRUE(fd && write_full(fd->get(), std::string(5 * limits::kMiB, 'x')));
  }
  const auto log = StartLog::open(path, false);
  ASSERT_TRUE(log);
  EXPECT_EQ(std::filesystem::file_size(path), 0U);
  EXPECT_EQ(std::filesystem::file_size(path + ".old"), 5 * limits::kMiB);
  EXPECT_EQ(log->news(), "");
}

TEST_F(StartTest, StopLeavesAProcessAloneThatIsNotWhatItSays) {
  const FakeDaemon answering(folder_ / "sock",
                             [](const FakeRequest&) { return status_of_store("/a.db"); });
  Command stop;
  stop.words = {"stop"};
  stop.environment = {{"EBLA_SOCKET", folder_ / "sock"}};
  const Ran ran = stop.run();
  EXPECT_EQ(ran.status, kExitDenied);
  EXPECT_THAT(ran.err, HasSubstr("is left alone"));
}

}  // namespace
}  // namespace ebla::tools
