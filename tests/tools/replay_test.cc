// A transcript, call by call, against a daemon that puts away what the test says; the bill; the
// report.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schema/base/utf8.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/fake_daemon.h"
#include "tests/tools/transcripts.h"
#include "tools/try/report.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

class ReplayTest : public testing::Test {
 protected:
  // One call of the model: before and after, and what else stands in the answer.
  struct Step {
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t stable_until = 0;
    std::string splices = "[]";
    std::string actions = "[]";
    bool fits = true;
  };

  Replay play(const Transcript& transcript, std::vector<Step> steps, uint64_t window = 10'000) {
    size_t at = 0;
    FakeDaemon daemon(folder_ / "sock", [&](const FakeRequest& request) {
      if (request.method == "session.open") {
        return result(R"({"folder":"/large_tool_results/try-1","history":"/h/try-1.md"})");
      }
      if (request.method == "fs.stat") {
        return request.params.find("path")->text.starts_with("/h/") ? error("file_not_found", "no")
                                                                    : result(R"({"size":123456})");
      }
      if (request.params.find("dry_run") != nullptr) {
        return result(R"({"format":"openai"})");
      }
      const bool forgets = refused_at_ == ++prepares_;
      if (forgets) {
        return error("conflict", "prefix: this body is not remembered: send the whole one");
      }
      const Step step = at < steps.size() ? steps[at++] : Step();
      return result(fmt::format(R"({{"body":"body-{}","splices":{},"stable_until":{},"actions":{},)"
                                R"("tokens":{{"before":{},"after":{},"window":{},"trigger":8500}},)"
                                R"("fits":{}}})",
                                prepares_, step.splices, step.stable_until, step.actions,
                                step.before, step.after, window, step.fits));
    });
    auto client = Client::connect(daemon.path());
    EXPECT_TRUE(client);
    auto played = replay(*client, transcript, {});
    EXPECT_TRUE(played) << played.error().text;
    requests_ = daemon.requests();
    EXPECT_EQ(at, steps.size());
    return played.value_or(Replay());
  }
  // The bodies that the daemon was given, in order, put together as it would.
  std::vector<std::string> bodies() const {
    std::vector<std::string> out;
    for (const FakeRequest& request : requests_) {
      if (request.method != "prepare") {
        continue;
      }
      const Json* prefix = request.params.find("prefix");
      if (prefix == nullptr) {
        out.push_back(request.files.at(0));
      } else {
        const size_t bytes = *prefix->find("bytes")->as_uint64();
        out.push_back(out.back().substr(0, bytes) + request.blobs.at(0));
      }
    }
    return out;
  }

  kit::TempDir folder_{"replay"};
  std::vector<FakeRequest> requests_;
  size_t prepares_ = 0;
  size_t refused_at_ = 0;  // this one; 0: none
};

Transcript parsed(std::string_view text) {
  auto transcript = parse_transcript(text);
  EXPECT_TRUE(transcript);
  return transcript.value_or(Transcript());
}

TEST_F(ReplayTest, EachCallOfTheModelSendsTheListSoFar) {
  CodexLines lines(true);
  lines.user("a").reasons().calls("c", "x").output("c", "y").says("z").user("b");
  const Transcript transcript = parsed(lines.text());
  const Replay played = play(transcript, {{10, 10}, {30, 30, 1}, {50, 50, 4}});
  const auto sent = bodies();
  ASSERT_EQ(sent.size(), 3U);
  for (const std::string& body : sent) {
    const auto json = parse_json(body);
    ASSERT_TRUE(json) << body;
    EXPECT_EQ(json->find("model")->text, "gpt-5-codex");
    EXPECT_EQ(json->find("instructions")->text, "You are \"Codex\".");
  }
  EXPECT_EQ(parse_json(sent[0])->find("input")->items.size(), 1U);
  EXPECT_EQ(parse_json(sent[1])->find("input")->items.size(), 4U);
  EXPECT_EQ(parse_json(sent[2])->find("input")->items.size(), 6U);
  EXPECT_EQ(to_json(requests_.at(1).params),
            R"({"session":"try","request":{"$fd":0},"format":"responses",)"
            R"("remember":true,"summariser":"extract"})");
  EXPECT_THAT(played.turns, ElementsAre(Field(&Turn::cached, 0), Field(&Turn::cached, 10),
                                        Field(&Turn::cached, 30)));
}

TEST_F(ReplayTest, OnlyWhatIsNewIsSentToADaemonThatRemembers) {
  CodexLines lines(true);
  lines.user("a").says("b").user("c").says("d").user("e");
  refused_at_ = 3;
  (void)play(parsed(lines.text()), {{10, 10}, {20, 20}, {30, 30}});
  std::vector<std::string> names;
  for (const FakeRequest& request : requests_) {
    if (request.method != "prepare") {
      continue;
    }
    const Json* prefix = request.params.find("prefix");
    names.push_back(prefix == nullptr ? "" : prefix->find("body")->text);
  }
  EXPECT_THAT(names, ElementsAre("", "body-1", "body-2", ""));
  const auto sent = bodies();
  EXPECT_EQ(sent.at(2), sent.at(3));
  EXPECT_EQ(parse_json(sent.at(1))->find("input")->items.size(), 3U);
  EXPECT_EQ(parse_json(sent.at(3))->find("input")->items.size(), 5U);
}

TEST_F(ReplayTest, TheFormatOfAListIsFoundFromTheWhole) {
  (void)play(parsed(R"([{"role":"user","content":"x"},{"role":"assistant","content":"y"}])"),
             {{5, 5}});
  const auto sent = bodies();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0], R"([{"role":"user","content":"x"},{"role":"assistant","content":"y"}])");
  EXPECT_EQ(sent[1], R"([{"role":"user","content":"x"}])");
  EXPECT_EQ(to_json(requests_.at(2).params),
            R"({"session":"try","messages":{"$fd":0},"format":"openai",)"
            R"("remember":true,"summariser":"extract"})");
}

std::string calls_of_claude(size_t calls, size_t bytes) {
  ClaudeCodeLines lines;
  lines.user("go");
  for (size_t i = 1; i < calls; ++i) {
    const std::string id = fmt::format("toolu_{}", i);
    lines.calls("msg_" + id, id, "mcp__a_server_with_a_long_name__run");
    lines.result(id, std::string(bytes, 'x'));
  }
  return lines.says("msg_end", "done", 100).text();
}

TEST_F(ReplayTest, TheLongListIsWhatTheShortOneGrewBy) {
  const Transcript transcript = parsed(calls_of_claude(3, 1'000));
  const std::string put_away =
      R"([{"what":"tool_result","id":"toolu_1","tool":"mcp__a_server_with_a_long_name__run",)"
      R"("path":"/large_tool_results/try-1/toolu_1","tokens_before":5000,"tokens_after":100}])";
  const Replay played =
      play(transcript, {{100, 100},
                        {5'200, 300, 1, "[]", put_away},
                        {900, 900, 3, R"([{"index":2,"remove":1,"insert":[{"a":1}]}])"}});
  EXPECT_THAT(played.turns, ElementsAre(Field(&Turn::without, 100), Field(&Turn::without, 5'200),
                                        Field(&Turn::without, 5'800)));
  EXPECT_EQ(played.turns[1].cached, 100U) << "one message of the last reply stands as it was";
  EXPECT_EQ(played.turns[2].cached, 300U);
  EXPECT_EQ(played.turns[2].output, 100U);
  ASSERT_EQ(played.files.size(), 1U);
  EXPECT_EQ(played.files[0].bytes, 123'456U);
  EXPECT_EQ(played.files[0].call, 2U);
}

TEST_F(ReplayTest, AChangeInTheMiddleLosesTheCacheBehindIt) {
  const Transcript transcript = parsed(calls_of_claude(3, 10'000));
  const Replay played = play(transcript, {{100, 100}, {4'000, 4'000, 1}, {8'000, 1'000, 0}});
  EXPECT_EQ(played.turns[1].cached, 100U);
  EXPECT_EQ(played.turns[2].cached, 0U);
  const Replay half = play(transcript, {{100, 100}, {4'000, 4'000, 1}, {8'000, 8'000, 2}});
  EXPECT_GT(half.turns[2].cached, 0U);
  EXPECT_LT(half.turns[2].cached, 1'000U) << "two short messages of a long list";
}

TEST_F(ReplayTest, TheBillCountsCallsCachesAndPasses) {
  const Transcript transcript = parsed(calls_of_claude(3, 1'000));
  const Replay played = play(transcript, {{1'000, 1'000}, {3'000, 2'000, 1}, {4'000, 4'000, 3}});
  const Bill bill = make_bill(transcript, played, {1, 0.1, 2, 10});
  EXPECT_EQ(bill.with.sent, 7'000U);
  EXPECT_EQ(bill.with.cached, 3'000U);
  EXPECT_EQ(bill.without.sent, 1'000U + 3'000U + 5'000U);
  EXPECT_EQ(bill.without.cached, 4'000U);
  EXPECT_EQ(bill.without.passes, 0U);
  const double output = static_cast<double>(bill.with.output) / 1e6 * 10;
  EXPECT_NEAR(bill.with.cost_cached, (3'000 * 0.1 + 4'000 * 2) / 1e6 + output, 1e-9);
  EXPECT_NEAR(bill.with.cost_plain, 7'000 / 1e6 + output, 1e-9);
  EXPECT_THAT(bill.fill_without, ElementsAre(1'000, 3'000, 5'000));
}

TEST_F(ReplayTest, WithoutEblaTheAgentSummarisesAtTheTrigger) {
  const Transcript transcript = parsed(calls_of_claude(4, 1'000));
  const Replay played =
      play(transcript, {{1'000, 1'000}, {6'000, 1'200, 1}, {6'200, 1'400, 3}, {1'900, 1'900, 5}});
  const Bill bill = make_bill(transcript, played, {});
  // 1,000 + 5,000, then 5,000 more than 8,500: they stay, with a summary of 500 before them.
  EXPECT_THAT(bill.fill_without, ElementsAre(1'000, 6'000, 5'500, 6'000));
  EXPECT_EQ(bill.without.passes, 1U);
  EXPECT_EQ(bill.with.passes, 0U);
  EXPECT_FALSE(bill.recorded);
}

TEST_F(ReplayTest, RecordedSummariesCountAsTheyWere) {
  ClaudeCodeLines lines;
  lines.user("one").says("msg_1", "two").compacts(std::string(4'000, 's'));
  lines.user("three").says("msg_2", "four");
  const Transcript transcript = parsed(lines.text());
  const std::string pass = R"([{"what":"summary","reason":"extract","path":"/h/try-1.md",)"
                           R"("tokens_before":9000,"tokens_after":700,"messages":2}])";
  const Replay played = play(transcript, {{9'000, 9'000}, {9'500, 1'000, 0, "[]", pass, false}});
  EXPECT_TRUE(played.files.empty()) << "the history is no put-away content";
  const Bill bill = make_bill(transcript, played, {});
  EXPECT_TRUE(bill.recorded);
  EXPECT_EQ(bill.without.passes, 1U);
  EXPECT_EQ(bill.with.passes, 1U);
  EXPECT_EQ(bill.with.too_long, 1U);
  EXPECT_NEAR(static_cast<double>(bill.fill_without[1]), 1'000 + 500, 20);
}

TEST_F(ReplayTest, TheReportFitsEightyColumnsAndSaysWhatItDoesNotKnow) {
  const Transcript transcript = parsed(calls_of_claude(3, 1'000));
  const std::string put_away =
      R"([{"what":"tool_result","tool":"mcp__a_server_with_a_long_name__run",)"
      R"("path":"/large_tool_results/try-1/a_very_long_name_of_a_call_1234567890",)"
      R"("tokens_before":95000000,"tokens_after":1000},{"what":"old_result"},{"what":"argument"},)"
      R"({"what":"summary"},{"what":"human"}])";
  const Replay played = play(
      transcript, {{100, 100}, {98'000'000, 1'000'000, 1, "[]", put_away}, {1'500'000, 1'500'000}});
  const Bill bill = make_bill(transcript, played, {});
  const std::string text = report_text(transcript, played, bill, {}, false);
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    EXPECT_LE(utf8::count(text.substr(at, text.find('\n', at) - at)), 80U) << text.substr(at, 90);
  }
  EXPECT_THAT(text, AllOf(HasSubstr("estimates"), HasSubstr("examples"), HasSubstr("mcp__a_server"),
                          HasSubstr("95000000"), HasSubstr("/large_tool_results/try-1")));
  const std::string brief = report_text(transcript, played, bill, {}, true);
  EXPECT_TRUE(text.ends_with(brief.substr(brief.find("TOTAL"))));
  const auto json = parse_json(report_json(transcript, played, bill, {}));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->find("calls")->items.size(), 3U);
  EXPECT_EQ(json->find("calls")->items[1].find("actions")->items.size(), 5U);
  EXPECT_EQ(json->find("total")->find("with")->find("passes")->text, "1");
}

TEST_F(ReplayTest, AnErrorNamesTheCall) {
  const Transcript transcript = parsed(calls_of_claude(3, 10));
  FakeDaemon daemon(folder_ / "sock", [](const FakeRequest& request) {
    return request.method == "session.open" ? result("{}") : error("too_large", "the list is long");
  });
  auto client = Client::connect(daemon.path());
  ASSERT_TRUE(client);
  const auto played = replay(*client, transcript, {});
  ASSERT_FALSE(played);
  EXPECT_EQ(played.error().text, "call 1: the list is long");
}

}  // namespace
}  // namespace ebla::tools
