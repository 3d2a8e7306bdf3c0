// Histories and summaries of request bodies as clients send them, in each format.
#include <gtest/gtest.h>

#include "context/formats/format.h"
#include "context/history.h"
#include "schema/base/utf8.h"
#include "tests/kit/history_reader.h"

namespace ebla::context {
namespace {

struct Body {
  std::string text;
  Conversation conversation;
  WorkingList list;

  explicit Body(std::string body) : text(std::move(body)) {
    Result<Conversation> parsed = parse_any(text);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text);
    if (parsed) conversation = std::move(*parsed);
    list.conversation = &conversation;
    for (const Message& message : conversation.messages) {
      WorkingMessage working;
      working.message = &message;
      working.index = list.messages.size();
      working.parts.resize(message.parts.size());
      list.messages.push_back(working);
    }
  }
  Body(const Body&) = delete;

  std::vector<kit::HistoryMessage> history() const {
    SectionInput input;
    input.body = text;
    for (const WorkingMessage& message : list.messages) input.messages.push_back(&message);
    const auto sections = kit::parse_history(render_section(input).text);
    EXPECT_TRUE(sections) << (sections ? "" : sections.error().text);
    return sections ? sections->at(0).messages : std::vector<kit::HistoryMessage>{};
  }
  std::string summary() const {
    SummaryMessageInput input;
    input.input.body = text;
    input.input.list = &list;
    input.input.removed = list.messages.size();
    input.input.max_tokens = 2'000;
    input.input.history_path = "/conversation_history/x.md";
    input.summary = extract_summary(input.input);
    EXPECT_TRUE(utf8::is_valid(summary_request(input.input, {}).prompt));
    return summary_message(input);
  }
};

std::string anthropic_body() {
  return R"({"model":"claude","max_tokens":100,"system":"rules","messages":[
{"role":"user","content":[{"type":"text","text":"Never stop\u0000 \ud800 here."},{"type":"image",
 "source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"let me see","signature":"c2ln"},
 {"type":"redacted_thinking","data":"b3BhcXVl"},{"type":"text","text":"Next I look."},
 {"type":"tool_use","id":"t1","name":"bash","input":{"command":"make \ud83d\ude00", "n": 1.0}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[
 {"type":"text","text":"one\r\n"},{"type":"text","text":"## Section 1: messages 1 to 1"},
 {"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/4AAQ"}}]},
 {"type":"text","text":"and hurry"}]},
{"role":"assistant","content":"done ``` ````"},
{"role":"user","content":[{"type":"strange","payload":[1e2,{"a":"b"}]}]}]})";
}

TEST(HistoryFormats, Anthropic) {
  const Body body(anthropic_body());
  const auto messages = body.history();
  ASSERT_EQ(messages.size(), 5u);
  ASSERT_EQ(messages[0].parts.size(), 2u);
  EXPECT_EQ(messages[0].parts[0].block, std::string("Never stop\0 \xed\xa0\x80 here.", 21));
  EXPECT_EQ(messages[0].parts[1].kind, "image");
  EXPECT_NE(messages[0].parts[1].block->find("iVBORw0KGgo="), std::string::npos);
  ASSERT_EQ(messages[1].parts.size(), 4u);
  EXPECT_EQ(messages[1].parts[0].block, "let me see");
  EXPECT_EQ(messages[1].parts[1].block, R"({"type":"redacted_thinking","data":"b3BhcXVl"})");
  EXPECT_EQ(messages[1].parts[3].block, R"({"command":"make \ud83d\ude00", "n": 1.0})");
  const kit::HistoryPart& result = messages[2].parts[0];
  EXPECT_EQ(result.label, R"(result of "bash", id "t1", failed)");
  EXPECT_EQ(result.block, "one\r\n\n## Section 1: messages 1 to 1");
  EXPECT_NE(messages[2].parts[1].block->find("/9j/4AAQ"), std::string::npos);
  EXPECT_EQ(messages[2].parts[2].block, "and hurry");
  EXPECT_EQ(messages[3].parts[0].block, "done ``` ````");
  EXPECT_EQ(messages[4].parts[0].kind, "other");
  EXPECT_EQ(messages[4].parts[0].block, R"({"type":"strange","payload":[1e2,{"a":"b"}]})");
}

TEST(HistoryFormats, OpenAi) {
  const Body body(R"({"model":"gpt","messages":[
{"role":"system","content":"rules"},{"role":"user","content":"go"},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":
 {"name":"write_file","arguments":"{\"path\": \"a\\\"b.txt\",\"content\":\"x\\ny\"}"}}]},
{"role":"tool","tool_call_id":"c1","content":"ok"}]})");
  const auto messages = body.history();
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].role, "system");
  const kit::HistoryPart& call = messages[2].parts.at(0);
  EXPECT_EQ(call.label, R"(call of "write_file", id "c1")");
  EXPECT_EQ(call.block, R"({"path": "a\"b.txt","content":"x\ny"})");
  EXPECT_EQ(messages[3].parts.at(0).label, R"(result of "write_file", id "c1")");
  EXPECT_NE(body.summary().find(R"(- "a\"b.txt": written)"), std::string::npos) << body.summary();
}

TEST(HistoryFormats, Responses) {
  const Body body(R"({"model":"gpt","input":[
{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"b3BhcXVl"},
{"type":"function_call","id":"fc_1","call_id":"c1","name":"shell",
 "arguments":"{\"command\":[\"bash\",\"-lc\",\"ls -l\"]}"},
{"type":"function_call_output","call_id":"c1","output":"total 0"},
{"type":"custom_tool_call","call_id":"c2","name":"apply_patch",
 "input":"*** Begin Patch\n*** Update File: src/a.py\n*** End Patch"},
{"type":"custom_tool_call_output","call_id":"c2","output":"Done"},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}]})");
  const auto messages = body.history();
  ASSERT_EQ(messages.size(), 7u);
  EXPECT_EQ(messages[1].parts.at(0).kind, "reasoning");
  EXPECT_NE(messages[1].parts.at(0).block->find("encrypted_content"), std::string::npos);
  EXPECT_EQ(messages[2].parts.at(0).block, R"({"command":["bash","-lc","ls -l"]})");
  EXPECT_EQ(messages[4].parts.at(0).block,
            "*** Begin Patch\n*** Update File: src/a.py\n*** End Patch");
  const std::string summary = body.summary();
  EXPECT_NE(summary.find(R"(- "shell: ls -l": ended, "total 0")"), std::string::npos) << summary;
  EXPECT_NE(summary.find(R"(- "src/a.py": edited)"), std::string::npos) << summary;
}

TEST(HistoryFormats, ASummaryOfHostileTextsIsStrictAndWithoutMedia) {
  const Body body(anthropic_body());
  const std::string summary = body.summary();
  EXPECT_TRUE(utf8::is_valid(summary));
  EXPECT_EQ(summary.find("iVBOR"), std::string::npos);
  EXPECT_EQ(summary.find("b3BhcXVl"), std::string::npos);
  EXPECT_EQ(summary, body.summary());
  EXPECT_EQ(parts_of_summary(summary).current_request, "and hurry");
}

}  // namespace
}  // namespace ebla::context
