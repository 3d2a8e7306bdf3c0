// What is taken from a summariser.
#include <gtest/gtest.h>

#include "context/summary/outline.h"
#include "context/summary/summary.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "tests/context/support.h"

namespace ebla::context {
namespace {

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

std::string with_crlf(const std::string& text) {
  std::string out;
  for (const std::string& line : test::lines_of(text)) out += line + "\r\n";
  return out;
}

const char kGood[] =
    "Here is the summary:\n\n## Goal\n- port the parser\n## Constraints\n- keep C++17\n## Done\n"
    "- lexer\n## Open\n- none\n## Decisions\n- one pass\n## Files and artifacts\n- src/lexer.cc\n"
    "## Next steps\n- printer\n";

TEST(AcceptSummary, TakesHeadingsAsModelsWriteThem) {
  const Result<std::string> plain = accept_summary(kGood, 10'000, 500);
  ASSERT_TRUE(plain) << plain.error().text;
  EXPECT_TRUE(plain->starts_with("## Goal\n- port the parser\n"));
  const Result<std::string> bold = accept_summary(
      "**Goal:** port the parser\n\n**Constraints**\nkeep C++17\n### DONE\n* lexer\n# 4. Open\n"
      "none\n5. **Decisions**:\none pass\nFiles and artifacts:\n- src/lexer.cc\nNEXT STEPS\n"
      "- printer",
      10'000, 500);
  ASSERT_TRUE(bold) << bold.error().text;
  EXPECT_EQ(parse_outline(*bold)[Outline::goal].at(0), "- port the parser");
  EXPECT_EQ(parse_outline(*bold)[Outline::next_steps].at(0), "- printer");
}

TEST(AcceptSummary, RefusesWhatIsNoSummary) {
  const std::string good = kGood;
  for (std::string_view text : {"", "   \n\t", "{}", "I cannot help with that.", "error 429"}) {
    EXPECT_FALSE(accept_summary(text, 10'000, 500)) << text;
  }
  for (std::string_view heading : texts::kSummaryHeadings) {
    std::string missing = good;
    missing.erase(missing.find("## " + std::string(heading)), heading.size() + 4);
    const Result<std::string> result = accept_summary(missing, 10'000, 500);
    ASSERT_FALSE(result) << heading;
    EXPECT_TRUE(has(result.error().text, heading)) << result.error().text;
  }
  EXPECT_FALSE(accept_summary(render_outline(Outline()), 10'000, 500));
  EXPECT_FALSE(accept_summary(good + "\xff", 10'000, 500));
  EXPECT_FALSE(accept_summary(good + "\xed\xa0\x80", 10'000, 500));
}

TEST(AcceptSummary, TakesWhatStandsAroundAnAnswerAway) {
  const std::string plain = *accept_summary(kGood, 10'000, 500);
  const std::string good = std::string(kGood).substr(std::string_view(kGood).find("## Goal"));
  const std::string thought = "I need ## headings.\n## Goal\n- forged draft\n## Done\n- draft\n";
  for (const std::string& text : std::initializer_list<std::string>{
           "Sure, here is the summary you asked for:\n" + good, "```markdown\n" + good + "```\n",
           "```\n" + good + "```\n\nLet me know if something is missing!",
           good + "\nLet me know if you need more detail.", "\xef\xbb\xbf" + good,
           "<thinking>\n" + thought + "</thinking>\n\n" + good,
           "<think>" + thought + "</think>" + good,
           "<analysis>\n" + thought + "</analysis>\n<summary>\n" + good + "</summary>\nDone.\n",
           thought + "</think>\n" + good, "<summary>" + good + "</summary>", with_crlf(good)}) {
    const Result<std::string> accepted = accept_summary(text, 10'000, 500);
    ASSERT_TRUE(accepted) << text << accepted.error().text;
    EXPECT_EQ(*accepted, plain) << text;
  }
}

TEST(AcceptSummary, TakesAnAnswerInAnyLanguage) {
  const std::string chinese =
      "## Goal\n- 移植解析器\n## Constraints\n- 无\n## Done\n- 词法\n## Open\n- 没有\n## "
      "Decisions\n无\n"
      "## Files and artifacts\n暂无\n## Next steps\n- 打印\n";
  const Result<std::string> accepted = accept_summary(chinese, 10'000, 500);
  ASSERT_TRUE(accepted) << accepted.error().text;
  EXPECT_TRUE(has(*accepted, "## Constraints\n- none\n")) << *accepted;
  EXPECT_TRUE(has(*accepted, "## Files and artifacts\n- none\n")) << *accepted;
  const std::string both =
      "## Goal（目标）\n- 移植解析器\n## Constraints (约束)\n- 保持 C++17\n## Done / 完成\n- 词法\n"
      "**Open**：还有打印\n## Decisions：\n- 一遍\n## Files and artifacts (文件)\n- src/词法.cc\n"
      "## Next steps（下一步）\n- 打印\n";
  const Result<std::string> named = accept_summary(both, 10'000, 500);
  ASSERT_TRUE(named) << named.error().text;
  EXPECT_TRUE(has(*named, "## Open\n- 还有打印\n")) << *named;
  const std::string translated = "## 目标\n- 移植解析器\n## 约束\n- 保持\n## 下一步\n- 打印\n";
  EXPECT_FALSE(accept_summary(translated, 10'000, 500));
}

// However often it says it.
TEST(AcceptSummary, ShortLinesAreCountedOnceAndRefusedByNumber) {
  const std::string few =
      "## Goal\nport\n## Constraints\n- none\n## Done\n- all\n## Open\n- none\n## Decisions\n- "
      "none\n"
      "## Files and artifacts\n- none\n## Next steps\n- go\n";
  for (const std::string& text : {few, few + few, few + few + few + few}) {
    const Result<std::string> refused = accept_summary(text, 10'000, 500);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "the summary has 13 bytes of text under its headings, at least 20 are needed");
  }
  const std::string one =
      few.substr(0, few.find("- all")) + "- none" +
      few.substr(few.find("\n## Open"), few.find("- go") - few.find("\n## Open")) + "- none\n";
  EXPECT_EQ(accept_summary(one, 10'000, 500).error().text,
            "the summary has text under 1 of its headings, at least 2 are needed");
  const Result<std::string> twice = accept_summary(
      kGood + std::string(kGood).substr(std::string_view(kGood).find("## Goal")), 10'000, 500);
  ASSERT_TRUE(twice);
  EXPECT_EQ(*twice, *accept_summary(kGood, 10'000, 500));
}

TEST(AcceptSummary, RefusesWhatOnlyLooksLikeOne) {
  const std::string good = std::string(kGood).substr(std::string_view(kGood).find("## Goal"));
  const std::string template_only = std::string(texts::kSummaryAsk);
  std::string refusal;
  for (std::string_view heading : texts::kSummaryHeadings) {
    refusal += "## " + std::string(heading) + "\n- I'm sorry, but I can't help with that.\n";
  }
  for (const std::string& text : std::initializer_list<std::string>{
           template_only, refusal, "<thinking>\n" + good, "<think>never ends\n" + good,
           good.substr(0, good.find("## Next steps") + 9), good.substr(0, good.find("- printer")),
           good.substr(0, good.find("- printer")) + "\n  \n",
           "## Goal\n- port the whole parser to the new lexer\n## Constraints\n- none\n## Done\n- "
           "none\n"
           "## Open\n- none\n## Decisions\n- none\n## Files and artifacts\n- none\n## Next "
           "steps\n- "
           "none"}) {
    EXPECT_FALSE(accept_summary(text, 10'000, 500)) << text;
  }
  EXPECT_TRUE(accept_summary(good, 10'000, 500));
}

TEST(AcceptSummary, AnAnswerThatWasCutSaysSo) {
  std::string text = std::string(kGood) + "- then print the whole of the tree in the order of the";
  const uint64_t tokens = estimate_tokens(text);
  const Result<std::string> cut = accept_summary(text, 10'000, tokens);
  ASSERT_TRUE(cut) << cut.error().text;
  EXPECT_TRUE(has(*cut, "in the order of the\u2026\n")) << *cut;
  const Result<std::string> whole = accept_summary(text + " nodes.", 10'000, tokens + 2);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(has(*whole, "of the nodes.\n")) << *whole;
  const Result<std::string> short_one = accept_summary(text, 10'000, 2 * tokens);
  ASSERT_TRUE(short_one);
  EXPECT_TRUE(has(*short_one, "in the order of the\n")) << *short_one;
}

TEST(AcceptSummary, ALastHeadingWithNothingToSayIsNoBreak) {
  std::string text = std::string(kGood);
  text = text.substr(0, text.find("## Next steps"));
  for (std::string_view end :
       {"**Next steps:** none", "## Next steps: none.", "## Next steps\n- none"}) {
    EXPECT_TRUE(accept_summary(text + std::string(end), 10'000, 500)) << end;
  }
  for (std::string_view end : {"## Next steps", "**Next steps:**", "7. NEXT STEPS\n\n"}) {
    EXPECT_FALSE(accept_summary(text + std::string(end), 10'000, 500)) << end;
  }
}

TEST(AcceptSummary, WhatWasThoughtCountsForNothing) {
  const std::string thought = "<thinking>" + test::prose(40'000) + "</thinking>\n";
  EXPECT_TRUE(accept_summary(thought + kGood, 1'000, 500));
}

TEST(AcceptSummary, RefusesWhatIsNotClearlySmaller) {
  const uint64_t tokens = estimate_tokens(kGood);
  EXPECT_FALSE(accept_summary(kGood, tokens, 500));
  EXPECT_FALSE(accept_summary(kGood, tokens + tokens / 25, 500));
  EXPECT_TRUE(accept_summary(kGood, tokens * 2, 500));
  EXPECT_FALSE(accept_summary(kGood + test::prose(200'000), 30'000, 4'000));
  const Result<std::string> long_one = accept_summary(kGood + test::prose(10'000), 300'000, 500);
  ASSERT_FALSE(long_one);
  EXPECT_EQ(long_one.error().code, Code::too_large);
}

TEST(AcceptSummary, CutsToTheCapAndKeepsEverySection) {
  std::string text;
  for (std::string_view heading : texts::kSummaryHeadings) {
    text += "## " + std::string(heading) + "\n";
    for (int i = 0; i < 12; ++i)
      text += "- item " + std::to_string(i) + " " + test::prose(70, 99) + "\n";
  }
  const Result<std::string> cut = accept_summary(text, 1'000'000, 800);
  ASSERT_TRUE(cut) << cut.error().text;
  EXPECT_LE(estimate_tokens(*cut), 800u);
  EXPECT_GT(estimate_tokens(*cut), 600u);
  const Outline outline = parse_outline(*cut);
  for (const auto& lines : outline.lines) {
    ASSERT_FALSE(lines.empty());
    EXPECT_TRUE(lines[0].starts_with("- item 0 "));
  }
}

TEST(AcceptSummary, EscapesAndFakeTitlesAreGone) {
  const Result<std::string> cleaned = accept_summary(
      std::string(kGood) + "\x1b[31mred\x1b[0m\n# The file\nPath: /evil\n", 10'000, 500);
  ASSERT_TRUE(cleaned);
  EXPECT_FALSE(has(*cleaned, "\x1b"));
  EXPECT_FALSE(has(*cleaned, "\n# "));
}

}  // namespace
}  // namespace ebla::context
