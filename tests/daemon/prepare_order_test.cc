// Calls and results in an order, or under ids, that a provider would refuse: what the model has not
// read is fresh wherever it is moved to, and no call is taken for another.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/daemon/speech.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

using List = std::vector<std::string>;

std::string call_of(const Speech& speech, std::string_view id) {
  return speech.tool(id, "").front();
}
std::string result_of(const Speech& speech, std::string_view id, std::string_view text) {
  return speech.tool(id, text).back();
}

class PrepareOrderTest : public PrepareFixture {
 protected:
  Json ask(const Speech& speech, const List& list, std::string_view more = "") {
    const Json reply =
        must("prepare", fmt::format(R"({{"session":"s","format":"{}","reply":"messages",)"
                                    R"("messages":{}{}}})",
                                    speech.format, list_of(list), more));
    EXPECT_EQ(count_of(reply, "breach"), 0u);
    EXPECT_TRUE(flag_of(reply, "fits"));
    return reply;
  }
  // The talk goes on: nothing is decided again, and both ways to keep the list lead to the same.
  void go_on(const Speech& speech, List list, List kept, std::string_view more = "") {
    for (List* each : {&list, &kept}) {
      each->push_back(speech.model("seen"));
      each->push_back(speech.user("go on"));
    }
    const Json whole = ask(speech, list, more);
    EXPECT_EQ(count_of(whole, "tool_result"), 0u) << to_json(*whole.find("actions"));
    EXPECT_EQ(messages_of(whole), messages_of(ask(speech, kept, more)));
    kept.resize(kept.size() - 2);
    EXPECT_THAT(first(messages_of(whole), kept.size()), testing::ElementsAreArray(kept));
  }
  static List first(List list, size_t count) {
    list.resize(std::min(list.size(), count));
    return list;
  }
  void fresh_store() {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    seed_ = 1;
    start();
  }
};

std::string all_of(const List& list) {
  return fmt::format("{}", fmt::join(list, "\n"));
}

// What the model has not read, though it spoke, or called another tool, after it had asked.
std::vector<List> late_lists(const Speech& speech, const std::string& text) {
  const auto said = [&](std::string_view words) { return speech.user(words); };
  const auto call = [&](std::string_view id) { return call_of(speech, id); };
  const auto result = [&](std::string_view id, std::string_view words) {
    return result_of(speech, id, words);
  };
  return {
      {said("go"), call("a"), call("b"), result("a", text), result("b", "small")},
      {said("go"), call("a"), call("b"), result("b", "small"), result("a", text)},
      {said("go"), call("a"), said("hurry"), speech.model("I wait for it"), result("a", text)},
      {said("go"), call("a"), said("hurry"), call("b"), result("b", "small"),
       speech.model("I wait for it"), result("a", text), said("there it is")},
  };
}

TEST_F(PrepareOrderTest, ALateResultIsFreshBeforeTheMessagesThatItMovesInFrontOf) {
  const std::string text = kit::numbered_rows(200'000);
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    for (const List& list : late_lists(speech, text)) {
      SCOPED_TRACE(list.size());
      fresh_store();
      const Json reply = ask(speech, list);
      const Json& action = action_of(reply, "tool_result");
      EXPECT_EQ(text_of(action, "reason"), "item_limit");
      EXPECT_EQ(text_of(action, "id"), "a");
      EXPECT_EQ(file(text_of(action, "path")), text);
      const List kept = messages_of(reply);
      EXPECT_THAT(all_of(kept), HasSubstr("kept whole in a file"));
      EXPECT_LT(all_of(kept).size(), 12'000u);
      // The same list again, from either client, and after the daemon began anew.
      EXPECT_EQ(messages_of(ask(speech, list)), kept);
      EXPECT_EQ(messages_of(ask(speech, kept)), kept);
      start();
      EXPECT_EQ(messages_of(ask(speech, list)), kept);
      go_on(speech, list, kept);
      // Rewound to before the result came, and once more with it.
      ask(speech, first(list, 3));
      EXPECT_EQ(messages_of(ask(speech, list)), kept);
      go_on(speech, list, kept);
    }
  }
}

TEST_F(PrepareOrderTest, WhatTheModelHasReadStaysThoughItMoves) {
  const std::string text = kit::numbered_rows(100'000);
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    for (List list : late_lists(speech, text)) {
      fresh_store();
      list.push_back(speech.model("seen"));
      list.push_back(speech.user("go on"));
      const Json reply = ask(speech, list);
      EXPECT_EQ(count_of(reply, "tool_result"), 0u);
      EXPECT_THAT(all_of(messages_of(reply)), Not(HasSubstr("kept whole in a file")));
    }
  }
}

TEST_F(PrepareOrderTest, LateResultsCountForTheBudgetOfTheTurn) {
  const std::string_view window = R"(,"window":60000)";
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    List list = {speech.user("go")};
    for (char id = 'a'; id < 'e'; ++id) list.push_back(call_of(speech, {&id, 1}));
    for (char id = 'a'; id < 'e'; ++id) {
      list.push_back(result_of(speech, {&id, 1}, std::string(1, id) + kit::numbered_rows(40'000)));
    }
    const Json reply = ask(speech, list, window);
    EXPECT_GE(count_of(reply, "tool_result"), 1u);
    EXPECT_EQ(count_of(reply, "old_result"), 0u);
    EXPECT_EQ(text_of(action_of(reply, "tool_result"), "reason"), "turn_budget");
    go_on(speech, list, messages_of(reply), window);
  }
}

TEST_F(PrepareOrderTest, NoSummaryCoversALateResult) {
  const std::string text = kit::numbered_rows(20'000);
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    List list = {speech.user("go"), call_of(speech, "late")};
    for (int turn = 0; turn < 6; ++turn) {
      list.push_back(speech.user(fmt::format("ask {} {}", turn, kit::prose(3'000))));
      list.push_back(speech.model(fmt::format("{} {}", turn, kit::prose(3'000))));
    }
    list.push_back(result_of(speech, "late", text));
    const Json reply =
        must("prepare", fmt::format(R"({{"session":"s","format":"{}","window":12000,)"
                                    R"("reply":"messages","messages":{}}})",
                                    speech.format, list_of(list)));
    EXPECT_EQ(count_of(reply, "breach"), 0u);
    EXPECT_EQ(count_of(reply, "old_result"), 0u);
    EXPECT_THAT(all_of(messages_of(reply)), HasSubstr(R"(late)"));
    EXPECT_THAT(all_of(messages_of(reply)), Not(HasSubstr("the call was interrupted")));
  }
}

// The client that took what said that there is none goes on as the one that never saw it.
TEST_F(PrepareOrderTest, TheTrueResultTakesThePlaceOfTheOneThatSaidThereIsNone) {
  const std::string text = kit::numbered_rows(200'000);
  for (const Speech& speech : speeches()) {
    for (const std::string& result : {std::string("found: 42"), text}) {
      SCOPED_TRACE(fmt::format("{} {}", speech.format, result.size()));
      fresh_store();
      List list = {speech.user("go"), call_of(speech, "a"), call_of(speech, "b"),
                   result_of(speech, "b", "small"), speech.user("hurry")};
      List kept = messages_of(ask(speech, list));
      EXPECT_THAT(all_of(kept), HasSubstr("the call was interrupted"));
      for (List* each : {&list, &kept}) each->push_back(speech.model("I wait for it"));
      EXPECT_EQ(messages_of(ask(speech, list)), messages_of(ask(speech, kept)));
      for (List* each : {&list, &kept}) each->push_back(result_of(speech, "a", result));
      const Json reply = ask(speech, kept);
      EXPECT_EQ(count_of(reply, "tool_result"), result == text ? 1u : 0u);
      const List out = messages_of(reply);
      EXPECT_THAT(all_of(out), Not(HasSubstr("the call was interrupted")));
      EXPECT_THAT(all_of(out), Not(HasSubstr("carried on as text")));
      EXPECT_THAT(all_of(out), HasSubstr(result == text ? "kept whole in a file" : "found: 42"));
      for (const List& each : {list, kept, out}) EXPECT_EQ(messages_of(ask(speech, each)), out);
      start();
      EXPECT_EQ(messages_of(ask(speech, list)), out);
      EXPECT_EQ(messages_of(ask(speech, kept)), out);
      go_on(speech, list, out);
      go_on(speech, kept, out);
    }
  }
}

// Frameworks count the calls of each turn from 1.
TEST_F(PrepareOrderTest, OneIdInEveryTurnMixesNothingUp) {
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    List list;
    List kept;
    std::vector<std::string> paths;
    for (int turn = 0; turn < 8; ++turn) {
      const std::string text = fmt::format("turn {}\n{}", turn, kit::numbered_rows(90'000));
      const List said = {speech.user(fmt::format("ask {}", turn)), call_of(speech, "call_1"),
                         result_of(speech, "call_1", text)};
      for (List* each : {&list, &kept}) each->insert(each->end(), said.begin(), said.end());
      const Json reply = ask(speech, list);
      ASSERT_EQ(count_of(reply, "tool_result"), 1u) << to_json(*reply.find("actions"));
      EXPECT_EQ(text_of(action_of(reply, "tool_result"), "id"), "call_1");
      paths.push_back(text_of(action_of(reply, "tool_result"), "path"));
      EXPECT_EQ(file(paths.back()), text);
      // Whoever keeps what comes back is told nothing new about it.
      const Json second = ask(speech, kept);
      EXPECT_EQ(messages_of(second), messages_of(reply));
      kept = messages_of(second);
      EXPECT_TRUE(ask(speech, kept).find("actions")->items.empty());
      EXPECT_EQ(messages_of(ask(speech, kept)), kept);
      for (List* each : {&list, &kept}) each->push_back(speech.model("seen"));
    }
    std::ranges::sort(paths);
    EXPECT_EQ(std::ranges::adjacent_find(paths), paths.end());
    EXPECT_THAT(paths.front(), HasSubstr("call_1"));
    // A rewind, and the same turn once more.
    const List whole = messages_of(ask(speech, list));
    EXPECT_EQ(messages_of(ask(speech, first(list, 11))), first(whole, 11));
    EXPECT_EQ(messages_of(ask(speech, list)), whole);
  }
}

TEST_F(PrepareOrderTest, OneIdInEveryTurnThroughPasses) {
  const std::string_view window = R"(,"window":10000)";
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    List list;
    List kept;
    for (int turn = 0; turn < 24; ++turn) {
      const List said = {speech.user(fmt::format("ask {} {}", turn, kit::prose(2'000))),
                         call_of(speech, "call_1"),
                         result_of(speech, "call_1", fmt::format("{} {}", turn, kit::prose(2'500))),
                         call_of(speech, "call_1"),
                         result_of(speech, "call_1", fmt::format("{} once more", turn))};
      for (List* each : {&list, &kept}) each->insert(each->end(), said.begin(), said.end());
      const Json whole = ask(speech, list, window);
      kept = messages_of(ask(speech, kept, window));
      ASSERT_EQ(messages_of(whole), kept) << "turn " << turn;
      for (List* each : {&list, &kept}) each->push_back(speech.model("seen"));
    }
    EXPECT_THAT(all_of(kept), HasSubstr("# Summary of older messages"));
    for (int turn = 0; turn < 6; ++turn) {
      EXPECT_THAT(history(), HasSubstr(fmt::format("{} once more", turn)));
    }
  }
}

// The model's message stands twice: a retry appended it again.
TEST_F(PrepareOrderTest, ACallThatStandsTwiceHasOneResult) {
  const std::string text = kit::numbered_rows(100'000);
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    const List list = {speech.user("go"), call_of(speech, "x"), call_of(speech, "x"),
                       result_of(speech, "x", text)};
    const Json reply = ask(speech, list);
    EXPECT_EQ(text_of(action_of(reply, "repair"), "reason"), "dangling_call");
    EXPECT_EQ(file(text_of(action_of(reply, "tool_result"), "path")), text);
    EXPECT_THAT(all_of(messages_of(reply)), HasSubstr("the call was interrupted"));
    go_on(speech, list, messages_of(reply));
  }
}

TEST_F(PrepareOrderTest, AResultUnderAnIdUsedAgainIsPutAwayByName) {
  const Speech speech = speeches().front();
  const List kept = messages_of(
      ask(speech, {speech.user("go"), call_of(speech, "x"), result_of(speech, "x", "first"),
                   call_of(speech, "x"), result_of(speech, "x", kit::prose(9'000))}));
  EXPECT_THAT(kept.at(3), HasSubstr("\"x_ebla2\""));
  const Json reply = ask(speech, kept, R"(,"put_away":["x_ebla2"])");
  EXPECT_EQ(file(text_of(action_of(reply, "tool_result"), "path")), kit::prose(9'000));
  EXPECT_EQ(count_of(reply, "not_put_away"), 0u);
}

}  // namespace
}  // namespace ebla::daemon
