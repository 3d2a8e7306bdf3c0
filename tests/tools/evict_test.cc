// `ebla evict`: what goes to the daemon, and that nothing is lost whatever happens.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/real_texts.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"
#include "tests/tools/fake_daemon.h"
#include "tools/content.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kStays = R"({"evicted":false,"tokens":3,"reason":"below_limit"})";

class EvictTest : public testing::Test {
 protected:
  Command command(std::vector<std::string> words, std::string input, bool by_pipe) const {
    Command command;
    command.words = std::move(words);
    command.input = std::move(input);
    command.input_by_pipe = by_pipe;
    command.environment = {{"EBLA_SOCKET", path()}, {"TMPDIR", folder_.path()}};
    return command;
  }
  std::string path() const { return folder_ / "sock"; }

  kit::TempDir folder_{"evict"};
};

std::string sent(const FakeRequest& request) {
  return request.blobs.empty() ? request.files.at(0) : request.blobs.at(0);
}

TEST_F(EvictTest, EveryShapeArrivesByPipeAndByFile) {
  for (const auto& [name, text] : kit::all_shapes()) {
    FakeDaemon daemon(path(), [](const FakeRequest&) { return result(std::string(kStays)); });
    size_t calls = 0;
    const std::string large = above(text, Content::kMemoryBytes);
    for (const std::string& bytes : {text, large}) {
      for (const bool by_pipe : {true, false}) {
        const Ran ran = command({"evict"}, bytes, by_pipe).run();
        EXPECT_EQ(ran.status, 0) << name << ran.err;
        EXPECT_TRUE(ran.out == bytes) << name << by_pipe;
        ASSERT_EQ(daemon.requests().size(), ++calls);
        EXPECT_TRUE(sent(daemon.requests().back()) == bytes) << name << by_pipe;
      }
    }
  }
}

TEST_F(EvictTest, NothingAtAllIsAContentToo) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return result(std::string(kStays)); });
  for (const bool by_pipe : {true, false}) {
    const Ran ran = command({"evict"}, "", by_pipe).run();
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(daemon.requests().back().blobs, std::vector<std::string>{""});
  }
}

TEST_F(EvictTest, ReplacementIsPrintedByteForByte) {
  FakeAnswer answer;
  FakeDaemon daemon(path(), [&](const FakeRequest&) { return answer; });
  answer = result(R"({"evicted":true,"path":"/p","replacement":"see /p 中\nno newline"})");
  EXPECT_EQ(command({"evict"}, "content", true).run().out, "see /p 中\nno newline");
  const std::string bytes = "raw \xff\x1b[1m\n";
  answer = result(R"({"evicted":true,"path":"/p","replacement":{"$blob":0}})", {bytes});
  EXPECT_EQ(command({"evict"}, "content", true).run().out, bytes);
  Command shown = command({"evict"}, "content", true);
  shown.terminal = true;
  EXPECT_EQ(shown.run().out, "raw \\xff\\x1b[1m\n");
  EXPECT_EQ(command({"evict", "--json"}, "content", true).run().out,
            R"({"evicted":true,"path":"/p","replacement":{"$base64":")" + base64(bytes) + "\"}}\n");
}

TEST_F(EvictTest, OptionsBecomeParameters) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return result(std::string(kStays)); });
  const Ran ran = command({"evict", "--session", "s", "--id", "call_1#é", "--tool", "t", "--kind",
                           "human", "--limit-tokens", "500", "--force"},
                          "x", true)
                      .run();
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(to_json(daemon.requests()[0].params),
            R"({"content":{"$blob":0},"session":"s","id":"call_1#é","tool":"t","kind":"human",)"
            R"("limit_tokens":500,"force":true})");
}

TEST_F(EvictTest, AFileByName) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return result(std::string(kStays)); });
  const std::string file = folder_ / "log";
  {
    auto fd = open_file(file, O_WRONLY | O_CREAT, 0600);
    ASSERT_TRUE(fd && write_full(fd->get(), "a real log\n"));
  }
  EXPECT_EQ(command({"evict", file}, "not this", true).run().out, "a real log\n");
  EXPECT_EQ(daemon.requests()[0].files, std::vector<std::string>{"a real log\n"});
  EXPECT_EQ(command({"evict", "-"}, "this", true).run().out, "this");
  const Ran missing = command({"evict", file + ".gz"}, "", true).run();
  EXPECT_EQ(missing.status, kExitNotFound);
  EXPECT_THAT(missing.err, HasSubstr(file + ".gz"));
}

// Whatever fails, the content comes out as it went in, and the status says that it failed.
TEST_F(EvictTest, NothingIsLostWhenSomethingFails) {
  FakeAnswer hang_up;
  hang_up.hang_up = true;
  FakeAnswer noise;
  noise.raw = "noise\n";
  const std::vector<std::pair<FakeAnswer, int>> answers = {
      {error("no_space", "the disk is full"), kExitNoSpace},
      {error("invalid_params", "kind: robot"), kExitFailure},
      {hang_up, kExitRetry},
      {noise, kExitFailure},
      {result("{}"), kExitFailure},
      {result(R"({"evicted":true})"), kExitFailure},
      {result(R"({"evicted":true,"replacement":{"$blob":3}})"), kExitFailure},
  };
  for (const auto& [answer, status] : answers) {
    FakeDaemon daemon(path(), [&answer](const FakeRequest&) { return answer; });
    for (const size_t size : {size_t{10}, Content::kMemoryBytes + 1'000}) {
      const std::string bytes = kit::random_bytes(size, size);
      for (const bool by_pipe : {true, false}) {
        for (const char* option : {"--force", "--json"}) {
          const Ran ran = command({"evict", option}, bytes, by_pipe).run();
          EXPECT_EQ(ran.status, status) << ran.err;
          EXPECT_TRUE(ran.out == bytes);
          EXPECT_NE(ran.err, "");
        }
      }
    }
  }
}

TEST_F(EvictTest, NothingIsLostWithoutADaemonOrASpool) {
  const std::string bytes = kit::random_bytes(3 * Content::kMemoryBytes, 5);
  const Ran nobody = command({"evict"}, bytes, true).run();
  EXPECT_EQ(nobody.status, kExitNotRunning);
  EXPECT_TRUE(nobody.out == bytes);
  Command no_spool = command({"evict"}, bytes, true);
  no_spool.environment["TMPDIR"] = "/no/such/folder";
  const Ran spool = no_spool.run();
  EXPECT_NE(spool.status, 0);
  EXPECT_THAT(spool.err, HasSubstr("/no/such/folder"));
  EXPECT_TRUE(spool.out == bytes);
}

TEST_F(EvictTest, NothingIsLostOnAWrongCommandLine) {
  const std::string bytes = kit::random_bytes(3 * Content::kMemoryBytes, 6);
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"evict", "--limit-tokens", "many"},
                                             {"evict", "--limt-tokens", "5"},
                                             {"evict", "--id"},
                                             {"evict", "--limit-tokens=0"},
                                             {"evict", "--kind", "robot"},
                                             {"evict", "--kind", ""},
                                             {"evict", "--id", "\xff"}}) {
    const Ran ran = command(words, bytes, true).run();
    EXPECT_EQ(ran.status, kExitUsage) << words.back();
    EXPECT_TRUE(ran.out == bytes) << words.back();
  }
}

}  // namespace
}  // namespace ebla::tools
