// Ids that come again: each call has its own in the end, its result with it.
#include "context/formats/call_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/context/formats/repaired.h"

namespace ebla::context {
namespace {

using test::canonical;
using test::repaired;
using testing::HasSubstr;

TEST(CallIds, WhatIsReadIsWrittenAgain) {
  for (const std::string_view id :
       {"", "x", "call_1", "_ebla2", "x_ebla", "x_ebla1", "x_ebla02", "x_ebla1234567", "x_ebla2y",
        "x_ebla-2", "x_ebla2", "x_ebla999999", "x_ebla2_ebla3", "\xE4\xB8\xAD_ebla7"}) {
    const CallId read = read_call_id(id);
    EXPECT_EQ(written_id(read.id, read.number), id);
  }
  EXPECT_EQ(read_call_id("call_1_ebla12").id, "call_1");
  EXPECT_EQ(read_call_id("call_1_ebla12").number, 12u);
  EXPECT_EQ(read_call_id("x_ebla1").number, 0u);
}

TEST(CallIds, ParallelCallsOfOneIdAreAnsweredInOrder) {
  const std::string body = R"([{"role":"user","content":"go"},
    {"role":"assistant","content":[{"type":"tool_use","id":"0","name":"a","input":{}},
                                   {"type":"tool_use","id":"0","name":"b","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"0","content":"of a"},
                              {"type":"tool_result","tool_use_id":"0","content":"of b"}]}])";
  const Format& format = format_of(FormatId::anthropic);
  const std::string out = repaired(body, format);
  EXPECT_EQ(canonical(out), canonical(R"([{"role":"user","content":"go"},
    {"role":"assistant","content":[{"type":"tool_use","id":"0","name":"a","input":{}},
                                   {"type":"tool_use","id":"0_ebla2","name":"b","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"0","content":"of a"},
                              {"type":"tool_result","tool_use_id":"0_ebla2","content":"of b"}]}])"));
  const Conversation before = *format.parse(body);
  const Conversation after = *format.parse(out);
  for (size_t m = 0; m < before.messages.size(); ++m) {
    EXPECT_EQ(after.messages[m].identity, before.messages[m].identity) << m;
  }
  EXPECT_EQ(after.messages[2].parts[1].tool, "b");
}

// A chain says an id at several places.
TEST(CallIds, EveryPlaceOfAChainsMessageIsWritten) {
  const std::string body = R"([{"type":"human","content":"go"},
    {"type":"ai","content":[{"type":"text","text":"c"},{"type":"tool_use","id":"c","name":"a"},
                            {"type":"function_call","id":"fc","call_id":"c","name":"b"}],
     "tool_calls":[{"id":"c","name":"a","args":{}},{"id":"c","name":"b","args":{"id":"c"}}],
     "additional_kwargs":{"tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}},
                                        {"id":"c","function":{"name":"b","arguments":"{}"}}]}},
    {"type":"tool","tool_call_id":"c","id":"c","content":"of a"},
    {"type":"tool","tool_call_id":"c","id":"c","content":"of b"}])";
  const std::string out = repaired(body, format_of(FormatId::langchain));
  EXPECT_THAT(out, HasSubstr(R"({"id":"c_ebla2","name":"b","args":{"id":"c"}})"));
  EXPECT_THAT(out, HasSubstr(R"({"id":"c_ebla2","function":{"name":"b")"));
  EXPECT_THAT(out, HasSubstr(R"({"id":"c","function":{"name":"a")"));
  EXPECT_THAT(out, HasSubstr(R"({"type":"tool","tool_call_id":"c","id":"c","content":"of a"})"));
  EXPECT_THAT(out,
              HasSubstr(R"({"type":"tool","tool_call_id":"c_ebla2","id":"c","content":"of b"})"));
}

// A list that a provider takes comes back as it is, to the byte.
TEST(CallIds, WhereResultsStandRightBehindAnIdMayComeAgain) {
  const std::string turn = R"({"role":"assistant","tool_calls":[{"id":"1","type":"function",)"
                           R"("function":{"name":"t","arguments":"{}"}}]},)"
                           R"({"role":"tool","tool_call_id":"1","content":"x"})";
  const std::string body = R"([{"role":"user","content":"go"},)" + turn + ", " + turn + "]";
  EXPECT_EQ(repaired(body, format_of(FormatId::openai)), body);
}

TEST(CallIds, AListThatLostItsBeginningGoesOnCounting) {
  const std::string body = R"([{"role":"user","content":"go"},
    {"type":"function_call","call_id":"1_ebla7","name":"t","arguments":"{}"},
    {"type":"function_call_output","call_id":"1_ebla7","output":"x"},
    {"type":"function_call","call_id":"1","name":"t","arguments":"{}"},
    {"type":"function_call_output","call_id":"1","output":"y"},
    {"type":"function_call","call_id":"1","name":"t","arguments":"{}"}])";
  const std::string out = repaired(body, format_of(FormatId::responses));
  EXPECT_THAT(out, HasSubstr(R"("call_id":"1_ebla8","output":"y")"));
  // One that waits has its number before its result comes, under whichever id.
  EXPECT_THAT(out, HasSubstr(R"({"type":"function_call","call_id":"1_ebla9","name":"t")"));
  for (const std::string id : {"1", "1_ebla9"}) {
    const std::string next = out.substr(0, out.size() - 1) +
                             R"(,{"type":"function_call_output","call_id":")" + id +
                             R"(","output":"z"}])";
    EXPECT_THAT(repaired(next, format_of(FormatId::responses)),
                HasSubstr(R"("call_id":"1_ebla9","output":"z")"));
  }
}

// A result that moves away leaves no words in its place, and the call that it stood behind is
// closed by one in the same message.
TEST(CallIds, ALateResultGoesOnBehindItsCall) {
  const std::string head = R"([{"role":"user","content":"go"},
    {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]},)";
  const std::string open =
      R"({"role":"assistant","content":[{"type":"tool_use","id":"b","name":"t","input":{}}]},)";
  const std::string late = R"({"type":"tool_result","tool_use_id":"a","content":"late"})";
  const std::string body = head + R"({"role":"user","content":"hurry"},)" + open +
                           R"({"role":"user","content":[)" + late + "]}]";
  const std::string out = repaired(body, format_of(FormatId::anthropic));
  EXPECT_EQ(canonical(out), canonical(head + R"({"role":"user","content":[)" + late +
                                      R"(,{"type":"text","text":"hurry"}]},)" + open +
                                      R"({"role":"user","content":[
      {"type":"tool_result","tool_use_id":"b","content":"[no result: the call was interrupted]"}]}])"));
}

}  // namespace
}  // namespace ebla::context
