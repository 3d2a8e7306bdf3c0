// The same conversation in every format: valid after each pass, in both ways to keep the list.
#include <gmock/gmock.h>

#include "tests/daemon/prepare_fixture.h"
#include "tests/daemon/speech.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;

class PrepareFormatTest : public PrepareFixture {
 protected:
  // Runs an agent for some turns; what it last sent.
  std::vector<std::string> run(const Speech& speech, bool replaces, size_t turns) {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    seed_ = 1;  // the same ids of sessions, and so the same paths
    start();
    std::vector<std::string> list = speech.lead;
    std::vector<std::string> sent;
    for (size_t n = 1; n <= turns; ++n) {
      list.push_back(speech.user(fmt::format("ask {}: {}", n, kit::prose(800))));
      for (auto& message : speech.tool(fmt::format("call_{}", n),
                                       fmt::format("out {}\n{}", n, kit::prose(2'600)))) {
        list.push_back(message);
      }
      const Json reply =
          must("prepare", fmt::format(R"({{"session":"s","format":"{}","window":20000,)"
                                      R"("reply":"messages","messages":{}}})",
                                      speech.format, list_of(list)));
      EXPECT_TRUE(flag_of(reply, "fits")) << n;
      EXPECT_EQ(count_of(reply, "breach"), 0u) << n;
      EXPECT_EQ(reply.find("degraded"), nullptr);
      actions_ += reply.find("actions")->items.size();
      sent = messages_of(reply);
      if (replaces) list = sent;
      list.push_back(speech.model(fmt::format("answer {}: {}", n, kit::prose(800))));
    }
    return sent;
  }
  size_t actions_ = 0;
};

TEST_F(PrepareFormatTest, BothWaysLeadToTheSameValidListInEveryFormat) {
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    actions_ = 0;
    const auto whole = run(speech, false, 30);
    EXPECT_GT(actions_, 3u);
    const auto replaced = run(speech, true, 30);
    EXPECT_EQ(whole, replaced);
    for (size_t i = 0; i < speech.lead.size(); ++i) {
      EXPECT_EQ(whole.at(i), to_json(*parse_json(speech.lead[i]))) << "always first";
    }
    EXPECT_THAT(whole.at(whole.size() - 3), HasSubstr("ask 30:"));
    EXPECT_EQ(number_of(*must("stats", "{}").find("prepare"), "breaches"), 0u);
  }
}

TEST_F(PrepareFormatTest, PinsInFrontOfTheSummaryAreNoBreach) {
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    store_ = kit::make_model_store(clock_, kUid, kUid);
    start();
    std::vector<std::string> list = speech.lead;
    for (int n = 0; n < 3; ++n) list.push_back(speech.user(fmt::format("rule {}", n)));
    for (int n = 0; n < 30; ++n) {
      list.push_back(speech.model(fmt::format("answer {}: {}", n, kit::prose(1'000))));
      list.push_back(speech.user(fmt::format("ask {}: {}", n, kit::prose(1'000))));
    }
    const size_t lead = speech.lead.size();
    const Json reply =
        must("prepare", fmt::format(R"({{"session":"s","format":"{}","window":10000,)"
                                    R"("pinned":[{},{}],"reply":"messages","messages":{}}})",
                                    speech.format, lead, lead + 1, list_of(list)));
    EXPECT_EQ(count_of(reply, "summary"), 1u);
    EXPECT_EQ(count_of(reply, "breach"), 0u);
    const auto sent = messages_of(reply);
    EXPECT_THAT(sent.at(lead), HasSubstr("rule 0"));
    EXPECT_THAT(sent.at(lead + 1), HasSubstr("rule 1"));
    EXPECT_THAT(sent.at(lead + 2), HasSubstr("# Summary"));
    const context::Format& format = *context::find_format(speech.format);
    const std::string body = list_of(sent);
    const auto conversation = format.parse(body);
    ASSERT_TRUE(conversation);
    EXPECT_THAT(format.breaches(body, *conversation), testing::IsEmpty()) << "by itself valid";
  }
}

TEST_F(PrepareFormatTest, AWholeRequestComesBackWithNothingElseChanged) {
  const std::string before =
      R"({ "model":"claude-x", "max_tokens" : 1000,"temperature":1.0,"x":[1e2, {"b":1,"a":2}],)"
      R"("messages":)";
  const std::string list = list_of({user("go"), blocks("assistant", {tool_use("c")}),
                                    blocks("user", {tool_result("c", kit::prose(100'000))})});
  const std::string after = R"(, "stream":true , "n":1152921504606846976 })";
  auto request = std::make_shared<Request>();
  const std::string body = before + list + after;
  request->blobs.push_back({body, {}, body.size()});
  request->wants_blobs = true;
  auto answer = send("prepare", R"({"session":"s","reply":"request","request":{"$blob":0}})",
                     std::move(request));
  ASSERT_TRUE(answer.result) << answer.result.error().text;
  const std::string& out = answer.blobs.at(0);
  EXPECT_TRUE(out.starts_with(before));
  EXPECT_TRUE(out.ends_with(after));
  EXPECT_LT(out.size(), 9'000u);
  EXPECT_TRUE(parse_json(out));
  EXPECT_EQ(tokens_of(*answer.result, "reserve"), 1'000u);
}

TEST_F(PrepareFormatTest, WhatTheProviderKeepsIsOnlyLookedAtFresh) {
  const std::string body = R"({"model":"gpt-x","previous_response_id":"resp_1","input":[)"
                           R"({"type":"function_call_output","call_id":"c9","output":)" +
                           json_string(kit::prose(100'000)) + R"(}]})";
  const Json reply = must("prepare", R"({"session":"s","request":)" + body + "}");
  EXPECT_EQ(text_of(reply, "format"), "responses");
  EXPECT_EQ(count_of(reply, "tool_result"), 1u);
  EXPECT_EQ(count_of(reply, "repair"), 0u);
}

TEST_F(PrepareFormatTest, DanglingCallsAndEmptyTextsAreSetRight) {
  const std::vector<std::string> list = {
      user("go"), blocks("assistant", {tool_use("lost")}), user("never mind"),
      blocks("assistant", {R"({"type":"text","text":""})", tool_use("live")})};
  const Json reply = prepare(list);
  EXPECT_EQ(count_of(reply, "repair"), 2u);
  const auto out = messages_of(reply);
  const std::string all = fmt::format("{}", fmt::join(out, "\n"));
  EXPECT_THAT(all, HasSubstr("[no result: the call was interrupted]"));
  EXPECT_EQ(messages_of(prepare(list)), out);
  EXPECT_EQ(messages_of(prepare(out)), out);
}

}  // namespace
}  // namespace ebla::daemon
