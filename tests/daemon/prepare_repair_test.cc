// Lists that a provider would refuse: nothing of them is lost, whichever way the client keeps them.
#include <gmock/gmock.h>

#include <utility>

#include "tests/daemon/failing_store.h"
#include "tests/daemon/prepare_fixture.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

// One result without its call, as each format writes it, before and behind words of the user.
struct Speech {
  std::string_view format;
  std::string_view said;  // {} stands for a text
  std::string_view answer;
  std::string_view stray;
};
constexpr Speech kSpeeches[] = {
    {"anthropic", R"({"role":"user","content":{}})", R"({"role":"assistant","content":{}})",
     R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"gone","content":{}}]})"},
    {"openai", R"({"role":"user","content":{}})", R"({"role":"assistant","content":{}})",
     R"({"role":"tool","tool_call_id":"gone","content":{}})"},
    {"openai", R"({"role":"user","content":{}})", R"({"role":"assistant","content":{}})",
     R"({"role":"function","name":"gone","content":{}})"},
    {"responses", R"({"role":"user","content":{}})", R"({"role":"assistant","content":{}})",
     R"({"type":"function_call_output","call_id":"gone","output":{}})"},
    {"langchain", R"({"type":"human","content":{}})", R"({"type":"ai","content":{}})",
     R"({"type":"tool","tool_call_id":"gone","content":{}})"},
};

std::string filled(std::string_view pattern, std::string_view text) {
  std::string out(pattern);
  return out.replace(out.find("{}"), 2, json_string(text));
}

class PrepareRepairTest : public PrepareFixture {
 protected:
  Json ask(const Speech& speech, const std::vector<std::string>& list, std::string_view more = "") {
    return must("prepare", fmt::format(R"({{"session":"s","format":"{}","reply":"messages",)"
                                       R"("messages":{}{}}})",
                                       speech.format, list_of(list), more));
  }
  void fresh_store() {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    seed_ = 1;
    start();
  }
};

TEST_F(PrepareRepairTest, AStrayIsCarriedOnInBothWaysToKeepTheList) {
  for (const Speech& speech : kSpeeches) {
    SCOPED_TRACE(speech.stray);
    fresh_store();
    std::vector<std::string> list = {filled(speech.said, "first, look around"),
                                     filled(speech.stray, "found: 42 files")};
    const Json reply = ask(speech, list);
    const Json& repair = action_of(reply, "repair");
    EXPECT_EQ(count_of(reply, "repair"), 1u);
    EXPECT_EQ(text_of(repair, "reason"), "stray_result");
    EXPECT_EQ(number_of(repair, "index"), 1u);
    EXPECT_EQ(count_of(reply, "breach"), 0u);
    std::vector<std::string> kept = messages_of(reply);
    EXPECT_THAT(kept.at(1), HasSubstr("found: 42 files"));
    EXPECT_EQ(messages_of(ask(speech, list)), kept);
    const Json again = ask(speech, kept);
    EXPECT_TRUE(again.find("actions")->items.empty()) << to_json(*again.find("actions"));
    EXPECT_EQ(messages_of(again), kept);
    // The talk goes on, and a pass is made: what the user is quoted with is the user's own.
    for (int turn = 0; turn < 14; ++turn) {
      for (std::vector<std::string>* each : {&list, &kept}) {
        each->push_back(filled(speech.answer, fmt::format("{} {}", turn, kit::prose(1'500))));
        each->push_back(filled(speech.said, fmt::format("ask {} {}", turn, kit::prose(1'500))));
      }
      const std::string_view window = R"(,"window":10000)";
      const Json whole = ask(speech, list, window);
      kept = messages_of(ask(speech, kept, window));
      ASSERT_EQ(messages_of(whole), kept) << "turn " << turn;
      ASSERT_TRUE(flag_of(whole, "fits"));
      ASSERT_EQ(count_of(whole, "breach"), 0u);
    }
    const std::string all = fmt::format("{}", fmt::join(kept, "\n"));
    EXPECT_THAT(all, HasSubstr("# Summary of older messages"));
    EXPECT_THAT(all, HasSubstr("first, look around"));
    EXPECT_THAT(all, Not(HasSubstr("found: 42 files")));
    EXPECT_THAT(history(), HasSubstr("found: 42 files"));
  }
}

TEST_F(PrepareRepairTest, ALongStrayIsPutAwayAsAnyResult) {
  const std::string text = kit::numbered_rows(100'000);
  for (const Speech& speech : kSpeeches) {
    SCOPED_TRACE(speech.stray);
    fresh_store();
    std::vector<std::string> list = {filled(speech.said, "go"), filled(speech.stray, text)};
    const Json plan = ask(speech, list, R"(,"dry_run":true)");
    EXPECT_EQ(count_of(plan, "tool_result"), 1u);
    EXPECT_THAT(messages_of(plan).at(1), HasSubstr(json_string(text).substr(1, 90'000)));
    EXPECT_EQ(store_->usage().evictions, 0u);

    const Json reply = ask(speech, list);
    EXPECT_EQ(file(text_of(action_of(reply, "tool_result"), "path")), text);
    EXPECT_EQ(number_of(action_of(reply, "tool_result"), "index"), 1u);
    const std::vector<std::string> kept = messages_of(reply);
    EXPECT_LT(kept.at(1).size(), 9'000u);
    EXPECT_THAT(kept.at(1), HasSubstr("kept whole in a file"));
    // Settled by now, and the same whoever sends it.
    for (std::vector<std::string> next : {list, kept}) {
      next.push_back(filled(speech.answer, "seen"));
      next.push_back(filled(speech.said, "go on"));
      const Json again = ask(speech, next);
      EXPECT_EQ(count_of(again, "tool_result"), 0u);
      EXPECT_EQ(messages_of(again).at(1), kept.at(1));
    }
  }
}

TEST_F(PrepareRepairTest, AStrayThatTheModelHasReadStaysAsItWas) {
  const std::string text = kit::numbered_rows(100'000);
  const Speech& speech = kSpeeches[0];
  const Json reply = ask(speech, {filled(speech.said, "go"), filled(speech.stray, text),
                                  filled(speech.answer, "seen"), filled(speech.said, "go on")});
  EXPECT_EQ(count_of(reply, "tool_result"), 0u);
  EXPECT_THAT(messages_of(reply).at(1), HasSubstr(json_string(text).substr(1, 90'000)));
}

TEST_F(PrepareRepairTest, WhatWasPutAwayWithItsCallStaysSoWithoutIt) {
  const std::string text = kit::numbered_rows(100'000);
  const std::string result = blocks("user", {tool_result("c1", text)});
  const Json reply = prepare({user("go"), blocks("assistant", {tool_use("c1")}), result});
  const std::string path = text_of(action_of(reply, "tool_result"), "path");
  // The client has cut its list.
  const std::vector<std::string> cut = {result, assistant("seen"), user("go on")};
  const Json later = prepare(cut);
  EXPECT_EQ(count_of(later, "tool_result"), 0u);
  EXPECT_THAT(messages_of(later).at(0), HasSubstr(path));
  EXPECT_LT(messages_of(later).at(0).size(), 9'000u);
  EXPECT_EQ(messages_of(prepare(messages_of(later))), messages_of(later));
}

TEST_F(PrepareRepairTest, AStoreThatCannotWriteLeavesTheStrayWhole) {
  const std::string text = kit::numbered_rows(100'000);
  const std::unique_ptr<Store> under = std::exchange(store_, nullptr);
  store_ = std::make_unique<FailingStore>(*under);
  start();
  prepare({user("go")});  // the session is there
  static_cast<FailingStore&>(*store_).writes = Error{Code::no_space, "the disk is full"};
  const Json reply = prepare({user("go"), blocks("user", {tool_result("gone", text)})});
  EXPECT_NE(reply.find("degraded"), nullptr);
  EXPECT_EQ(count_of(reply, "repair"), 1u);
  EXPECT_THAT(messages_of(reply).at(1), HasSubstr(json_string(text).substr(1, 90'000)));
  services_.reset();
  store_.reset();
}

TEST_F(PrepareRepairTest, WrongTypesAndTheFirstMessageAreToldByName) {
  const Json reply = prepare(
      {assistant("Hello!"), user("go"), blocks("assistant", {tool_use("c1"), tool_use("c2")}),
       R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":null},)"
       R"({"type":"tool_result","tool_use_id":"c2","content":{"rows":[1]}}]})"});
  std::vector<std::string> reasons;
  for (const Json& action : reply.find("actions")->items) {
    reasons.push_back(text_of(action, "reason"));
  }
  EXPECT_THAT(reasons, testing::ElementsAre("no_user_first", "empty_content", "wrong_type"));
  const auto out = messages_of(reply);
  ASSERT_EQ(out.size(), 5u);
  EXPECT_THAT(out.at(4), HasSubstr(R"("content":"{\"rows\":[1]}")"));
  EXPECT_EQ(messages_of(prepare(out)), out);
  EXPECT_TRUE(prepare(out).find("actions")->items.empty());
}

}  // namespace
}  // namespace ebla::daemon
