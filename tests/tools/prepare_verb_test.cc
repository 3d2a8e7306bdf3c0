// `ebla prepare`: what goes to the daemon, what comes out byte for byte, and that nothing is lost.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/base/limits.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"
#include "tests/tools/fake_daemon.h"
#include "tools/content.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kRest =
    R"("actions":[{"what":"tool_result","index":3,"id":"call_1","tool":"bash","path":"/large_tool_results/call_1",)"
    R"("reason":"item_limit","tokens_before":30000,"tokens_after":97}],)"
    R"("tokens":{"before":30500,"after":600,"window":128000,"reserve":0,"trigger":108800},"fits":true)";

class PrepareVerbTest : public testing::Test {
 protected:
  Command command(std::vector<std::string> words, std::string input) const {
    Command command;
    command.words = std::move(words);
    command.input = std::move(input);
    command.input_by_pipe = true;
    command.environment = {{"EBLA_SOCKET", path()}, {"TMPDIR", folder_.path()}};
    return command;
  }
  Ran run(std::vector<std::string> words, std::string input) const {
    return command(std::move(words), std::move(input)).run();
  }
  std::string path() const { return folder_ / "sock"; }

  kit::TempDir folder_{"prepare-verb"};
};

// An answer whose list, or request, is these bytes.
FakeAnswer answer(std::string_view member, std::string bytes) {
  return result("{\"" + std::string(member) + "\":{\"$blob\":0}," + std::string(kRest) + "}",
                {std::move(bytes)});
}

TEST_F(PrepareVerbTest, TheNewRequestComesOutByteForByte) {
  const std::string changed =
      "{\"model\":\"m\",\n \"x\":1.0e2, \"messages\":[ {\"中\":\"\\ud83d\"} ]}";
  FakeDaemon daemon(path(), [&](const FakeRequest&) { return answer("request", changed); });
  const std::string body =
      "{\"model\":\"m\", \"window\" : 128000,\n \"x\":1.0e2, \"messages\":[ {\"a\":1} ]}";
  const Ran ran = run({"prepare", "--session", "s"}, body);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out, changed);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("tool_result bash call_1: 30000 -> 97 tokens, item_limit, "
                                       "/large_tool_results/call_1\n"),
                             HasSubstr("30500 -> 600 tokens of 128000")));
  const FakeRequest sent = daemon.requests().at(0);
  EXPECT_EQ(to_json(sent.params),
            R"({"session":"s","request":{"$blob":0},"window":128000,"reply":"request"})");
  EXPECT_EQ(sent.blobs.at(0), "{\"model\":\"m\",\n \"x\":1.0e2, \"messages\":[ {\"a\":1} ]}");
}

TEST_F(PrepareVerbTest, AListIsAnsweredByAList) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return answer("messages", "[ 1.0 ]"); });
  const Ran ran = run({"prepare", "--session", "s", "--window", "5000", "--format", "openai"},
                      " [{\"a\":1}]\n");
  EXPECT_EQ(ran.out, "[ 1.0 ]");
  EXPECT_EQ(to_json(daemon.requests().at(0).params),
            R"({"session":"s","format":"openai","messages":{"$blob":0},"window":5000,)"
            R"("reply":"messages"})");
  EXPECT_EQ(daemon.requests().at(0).blobs.at(0), " [{\"a\":1}]\n");
}

TEST_F(PrepareVerbTest, AModelGoesAlongAndIsTakenOutAgain) {
  FakeDaemon daemon(path(), [](const FakeRequest& request) {
    return answer(request.params.find("reply")->text, request.blobs.at(0));
  });
  const std::string body = "{ \"messages\":[] }";
  EXPECT_EQ(run({"prepare", "--session", "s", "--model", "gpt\"4"}, body).out, body);
  EXPECT_EQ(daemon.requests().at(0).blobs.at(0), "{\"model\":\"gpt\\\"4\", \"messages\":[] }");
  EXPECT_EQ(run({"prepare", "--session", "s", "--model", "m"}, "{}").out, "{}");
  (void)run({"prepare", "--session", "s", "--model", "m"}, "[]");
  EXPECT_EQ(daemon.requests().back().blobs.at(0), R"({"model":"m","messages":[]})");
  (void)run({"prepare", "--session", "s", "--model", "m", "--format", "responses"}, "[]");
  EXPECT_EQ(daemon.requests().back().blobs.at(0), R"({"model":"m","input":[]})");
  const Ran twice = run({"prepare", "--session", "s", "--model", "m"}, R"({"model":"x"})");
  EXPECT_EQ(twice.status, kExitUsage);
  EXPECT_EQ(twice.out, R"({"model":"x"})");
}

TEST_F(PrepareVerbTest, ADryRunPrintsThePlan) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return answer("request", "{}"); });
  const Ran ran = run({"prepare", "--session", "s", "--dry-run"}, "{\"messages\":[]}");
  EXPECT_EQ(
      ran.out,
      "tool_result bash call_1: 30000 -> 97 tokens, item_limit, /large_tool_results/call_1\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("30500 -> 600"), Not(HasSubstr("call_1"))));
  EXPECT_TRUE(daemon.requests().at(0).params.find("dry_run")->boolean);
  FakeAnswer refused = error("busy", "too much at once");
  FakeDaemon other(folder_ / "other", [&](const FakeRequest&) { return refused; });
  const Ran failed =
      run({"prepare", "--session", "s", "--dry-run", "--socket", folder_ / "other"}, "{}");
  EXPECT_EQ(failed.status, kExitRetry);
  EXPECT_EQ(failed.out, "") << "a request is no plan";
}

TEST_F(PrepareVerbTest, JsonIsTheWholeReplyInOneLine) {
  FakeDaemon daemon(path(),
                    [](const FakeRequest&) { return answer("messages", "[ 1.0,\n\"\\u00e9\" ]"); });
  const Ran ran = run({"prepare", "--session", "s", "--json"}, "{\"messages\":[]}");
  EXPECT_THAT(ran.out, HasSubstr("\"messages\":[ 1.0, \"\\u00e9\" ]}\n"));
  const auto reply = parse_json(ran.out);
  ASSERT_TRUE(reply) << ran.out;
  EXPECT_EQ(reply->find("tokens")->find("before")->text, "30500");
  EXPECT_EQ(to_json(*daemon.requests().at(0).params.find("reply")), "\"messages\"");
}

TEST_F(PrepareVerbTest, WhatTheCallerMustKnowIsSaid) {
  FakeDaemon daemon(path(), [](const FakeRequest&) {
    return result(
        R"({"request":{"$blob":0},"actions":[],)"
        R"("tokens":{"before":9,"after":9,"window":0,"reserve":0,"trigger":0},"fits":false,)"
        R"("fills":[{"kind":"tools","tokens":7}],)"
        R"("degraded":{"name":"no_space","text":"the disk is full"},)"
        R"("summary_request":{"id":"ab12","must":true}})",
        {"{}"});
  });
  const Ran ran = run({"prepare", "--session", "s"}, "{}");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("does not fit the window: tools 7"),
                             HasSubstr("the disk is full (no_space)"), HasSubstr("ab12"),
                             HasSubstr("of an unknown window")));
}

// Whatever fails, what may be sent comes out, and the status says that it failed.
TEST_F(PrepareVerbTest, NothingIsLostWhenSomethingFails) {
  FakeAnswer hang_up;
  hang_up.hang_up = true;
  const std::vector<std::pair<FakeAnswer, int>> answers = {
      {error("no_space", "the disk is full"), kExitNoSpace},
      {error("invalid_params", "messages: no"), kExitFailure},
      {hang_up, kExitRetry},
      {result("{}"), kExitFailure},
      {result(R"({"request":{"$blob":3}})"), kExitFailure},
  };
  for (const auto& [failure, status] : answers) {
    FakeDaemon daemon(path(), [&failure](const FakeRequest&) { return failure; });
    for (const size_t size : {size_t{100}, Content::kMemoryBytes + 1'000}) {
      const std::string rest = "\"messages\":[\"" + std::string(size, 'x') + "\"]}";
      for (const char* option : {"--format=openai", "--json"}) {
        const Ran ran = run({"prepare", "--session", "s", option}, "{\"window\":9000," + rest);
        EXPECT_EQ(ran.status, status) << ran.err;
        EXPECT_TRUE(ran.out == "{" + rest);
        EXPECT_NE(ran.err, "");
      }
    }
  }
  const Ran nobody = run({"prepare", "--session", "s"}, "{\"a\":1}");
  EXPECT_EQ(nobody.status, kExitNotRunning);
  EXPECT_EQ(nobody.out, "{\"a\":1}");
}

TEST_F(PrepareVerbTest, WhatCanNotBeTakenApartIsPrintedAsItCame) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return result("{}"); });
  for (const std::string& bytes :
       {std::string(), std::string("{\"window\":1,"), std::string("no JSON\n"),
        std::string("{\"window\":\"large\"}"), kit::random_bytes(3 * Content::kMemoryBytes, 4)}) {
    const Ran ran = run({"prepare", "--session", "s"}, bytes);
    EXPECT_EQ(ran.status, kExitFailure) << ran.err;
    EXPECT_TRUE(ran.out == bytes);
  }
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"prepare"},
                                             {"prepare", "--session"},
                                             {"prepare", "--session", "s", "--window=many"},
                                             {"prepare", "--session", "\xff"},
                                             {"prepare", "--session", "s", "--nonsense"}}) {
    const Ran ran = run(words, "{\"a\":1}");
    EXPECT_EQ(ran.status, kExitUsage) << words.back();
    EXPECT_EQ(ran.out, "{\"a\":1}") << words.back();
  }
  EXPECT_TRUE(daemon.requests().empty());
}

TEST_F(PrepareVerbTest, AFileByName) {
  FakeDaemon daemon(path(), [](const FakeRequest&) { return answer("request", "{}"); });
  const std::string file = folder_ / "request.json";
  {
    auto fd = open_file(file, O_WRONLY | O_CREAT, 0600);
    ASSERT_TRUE(fd && write_full(fd->get(), "{\"messages\":[]}"));
  }
  EXPECT_EQ(run({"prepare", "--session", "s", file}, "not this").out, "{}");
  EXPECT_EQ(daemon.requests().at(0).blobs.at(0), "{\"messages\":[]}");
  EXPECT_EQ(run({"prepare", "--session", "s", file + "x"}, "").status, kExitNotFound);
}

}  // namespace
}  // namespace ebla::tools
