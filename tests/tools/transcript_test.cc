// Recorded conversations become the list that the agent sent.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kit/real_texts.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/transcripts.h"
#include "tools/try/transcript.h"

namespace ebla::tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Transcript parsed(std::string_view text) {
  auto transcript = parse_transcript(text);
  EXPECT_TRUE(transcript) << transcript.error().text;
  return transcript.value_or(Transcript());
}

// "u" for each message that the model got, "m" for each that it said.
std::string speakers(const Transcript& transcript) {
  std::string out;
  for (const TranscriptMessage& message : transcript.messages) {
    EXPECT_TRUE(parse_json(message.json)) << message.json;
    out += message.by_model ? "m" : "u";
  }
  return out;
}

TEST(Transcript, ClaudeCodeLinesBecomeMessages) {
  ClaudeCodeLines lines;
  lines.raw(R"({"type":"summary","summary":"A title","leafUuid":"x"})")
      .user("修复 the build")
      .says("msg_1", "I look.", 3)
      .calls("msg_1", "toolu_1", "Bash")
      .result("toolu_1", "ok\n")
      .says("msg_2", "Done.", 12);
  const Transcript transcript = parsed(lines.text());
  EXPECT_EQ(transcript.kind, "Claude Code");
  EXPECT_EQ(transcript.format, "anthropic");
  EXPECT_EQ(transcript.model, "claude-sonnet-4-5");
  ASSERT_EQ(speakers(transcript), "umum");
  EXPECT_EQ(transcript.messages[0].json, R"({"role":"user","content":"修复 the build"})");
  EXPECT_EQ(
      transcript.messages[1].json,
      R"({"role":"assistant","content":[{"type":"text","text":"I look."},)"
      R"({"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"make -j1.0"}}]})");
  EXPECT_EQ(transcript.messages[3].reported, 12U);
  EXPECT_EQ(transcript.broken_lines + transcript.abandoned_lines + transcript.sidechain_lines, 0U);
}

TEST(Transcript, ParallelCallsKeepAllTheirResults) {
  ClaudeCodeLines lines;
  lines.user("go").calls("msg_1", "a", "Bash");
  const std::string first = lines.newest();
  lines.result("a", "of a").rewind(first).calls("msg_1", "b", "Read");
  const std::string second = lines.newest();
  lines.calls("msg_1", "c", "Grep");
  lines.result("c", "of c").result("b", "of b", second).user("and now?").says("msg_2", "end");
  const Transcript transcript = parsed(lines.text());
  ASSERT_EQ(speakers(transcript), "umum");
  EXPECT_THAT(transcript.messages[1].json,
              AllOf(HasSubstr("\"a\""), HasSubstr("\"b\""), HasSubstr("\"c\"")));
  EXPECT_THAT(transcript.messages[2].json, AllOf(HasSubstr("of a"), HasSubstr("of b"),
                                                 HasSubstr("of c"), HasSubstr("and now?")));
  EXPECT_LT(transcript.messages[2].json.find("of b"), transcript.messages[2].json.find("and now"));
  EXPECT_EQ(transcript.abandoned_lines, 0U);
}

TEST(Transcript, ARewindLeavesTheOtherBranchOut) {
  ClaudeCodeLines lines;
  lines.user("one").says("msg_1", "answer one");
  const std::string place = lines.newest();
  lines.user("a wrong way").calls("msg_2", "x", "Bash").result("x", "lost").says("msg_3", "hm");
  lines.rewind(place).user("the right way").says("msg_4", "answer two");
  const Transcript transcript = parsed(lines.text());
  EXPECT_EQ(speakers(transcript), "umum");
  EXPECT_EQ(transcript.messages[2].json, R"({"role":"user","content":"the right way"})");
  EXPECT_EQ(transcript.abandoned_lines, 4U);
}

TEST(Transcript, SummariesSidechainsAndBrokenLinesAreCounted) {
  ClaudeCodeLines lines;
  lines.user("one").says("msg_1", "two").sidechain("a sub-agent").compacts("in short");
  lines.user("three").says("msg_2", "four").raw(R"({"type":"file-history-snapshot"})");
  lines.raw("not JSON").raw(R"({"parentUuid":"line-6","type":"assis)");
  const Transcript transcript = parsed(lines.text());
  EXPECT_EQ(speakers(transcript), "umum");
  ASSERT_EQ(transcript.compactions.size(), 1U);
  EXPECT_EQ(transcript.compactions[0].message, 2U);
  EXPECT_GT(transcript.compactions[0].summary_bytes, 8U);
  EXPECT_EQ(transcript.sidechain_lines, 1U);
  EXPECT_EQ(transcript.broken_lines, 2U);
  EXPECT_EQ(transcript.first_broken, 9U);
}

TEST(Transcript, AFileOfASubAgentIsReplayedItself) {
  ClaudeCodeLines lines;
  lines.user("look").calls("msg_1", "a", "Bash").result("a", "ok").says("msg_2", "found");
  std::string text = lines.text();
  const std::string main = "\"isSidechain\":false";
  for (size_t at = text.find(main); at != std::string::npos; at = text.find(main, at)) {
    text.replace(at, main.size(), "\"isSidechain\":true");
  }
  const Transcript transcript = parsed(text);
  EXPECT_EQ(speakers(transcript), "umum");
  EXPECT_EQ(transcript.sidechain_lines, 0U);
}

TEST(Transcript, AMissingLineDoesNotCutTheConversation) {
  ClaudeCodeLines lines;
  lines.user("one").says("msg_1", "two").user("three").says("msg_2", "four");
  std::string text = lines.text();
  const size_t start = text.find('\n') + 1;
  text.replace(start, text.find('\n', start) - start, "{\"torn");
  const Transcript transcript = parsed(text);
  EXPECT_EQ(speakers(transcript), "um");
  EXPECT_THAT(transcript.messages[0].json, AllOf(HasSubstr("one"), HasSubstr("three")));
  EXPECT_EQ(transcript.broken_lines, 1U);
}

TEST(Transcript, CodexInBothShapes) {
  for (const bool payloads : {true, false}) {
    CodexLines lines(payloads);
    lines.user("修复").reasons().calls("call_1", "make").output("call_1", "ok").says("done");
    const Transcript transcript = parsed(lines.text());
    EXPECT_EQ(transcript.kind, "Codex");
    EXPECT_EQ(transcript.format, "responses");
    EXPECT_EQ(transcript.model, payloads ? "gpt-5-codex" : "");
    EXPECT_EQ(speakers(transcript), "ummum");
    EXPECT_EQ(transcript.members, R"("instructions":"You are \"Codex\".",)");
    EXPECT_EQ(transcript.messages[3].json,
              R"({"type":"function_call_output","call_id":"call_1","output":"ok"})");
    EXPECT_EQ(transcript.broken_lines, 0U);
  }
}

TEST(Transcript, CodexUsageAndSummaries) {
  CodexLines lines(true);
  lines.user("go").calls("call_1", "make").tokens(77).output("call_1", "ok").compacts("in short");
  lines.user("on").says("done").tokens(5);
  const Transcript transcript = parsed(lines.text());
  ASSERT_EQ(speakers(transcript), "umuum");
  EXPECT_EQ(transcript.messages[1].reported, 77U);
  EXPECT_EQ(transcript.messages[4].reported, 5U);
  ASSERT_EQ(transcript.compactions.size(), 1U);
  EXPECT_EQ(transcript.compactions[0].message, 3U);
  EXPECT_EQ(transcript.compactions[0].summary_bytes, 8U);
}

TEST(Transcript, ARequestKeepsItsBytes) {
  const Transcript transcript = parsed(
      "{ \"model\":\"gpt-4o\",\n \"temperature\" : 1.0, \"window\":5,\n \"messages\": [\n"
      "  {\"role\":\"user\",\"content\":\"\\u4e2d\"},  {\"role\":\"assistant\"} ],\n"
      " \"n\":1e2}\n");
  EXPECT_EQ(transcript.kind, "request");
  EXPECT_EQ(transcript.model, "gpt-4o");
  EXPECT_EQ(transcript.list_name, "messages");
  EXPECT_EQ(transcript.members, "\"temperature\" : 1.0,\"n\":1e2,");
  ASSERT_EQ(speakers(transcript), "um");
  EXPECT_EQ(transcript.messages[0].json, "{\"role\":\"user\",\"content\":\"\\u4e2d\"}");
}

TEST(Transcript, ListsAndLinesOfEveryFormat) {
  const std::vector<std::string> messages = {
      R"({"role":"user","content":"x"})",
      R"({"role":"assistant","content":[]})",
      R"({"type":"function_call_output","call_id":"c","output":"y"})",
      R"({"type":"function_call","call_id":"c","name":"n","arguments":"{}"})",
      R"({"type":"human","content":"x"})",
      R"({"type":"ai","content":"x"})",
      R"({"lc":1,"type":"constructor","id":["langchain","schema","HumanMessage"],"kwargs":{}})",
      R"({"lc":1,"type":"constructor","id":["langchain","schema","AIMessage"],"kwargs":{}})",
  };
  std::string list = "[";
  std::string lines;
  for (const std::string& message : messages) {
    list += (list.size() > 1 ? " ,\n" : "") + message;
    lines += message + "\r\n\n";
  }
  for (const std::string& text : {list + "]", lines}) {
    const Transcript transcript = parsed(text);
    EXPECT_EQ(transcript.kind, "list of messages");
    EXPECT_EQ(transcript.list_name, "");
    EXPECT_EQ(speakers(transcript), "umumumum");
    EXPECT_EQ(transcript.messages[7].json, messages[7]);
  }
  const Transcript one = parsed(messages[0]);
  EXPECT_EQ(speakers(one), "u") << "a single line is a message too";
}

TEST(Transcript, EveryShapeOfAResultArrives) {
  for (const auto& [name, text] : kit::all_shapes()) {
    ClaudeCodeLines lines;
    lines.user("go").calls("msg_1", "toolu_1", "Bash").result("toolu_1", text);
    const Transcript transcript = parsed(lines.text());
    ASSERT_EQ(speakers(transcript), "umu") << name;
    EXPECT_THAT(transcript.messages[2].json, HasSubstr(json_text(text))) << name;
  }
}

TEST(Transcript, WhatIsNoTranscriptIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("\n \n"), std::string("plain text\n"), std::string("{}"),
        std::string("[]"), std::string("[1,2]"), std::string("{\"messages\":{}}"),
        kit::random_bytes(5'000, 3), kit::minified_json(3'000)}) {
    const auto transcript = parse_transcript(text);
    ASSERT_FALSE(transcript) << text.substr(0, 20);
    EXPECT_EQ(transcript.error().code, Code::parse_error);
  }
  EXPECT_EQ(read_transcript("/no/such/file").error().code, Code::file_not_found);
}

// Whatever a file was cut off at, it is read or refused.
TEST(Transcript, CutOffAnywhere) {
  ClaudeCodeLines lines;
  lines.user("one").calls("msg_1", "a", "Bash").result("a", "ok").compacts("s").user("two");
  CodexLines codex(true);
  codex.user("修复").reasons().calls("call_1", "make").output("call_1", "ok").says("done");
  for (const std::string& text :
       {lines.text(), codex.text(),
        std::string("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"中\"}]}")}) {
    for (size_t size = 0; size < text.size(); ++size) {
      const auto transcript = parse_transcript(std::string_view(text).substr(0, size));
      if (transcript) {
        EXPECT_FALSE(transcript->messages.empty());
        (void)speakers(*transcript);
      }
    }
  }
}

}  // namespace
}  // namespace ebla::tools
