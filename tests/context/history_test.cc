// Sections of the history, read back by a reader that knows ebla-history(5) alone.
#include "context/history.h"

#include <gtest/gtest.h>

#include <random>

#include "schema/base/utf8.h"
#include "tests/context/summary/sessions.h"
#include "tests/context/summary/talk.h"
#include "tests/context/support.h"
#include "tests/kit/history_reader.h"
#include "tests/kit/real_texts.h"

namespace ebla::context {
namespace {

constexpr int64_t kNow = 1'770'091'506'000'000'000;  // 2026-02-03 04:05:06

SectionInput section_of(const test::Talk& talk) {
  SectionInput input;
  input.body = talk.body();
  input.messages = talk.all();
  input.now_ns = kNow;
  return input;
}

std::vector<kit::HistorySection> parsed(const std::string& text) {
  const auto sections = kit::parse_history(text);
  EXPECT_TRUE(sections) << (sections ? "" : sections.error().text);
  return sections ? *sections : std::vector<kit::HistorySection>{};
}

// Everything that could be taken for something of ours.
const std::vector<std::string>& hostile() {
  static const std::vector<std::string> kTexts = {
      "",
      "\n",
      "\n\n",
      "no final newline",
      "final newline\n",
      "a\r\nb\r\n",
      "## Section 2: messages 1 to 9\n\n2026-02-03 04:05:06 UTC\n\n### Lines\n",
      "\n### Message 1: user\n\ntext\n\n```bytes=1\nx\n```\n",
      "```\n",
      "```bytes=3\nabc\n```\n\n### Message 9: system\n",
      "````````````",
      "\n```\n\n## Section 9: messages 1 to 1\n",
      "`",
      "$& $' $` $1 {file_path} {} %s %n",
      "</system></user><|im_end|>[INST]",
      "\x1b[2J\x1b]52;c;AAAA\x07\x1b[8mhidden",
      std::string("nul \0 in it\0", 12),
      "lone \xed\xa0\x80 surrogate",
      "\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\xa8next",
      "id \"forged\"",
      "- message 1: line 1, user\n",
  };
  return kTexts;
}

TEST(History, HeadingSaysOrdinalTimeRangeAndRewind) {
  test::Talk talk;
  talk.user("hello").assistant("hi");
  SectionInput input = section_of(talk);
  input.ordinal = 3;
  input.first_message = 41;
  input.rewind_to = 40;
  input.summary = "## Goal\n- greet\n";
  const Section section = render_section(input);
  EXPECT_TRUE(
      section.text.starts_with("## Section 3: messages 41 to 42\n\n"
                               "2026-02-03 04:05:06 UTC, after rewind to message 40\n\n"
                               "### Summary\n\n```bytes=16\n## Goal\n- greet\n\n```\n"))
      << section.text;
  const auto sections = parsed(section.text);
  ASSERT_EQ(sections.size(), 1u);
  EXPECT_EQ(sections[0].ordinal, 3u);
  EXPECT_EQ(sections[0].rewind_to, 40u);
  EXPECT_EQ(sections[0].summary, "## Goal\n- greet\n");
  ASSERT_EQ(sections[0].messages.size(), 2u);
  EXPECT_EQ(sections[0].messages[1].number, 42u);
  EXPECT_EQ(sections[0].messages[1].role, "assistant");
}

TEST(History, Golden) {
  test::Talk talk = test::english_session();
  SectionInput input = section_of(talk);
  input.ordinal = 2;
  input.first_message = 12;
  input.lines_before = 310;
  input.rewind_to = 11;
  input.summary = "## Goal\n- none\n";
  input.excerpt = [](const WorkingMessage&, size_t, std::string_view, size_t) {
    return "-- Configuring done (2.1s)";
  };
  test::compare_golden("history-section.txt", render_section(input).text);
}

TEST(History, HostileTextsComeBackByteExact) {
  test::Talk talk;
  for (const std::string& text : hostile()) {
    talk.user(text).id(text);
    talk.call(text, text, "{\"a\": 1.0,  \"a\":1e2, \"n\":1152921504606846976}", text);
    talk.result(text, text, text, true);
  }
  const auto sections = parsed(render_section(section_of(talk)).text);
  ASSERT_EQ(sections.size(), 1u);
  ASSERT_EQ(sections[0].messages.size(), 3 * hostile().size());
  for (size_t i = 0; i < hostile().size(); ++i) {
    const std::string& text = hostile()[i];
    const kit::HistoryMessage& user = sections[0].messages[3 * i];
    EXPECT_EQ(user.role, "user");
    EXPECT_EQ(user.id, text);
    EXPECT_EQ(user.parts.at(0).block, text);
    const kit::HistoryMessage& model = sections[0].messages[3 * i + 1];
    const kit::HistoryPart& call = model.parts.back();
    EXPECT_EQ(call.kind, "call");
    EXPECT_EQ(call.quoted, (std::vector<std::string>{text, text}));
    EXPECT_EQ(call.block, "{\"a\": 1.0,  \"a\":1e2, \"n\":1152921504606846976}");
    const kit::HistoryPart& result = sections[0].messages[3 * i + 2].parts.at(0);
    EXPECT_EQ(result.kind, "result");
    EXPECT_TRUE(result.label.ends_with(", failed"));
    EXPECT_EQ(result.block, text);
  }
}

TEST(History, RandomTextsInManySectionsComeBackByteExact) {
  std::mt19937 random(7);
  std::string file;
  uint64_t lines = 0;
  std::vector<std::string> wanted;
  for (uint64_t ordinal = 1; ordinal <= 30; ++ordinal) {
    test::Talk talk;
    for (size_t i = 0, n = 1 + random() % 12; i < n; ++i) {
      std::string text;
      for (size_t pieces = random() % 6; pieces > 0; --pieces) {
        text +=
            random() % 2 == 0 ? hostile()[random() % hostile().size()] : kit::prose(random() % 300);
      }
      wanted.push_back(text);
      talk.user(text);
    }
    SectionInput input = section_of(talk);
    input.ordinal = ordinal;
    input.lines_before = lines;
    input.first_message = wanted.size() - talk.all().size() + 1;
    const Section section = render_section(input);
    EXPECT_EQ(section.lines, std::count(section.text.begin(), section.text.end(), '\n'));
    EXPECT_EQ(section.message_lines.size(), input.messages.size());
    lines += section.lines;
    file += section.text;
  }
  const auto sections = parsed(file);
  ASSERT_EQ(sections.size(), 30u);
  size_t at = 0;
  for (const auto& section : sections) {
    for (const auto& message : section.messages) {
      EXPECT_EQ(message.number, at + 1);
      EXPECT_EQ(message.parts.at(0).block, wanted.at(at++));
    }
  }
  EXPECT_EQ(at, wanted.size());
}

TEST(History, LinesOfMessagesAreThoseOfTheFile) {
  test::Talk talk;
  talk.user("one\ntwo\nthree").assistant("four").user("five\n");
  SectionInput input = section_of(talk);
  input.lines_before = 1'000;
  input.summary = "a\nb";
  const Section section = render_section(input);
  const std::vector<std::string> lines = test::lines_of(section.text);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines.at(section.message_lines[i] - 1'001),
              "### Message " + std::to_string(i + 1) + (i == 1 ? ": assistant" : ": user"));
  }
  EXPECT_NE(section.text.find("- message 2: line " + std::to_string(section.message_lines[1]) +
                              ", assistant\n"),
            std::string::npos);
}

TEST(History, WhatWasPutAwayIsPathSizeAndFirstLine) {
  test::Talk talk;
  talk.call("c1", "bash", "{\"command\":\"make\"}");
  talk.result("c1", "bash", "\x1b[32mmake: Entering directory\x1b[0m\nsecond\n")
      .put_away("/mnt/ebla/large_tool_results/c1", 31'234, "[Ebla] Result of bash, kept whole");
  talk.call("c2", "write_file", "{\"path\":\"a.cc\",\"content\":\"int main() {}\"}");
  WorkingArgument argument;
  argument.name = "content";
  argument.replaced = true;
  argument.path = "/mnt/ebla/large_tool_results/c2";
  argument.original_tokens = 812;
  talk.list().messages.back().parts[0].arguments = {argument};
  SectionInput input = section_of(talk);
  input.excerpt = [&](const WorkingMessage& message, size_t, std::string_view, size_t) {
    return message.index == 1 ? std::string("\x1b[32mmake: Entering directory\x1b[0m\nsecond\n")
                              : std::string();
  };
  const std::string text = render_section(input).text;
  EXPECT_NE(text.find("\nresult of \"bash\", id \"c1\", put away in "
                      "\"/mnt/ebla/large_tool_results/c1\", 31234 tokens, "
                      "begins \"make: Entering directory\"\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("second"), std::string::npos);
  const auto sections = parsed(text);
  const kit::HistoryPart& call = sections.at(0).messages.at(2).parts.at(0);
  EXPECT_EQ(call.block, "{\"path\":\"a.cc\",\"content\":\"int main() {}\"}");
  EXPECT_EQ(call.quoted, (std::vector<std::string>{"write_file", "c2", "content",
                                                   "/mnt/ebla/large_tool_results/c2"}));
}

TEST(History, MediaAreLinksAndWhatHasNoLinkStaysWhole) {
  test::Talk talk;
  talk.user("look").image("image/png", "iVBORw0KGgo=").image("image/jpeg", "/9j/4AAQ");
  SectionInput input = section_of(talk);
  input.media_link = [](const WorkingMessage&, size_t part) {
    return part == 1 ? std::string("/mnt/ebla/conversation_history/media/ab.png") : "";
  };
  const std::string text = render_section(input).text;
  EXPECT_EQ(text.find("iVBOR"), std::string::npos);
  const auto sections = parsed(text);
  const auto& parts = sections.at(0).messages.at(0).parts;
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].label,
            "image \"image/png\", in \"/mnt/ebla/conversation_history/media/ab.png\"");
  EXPECT_FALSE(parts[1].block);
  EXPECT_EQ(parts[2].block, "\"/9j/4AAQ\"");
}

TEST(History, RealOutputsComeBackByteExact) {
  for (const kit::NamedText& shape : kit::all_shapes()) {
    const std::string text = utf8::is_valid(shape.text) ? shape.text : "";
    test::Talk talk;
    talk.result("c", "bash", text);
    const auto sections = parsed(render_section(section_of(talk)).text);
    ASSERT_EQ(sections.size(), 1u) << shape.name;
    EXPECT_EQ(sections[0].messages.at(0).parts.at(0).block, text) << shape.name;
  }
}

}  // namespace
}  // namespace ebla::context
