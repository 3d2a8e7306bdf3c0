// A body that is sent only by how it goes on from the one before: the answer is that to the whole.
#include <gmock/gmock.h>

#include <random>

#include "context/formats/format.h"
#include "tests/daemon/speech.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;

class PreparePrefixTest : public PrepareFixture {
 protected:
  Answer ask(std::string_view session, std::string_view sent, std::string_view more = "") {
    auto request = std::make_shared<Request>();
    request->wants_blobs = true;
    request->blobs.push_back({std::string(sent), {}, sent.size()});
    return send("prepare",
                fmt::format(R"({{"session":"{}","messages":{{"$blob":0}},"window":30000,)"
                            R"("reply":"messages","remember":true{}}})",
                            session, more),
                request);
  }
  Answer go_on(std::string_view session, std::string_view name, size_t bytes, std::string_view rest,
               std::string_view more = "") {
    return ask(session, rest,
               fmt::format(R"(,"prefix":{{"body":"{}","bytes":{}}}{})", name, bytes, more));
  }
  static std::string name_of(const Answer& answer) {
    return answer.result ? text_of(*answer.result, "body") : "";
  }
  // The new list, whatever the session is called.
  static std::string said(const Answer& answer) {
    if (!answer.result) return answer.result.error().text;
    std::string all = answer.blobs.at(0);
    const std::string session = text_of(*answer.result, "session");
    for (size_t at = all.find(session); at != std::string::npos; at = all.find(session, at)) {
      all.replace(at, session.size(), "SESSION");
    }
    return all;
  }
  static std::string talk(const Speech& speech, size_t turns) {
    std::vector<std::string> list = {speech.user("begin \"here\" \u00e4\u6f22")};
    for (size_t turn = 0; turn < turns; ++turn) {
      const auto tool = speech.tool(fmt::format("call_{}", turn),
                                    turn % 3 == 2 ? kit::numbered_rows(90'000) : kit::prose(9'000));
      list.insert(list.end(), tool.begin(), tool.end());
    }
    return list_of(list);
  }
};

TEST_F(PreparePrefixTest, AnswersAsToTheWholeBody) {
  constexpr size_t kTurns = 12;
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    const std::string whole = fmt::format("whole-{}", speech.format);
    const std::string parts = fmt::format("parts-{}", speech.format);
    std::string before = talk(speech, 0);
    std::string name = name_of(ask(parts, before));
    ask(whole, before);
    for (size_t turn = 1; turn <= kTurns; ++turn) {
      const std::string body = talk(speech, turn);
      const size_t same = context::common_prefix(before, body);
      const Answer answer = go_on(parts, name, same, std::string_view(body).substr(same));
      ASSERT_TRUE(said(answer) == said(ask(whole, body))) << "turn " << turn;
      name = name_of(answer);
      before = body;
    }
  }
}

TEST_F(PreparePrefixTest, TakesAPrefixThatEndsAnywhere) {
  const Speech speech = speeches().front();
  const std::string body = talk(speech, 4);
  ask("whole", body);
  const std::string expected = said(ask("whole", body));  // once more: nothing is decided
  std::string name = name_of(ask("parts", body));
  std::mt19937 random(7);
  std::vector<size_t> cuts = {0, 1, body.size() - 1, body.size()};
  for (int i = 0; i < 40; ++i) cuts.push_back(random() % body.size());
  for (const size_t cut : cuts) {
    const Answer answer = go_on("parts", name, cut, std::string_view(body).substr(cut));
    ASSERT_EQ(name_of(answer).empty(), false) << cut;
    EXPECT_TRUE(said(answer) == expected) << cut;
    name = name_of(answer);
  }
  // The list of an earlier turn, and from there another branch.
  const std::string earlier = talk(speech, 1);
  const size_t same = context::common_prefix(body, earlier);
  const std::string branch = earlier.substr(0, earlier.size() - 1) + "," + speech.user("no") + "]";
  const Answer back = go_on("parts", name, same, std::string_view(branch).substr(same));
  EXPECT_TRUE(said(back) == said(ask("whole", branch)));
}

TEST_F(PreparePrefixTest, RefusesWhatItDoesNotRemember) {
  const std::string body = talk(speeches().front(), 1);
  const Json plain = must("prepare", fmt::format(R"({{"session":"a","messages":{}}})", body));
  EXPECT_EQ(plain.find("body"), nullptr);
  const std::string name = name_of(ask("a", body));
  const std::string other = name_of(ask("b", body));
  ASSERT_NE(name, "");
  ASSERT_NE(name, other);
  for (const std::string& unknown : {other, std::string(), std::string("0123")}) {
    const Answer answer = go_on("a", unknown, 5, body.substr(5));
    ASSERT_FALSE(answer.result) << unknown;
    EXPECT_EQ(answer.result.error().code, Code::conflict);
    EXPECT_THAT(answer.result.error().text, HasSubstr("send the whole one"));
  }
  const Answer beyond = go_on("a", name, body.size() + 1, "");
  ASSERT_FALSE(beyond.result);
  EXPECT_EQ(beyond.result.error().code, Code::invalid_params);
  EXPECT_THAT(must_fail("prepare", fmt::format(R"({{"session":"a","messages":[],)"
                                               R"("prefix":{{"body":"{}","bytes":3}}}})",
                                               name))
                  .text,
              HasSubstr("$blob"));
  EXPECT_THAT(must_fail("prepare", R"({"session":"a","messages":[],"prefix":{"body":"x"}})").text,
              HasSubstr("bytes"));
  // None of that made it forget.
  EXPECT_TRUE(go_on("a", name, body.size(), "").result);
}

TEST_F(PreparePrefixTest, ForgetsABodyThatWentOnWrongly) {
  const std::string body = talk(speeches().front(), 1);
  const std::string name = name_of(ask("a", body));
  const Answer broken = go_on("a", name, 40, "\"}}]");
  ASSERT_FALSE(broken.result);
  EXPECT_EQ(broken.result.error().code, Code::invalid_params);
  const Answer again = go_on("a", name, 40, body.substr(40));
  ASSERT_FALSE(again.result);
  EXPECT_EQ(again.result.error().code, Code::conflict);
  EXPECT_TRUE(ask("a", body).result);
}

TEST_F(PreparePrefixTest, ADryRunMayGoOnAndBeGoneOnFrom) {
  const Speech speech = speeches().front();
  const std::string body = talk(speech, 2);
  const std::string longer = talk(speech, 3);
  std::string name = name_of(ask("a", body));
  const size_t same = context::common_prefix(body, longer);
  name = name_of(go_on("a", name, same, longer.substr(same), R"(,"dry_run":true)"));
  const Answer answer = go_on("a", name, longer.size(), "");
  EXPECT_TRUE(said(answer) == said(ask("b", longer)));
}

}  // namespace
}  // namespace ebla::daemon
