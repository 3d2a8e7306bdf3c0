// Contents that are neither text nor blocks, and lists that begin with the model: as each provider
// takes them, every byte around them kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/context/formats/histories.h"
#include "tests/context/formats/repaired.h"

namespace ebla::context {
namespace {

using test::breaches;
using test::repaired;
using testing::IsEmpty;

// How a format writes one call and its result, around the member that says what the result was.
struct Frame {
  FormatId id;
  std::string_view before;
  std::string_view member;
  std::string_view behind;
};
constexpr Frame kFrames[] = {
    {FormatId::anthropic,
     R"({ "x" : 1.0,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{ }}]},{"role":"user","content":[ {"type":"tool_result", "tool_use_id":"1")",
     "content", R"( , "is_error":false} ]}] })"},
    {FormatId::openai,
     R"([{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[
     {"id":"1","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1")",
     "content", R"(,"x":1e2},{"role":"user","content":"b"}])"},
    {FormatId::responses,
     R"({"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"1","name":"t","arguments":"{}"},{"type":"function_call_output","call_id":"1")",
     "output", R"( }],"x":1.0})"},
    {FormatId::langchain,
     R"([{"type":"human","content":"a"},{"type":"ai","content":"","tool_calls":[{"name":"t","args":{},"id":"1"}]},{"type":"tool","tool_call_id":"1")",
     "content", R"(,"status":"success"}])"},
    {FormatId::langchain,
     R"([{"type":"human","data":{"content":"a"}},{"type":"ai","data":{"content":"","tool_calls":[{"name":"t","args":{},"id":"1"}]}},{"type":"tool","data":{"tool_call_id":"1")",
     "content", R"(,"artifact":[ ]}}])"},
};

std::string body_of(const Frame& frame, std::string_view content) {
  std::string body(frame.before);
  if (!content.empty()) body.append(",\"").append(frame.member).append("\": ").append(content);
  return body.append(frame.behind);
}

void expect_repair(const Frame& frame, std::string_view content, std::string_view wanted) {
  const Format& format = format_of(frame.id);
  const std::string body = body_of(frame, content);
  const std::string out = repaired(body, format);
  EXPECT_EQ(out, body_of(frame, wanted)) << format_name(frame.id) << " " << content;
  EXPECT_THAT(breaches(out, format), IsEmpty()) << out;
  EXPECT_EQ(repaired(out, format), out);
  EXPECT_EQ(breaches(body, format).empty(), content == wanted) << body;
}

std::string block(FormatId id, std::string_view token) {
  const char* type = id == FormatId::responses ? "input_text" : "text";
  return R"({"type":")" + std::string(type) + R"(","text":)" + std::string(token) + "}";
}

TEST(Shapes, OfAResult) {
  for (const Frame& frame : kFrames) {
    expect_repair(frame, "null", R"("[empty]")");
    expect_repair(frame, "7", R"("7")");
    expect_repair(frame, "1.50e2", R"("1.50e2")");
    expect_repair(frame, "true", R"("true")");
    expect_repair(frame, R"({"rows" : [1,"a\/b"]})", R"("{\"rows\" : [1,\"a\\/b\"]}")");
    const std::string text = block(frame.id, R"("a\u00e9")");
    expect_repair(frame, text, "[" + text + "]");
    expect_repair(frame, "[" + text + "]", "[" + text + "]");
    expect_repair(frame, R"("said")", R"("said")");
    const std::string mixed = "[\"a\\u00e9\" , " + text + "]";
    const std::string strict = "[" + text + "," + text + "]";
    expect_repair(frame, mixed, frame.id == FormatId::langchain ? mixed : strict);
    expect_repair(frame, "[" + text + ", 7]", "[" + text + "," + block(frame.id, R"("7")") + "]");
  }
}

TEST(Shapes, AResultWithoutContent) {
  const auto out = [](const Frame& frame) {
    return repaired(body_of(frame, ""), format_of(frame.id));
  };
  // An Anthropic tool may have had nothing to say.
  EXPECT_EQ(out(kFrames[0]), body_of(kFrames[0], ""));
  for (const Frame& frame : std::span(kFrames).subspan(1)) {
    const Format& format = format_of(frame.id);
    const std::string healed = out(frame);
    EXPECT_THAT(healed, testing::HasSubstr("\"" + std::string(frame.member) + R"(":"[empty]")"));
    EXPECT_THAT(breaches(healed, format), IsEmpty()) << healed;
    EXPECT_EQ(repaired(healed, format), healed);
  }
}

TEST(Shapes, WhatIsLegalStays) {
  const std::pair<FormatId, std::string_view> kLegal[] = {
      {FormatId::openai, R"([{"role":"user","content":"a"},
        {"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
        {"role":"function","name":"f","content":null},
        {"role":"assistant","content":null,"audio":{"id":"audio_1"}},
        {"role":"assistant","content":null,"refusal":"no"},{"role":"user","content":"b"}])"},
      {FormatId::responses, R"({"input":[{"role":"user","content":"a"},
        {"type":"computer_call","call_id":"1","action":{"type":"click"}},
        {"type":"computer_call_output","call_id":"1","output":{"type":"computer_screenshot",
           "image_url":"data:image/png;base64,iVBORw0KGgo="}},
        {"type":"apply_patch_call","call_id":"2","operation":{}},
        {"type":"apply_patch_call_output","call_id":"2","status":"completed"},
        {"type":"shell_call","call_id":"3","action":{"commands":["ls"]}},
        {"type":"shell_call_output","call_id":"3","output":[{"stdout":"","stderr":"","outcome":
           {"type":"exit","exit_code":0}}]},
        {"type":"tool_search_call","call_id":"4","execution":"client","arguments":{}},
        {"type":"tool_search_output","call_id":"4","execution":"client","tools":[]},
        {"type":"tool_search_output","call_id":null,"execution":"server","tools":[]},
        {"type":"some_new_call","call_id":"5"},{"type":"some_new_call_output","call_id":"5","output":7},
        {"type":"some_new_call_output","call_id":"6","output":null},
        {"type":"mcp_approval_request","id":"7","name":"x","arguments":"{}"},
        {"type":"mcp_approval_response","approval_request_id":"7","approve":true},
        {"type":"image_generation_call","id":"ig","result":"iVBORw0KGgo=","status":"completed"}]})"},
      {FormatId::langchain, R"([{"type":"human","content":["a","b"]},
        {"type":"ai","content":"","tool_calls":[],"invalid_tool_calls":[
           {"name":"t","args":"{\"a","id":"1","error":"bad"}]},
        {"type":"tool","tool_call_id":"1","content":"again, please"}])"},
  };
  for (const auto& [id, body] : kLegal) {
    const std::string text(body);
    const Conversation c = *format_of(id).parse(text);
    EXPECT_THAT(format_of(id).repairs(text, c), IsEmpty()) << text;
    EXPECT_THAT(breaches(text, format_of(id)), IsEmpty()) << text;
  }
}

// Calls that only the provider knows, and what answers them, stay on one side of a cut.
TEST(Shapes, UnknownCallsKeepTheirOutputs) {
  const std::string body = R"({"input":[{"role":"user","content":"a"},
    {"type":"some_new_call","call_id":"5"},{"role":"user","content":"b"},
    {"type":"some_new_call_output","call_id":"5","output":7},
    {"type":"mcp_approval_request","id":"7"},
    {"type":"mcp_approval_response","approval_request_id":"7","approve":true}]})";
  const Conversation c = *format_of(FormatId::responses).parse(body);
  EXPECT_THAT(cut_points(c), testing::ElementsAre(0u, 1u, 4u, 6u));
}

TEST(Shapes, OfAMessage) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {R"([{"role":"user","content":7}])", R"([{"role":"user","content":"7"}])"},
      {R"([{"role":"user","content":["a" ,"b"]}])",
       R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"},
      {R"([{"role":"user","content":{"type":"text","text":"a"}, "x":1.0}])",
       R"([{"role":"user","content":[{"type":"text","text":"a"}], "x":1.0}])"},
      {R"([{"role":"user","content":null}])", R"([{"role":"user","content":"[empty]"}])"},
      {R"([{"role":"user"}])", R"([{"role":"user","content":"[empty]"}])"},
  };
  for (const FormatId id : {FormatId::anthropic, FormatId::openai}) {
    for (const auto& [body, wanted] : kCases) {
      EXPECT_EQ(repaired(std::string(body), format_of(id)), wanted);
    }
  }
  const std::string call = R"("tool_calls":[{"name":"t","args":{},"id":"1"}]}])";
  EXPECT_EQ(repaired(R"([{"type":"ai","content":null,)" + call, format_of(FormatId::langchain)),
            R"([{"type":"ai","content":"",)" + call);
  EXPECT_EQ(repaired(R"([{"role":"user","content":"a"},{"role":"assistant","content":
               {"type":"tool_use","id":"1","name":"t","input":{}}},{"role":"user","content":
               {"type":"tool_result","tool_use_id":"1","content":null}}])",
                     format_of(FormatId::anthropic)),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":
               [{"type":"tool_use","id":"1","name":"t","input":{}}]},{"role":"user","content":
               [{"type":"tool_result","tool_use_id":"1","content":"[empty]"}]}])");
}

TEST(Shapes, AnthropicListsBeginWithTheUser) {
  const Format& anthropic = format_of(FormatId::anthropic);
  const std::string body = R"({"messages":[ {"role":"assistant","content":"Hello!"},
     {"role":"user","content":"a"} ]})";
  const std::string out = repaired(body, anthropic);
  EXPECT_EQ(out, R"({"messages":[ {"role":"user","content":)"
                 R"("[the beginning of this conversation is not in the list]"},)"
                 R"({"role":"assistant","content":"Hello!"},
     {"role":"user","content":"a"} ]})");
  EXPECT_THAT(breaches(out, anthropic), IsEmpty());
  EXPECT_EQ(repaired(out, anthropic), out);
  EXPECT_TRUE(anthropic.parse(out)->messages[0].parts[0].stand_in);
  // Others take it.
  for (const FormatId id : {FormatId::openai, FormatId::responses}) {
    const std::string list = R"([{"role":"assistant","content":"Hello!"}])";
    EXPECT_EQ(repaired(list, format_of(id)), list);
  }
}

}  // namespace
}  // namespace ebla::context
