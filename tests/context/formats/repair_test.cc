// Lists that a provider would refuse become valid, the same way each time.
#include <gtest/gtest.h>

#include <algorithm>

#include "context/texts.h"
#include "schema/base/json.h"
#include "tests/context/formats/histories.h"
#include "tests/context/formats/repaired.h"

namespace ebla::context {
namespace {

using test::breaches;
using test::canonical;
using test::Dialect;
using test::repaired;

TEST(Repair, OldDanglingCallGetsAResultTheLiveOneDoesNot) {
  const std::string body = R"([{"role":"user","content":"a"},
    {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}},
                                   {"type":"tool_use","id":"2","name":"t","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"two"},
                              {"type":"text","text":"stop"}]},
    {"role":"assistant","content":[{"type":"tool_use","id":"3","name":"t","input":{}}]}])";
  const std::string out = repaired(body, format_of(FormatId::anthropic));
  EXPECT_EQ(canonical(out), canonical(R"([{"role":"user","content":"a"},
    {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}},
                                   {"type":"tool_use","id":"2","name":"t","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"two"},
        {"type":"tool_result","tool_use_id":"1","content":"[no result: the call was interrupted]"},
        {"type":"text","text":"stop"}]},
    {"role":"assistant","content":[{"type":"tool_use","id":"3","name":"t","input":{}}]}])"));
  EXPECT_TRUE(breaches(out, format_of(FormatId::anthropic)).empty());
}

TEST(Repair, DanglingCallBeforeWordsOfTheUser) {
  const std::string out = repaired(
      R"([{"role":"user","content":"a"},
         {"role":"assistant","content":null,"tool_calls":[
            {"id":"1","type":"function","function":{"name":"t","arguments":"{}"}}]},
         {"role":"user","content":"b"}])",
      format_of(FormatId::openai));
  EXPECT_EQ(canonical(out), canonical(R"([{"role":"user","content":"a"},
         {"role":"assistant","content":null,"tool_calls":[
            {"id":"1","type":"function","function":{"name":"t","arguments":"{}"}}]},
         {"role":"tool","tool_call_id":"1","content":"[no result: the call was interrupted]"},
         {"role":"user","content":"b"}])"));
}

TEST(Repair, LateResultMovesBehindItsCall) {
  const std::string out = repaired(
      R"([{"role":"user","content":"a"},
         {"role":"assistant","content":"","tool_calls":[
            {"id":"1","type":"function","function":{"name":"t","arguments":"{}"}}]},
         {"role":"user","content":"b"},
         {"role":"tool","tool_call_id":"1","content":"one","x":1.0}])",
      format_of(FormatId::openai));
  EXPECT_EQ(canonical(out), canonical(R"([{"role":"user","content":"a"},
         {"role":"assistant","content":"","tool_calls":[
            {"id":"1","type":"function","function":{"name":"t","arguments":"{}"}}]},
         {"role":"tool","tool_call_id":"1","content":"one","x":1.0},
         {"role":"user","content":"b"}])"));
}

TEST(Repair, EmptyTextsGetAPlaceholder) {
  const std::string body = R"([{"role":"user","content":""},
    {"role":"assistant","content":[{"type":"text","text":" \n"},
        {"type":"tool_use","id":"1","name":"t","input":{}},
        {"type":"tool_use","id":"2","name":"t","input":{}},
        {"type":"tool_use","id":"3","name":"t","input":{}},
        {"type":"tool_use","id":"4","name":"t","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":""},
        {"type":"tool_result","tool_use_id":"2","content":[]},
        {"type":"tool_result","tool_use_id":"3","content":[{"type":"text","text":""}]},
        {"type":"tool_result","tool_use_id":"4","content":[{"type":"text","text":"x"},{"type":"text","text":""}]}]},
    {"role":"assistant","content":[]}])";
  const Format& format = format_of(FormatId::anthropic);
  const std::string out = repaired(body, format);
  EXPECT_EQ(canonical(out), canonical(R"([{"role":"user","content":"[empty]"},
    {"role":"assistant","content":[{"type":"text","text":"[empty]"},
        {"type":"tool_use","id":"1","name":"t","input":{}},
        {"type":"tool_use","id":"2","name":"t","input":{}},
        {"type":"tool_use","id":"3","name":"t","input":{}},
        {"type":"tool_use","id":"4","name":"t","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"[empty]"},
        {"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"[empty]"}]},
        {"type":"tool_result","tool_use_id":"3","content":[{"type":"text","text":"[empty]"}]},
        {"type":"tool_result","tool_use_id":"4","content":[{"type":"text","text":"x\n"}]}]},
    {"role":"assistant","content":"[empty]"}])"));
  EXPECT_TRUE(breaches(out, format).empty());
}

// As they stand and by their number; one that begins with much of it and then says something is a
// text.
TEST(Repair, UnicodeWhiteSpaceIsEmpty) {
  const Format& format = format_of(FormatId::anthropic);
  const auto list = [](const std::string& text) {
    return R"([{"role":"user","content":")" + text + R"("},
      {"role":"assistant","content":[{"type":"text","text":")" +
           text + R"("}]},
      {"role":"user","content":"go on"}])";
  };
  std::string many;
  for (int i = 0; i < 100; ++i) many += "\xE2\x80\xA8";
  const std::vector<std::string> kBlank = {
      "\xE2\x80\xA8",          R"(\u2028)",   R"(\u001E)", "\xC2\xA0 \xE3\x80\x80",
      R"(\u0085\u1680\u205f)", R"(\n\u200A)", many};
  for (const std::string& blank : kBlank) {
    const std::string out = repaired(list(blank), format);
    EXPECT_EQ(canonical(out), canonical(list("[empty]"))) << blank;
  }
  const std::vector<std::string> kTexts = {"\xE2\x80\x8B", R"(\uFEFF)", many + "x", R"(\u0000)",
                                           R"(\ud800)"};
  for (const std::string& text : kTexts) {
    EXPECT_TRUE(format.repairs(list(text), *format.parse(list(text))).empty()) << text;
  }
}

TEST(Repair, NothingWhereTheProviderHoldsTheRest) {
  const std::string body = R"({"previous_response_id":"r","input":[
    {"type":"function_call_output","call_id":"1","output":"x"}]})";
  const Format& format = format_of(FormatId::responses);
  const Conversation c = *format.parse(body);
  EXPECT_TRUE(c.partial);
  EXPECT_TRUE(format.repairs(body, c).empty());
}

TEST(Repair, ItemsOfTheirOwnKind) {
  const std::string body = R"({"input":[{"role":"user","content":"a"},
    {"type":"custom_tool_call","call_id":"1","name":"apply","input":"x"},
    {"type":"shell_call","call_id":"2","action":{"commands":["ls"]}},
    {"type":"computer_call","call_id":"3","action":{"type":"click"}},
    {"role":"user","content":"b"}]})";
  const std::string out = repaired(body, format_of(FormatId::responses));
  EXPECT_EQ(canonical(out), canonical(R"({"input":[{"role":"user","content":"a"},
    {"type":"custom_tool_call","call_id":"1","name":"apply","input":"x"},
    {"type":"shell_call","call_id":"2","action":{"commands":["ls"]}},
    {"type":"computer_call","call_id":"3","action":{"type":"click"}},
    {"type":"custom_tool_call_output","call_id":"1","output":"[no result: the call was interrupted]"},
    {"type":"shell_call_output","call_id":"2","output":[{"stdout":"","outcome":{"type":"exit","exit_code":1},
        "stderr":"[no result: the call was interrupted]"}]},
    {"role":"user","content":"b"}]})"));
}

// Drops, doubles and moves messages of valid histories.
std::vector<std::string> damaged(std::vector<std::string> messages, std::mt19937& random) {
  for (size_t i = 1 + test::below(random, 4); i > 0 && messages.size() > 1; --i) {
    const auto at = messages.begin() + static_cast<ptrdiff_t>(test::below(random, messages.size()));
    switch (test::below(random, 3)) {
      case 0:
        messages.erase(at);
        break;
      case 1:
        messages.insert(at, std::string(*at));
        break;
      default: {
        std::string moved = std::move(*at);
        messages.erase(at);
        messages.insert(
            messages.begin() + static_cast<ptrdiff_t>(test::below(random, messages.size() + 1)),
            std::move(moved));
      }
    }
  }
  return messages;
}

// Faults that a repair cannot take away without taking what was said.
bool beyond_repair(const std::string& breach) {
  return breach.starts_with("two messages of") || breach.starts_with("the list does not begin") ||
         breach.starts_with("two calls of one id") || breach.starts_with("a reasoning item");
}

TEST(Repair, WhateverWasDamagedIsValidAfterwards) {
  for (uint32_t round = 0; round < 60; ++round) {
    std::mt19937 random(round);
    const test::History history = test::random_history(random);
    for (Dialect dialect : test::kDialects) {
      const std::string body =
          test::request_of(damaged(test::messages_of(history, dialect, &random), random), dialect);
      const Format& format = format_of(test::format_id(dialect));
      const std::string out = repaired(body, format);
      const auto left = breaches(out, format);
      const bool doubled = std::ranges::any_of(
          left, [](const std::string& b) { return b.starts_with("two calls of one id"); });
      for (const std::string& breach : left) {
        ASSERT_TRUE(beyond_repair(breach) || doubled) << breach << "\nround " << round << "\n"
                                                      << body << "\n"
                                                      << out;
      }
      const Conversation c = *format.parse(out);
      ASSERT_TRUE(format.repairs(out, c).empty()) << "round " << round << "\n"
                                                  << body << "\n"
                                                  << out;
      ASSERT_EQ(repaired(body, format), out);
    }
  }
}

// Hostile lists cost no more than their size: seconds here would be hours with a square in it.
TEST(Repair, ManyFaultsAtOnce) {
  constexpr int kMany = 5'000;
  std::string calls;
  std::string results;
  std::string items;
  for (int i = 0; i < kMany; ++i) {
    const std::string id = std::to_string(i);
    calls += R"({"type":"tool_use","id":")" + id + R"(","name":"t","input":{}},)";
    results += R"({"type":"tool_result","tool_use_id":")" + id + R"(","content":""},)";
    items += R"({"type":"function_call","call_id":")" + id + R"(","name":"t","arguments":"{}"},)";
  }
  calls.pop_back();
  const std::string user = R"({"role":"user","content":"a"})";
  const std::string asked = R"({"role":"assistant","content":[)" + calls + "]}";
  const std::string answered =
      R"({"role":"user","content":[)" + results + R"({"type":"text","text":"b"}]})";
  const Format& blocks = format_of(FormatId::anthropic);
  for (const std::string& body : {"[" + user + "," + asked + "," + user + "]",
                                  "[" + user + "," + asked + "," + user + "," + answered + "]",
                                  "[" + answered + "," + asked + "]"}) {
    for (const std::string& breach : breaches(repaired(body, blocks), blocks)) {
      EXPECT_TRUE(beyond_repair(breach)) << breach;
    }
  }
  const Format& responses = format_of(FormatId::responses);
  const std::string body = "[" + user + "," + items + user + "]";
  EXPECT_TRUE(breaches(repaired(body, responses), responses).empty());
}

}  // namespace
}  // namespace ebla::context
