// Foreign text on one line of ours: what a cut leaves open is closed.
#include <gtest/gtest.h>

#include "context/text/quote.h"
#include "schema/base/utf8.h"
#include "tests/context/support.h"

namespace ebla::context {
namespace {

TEST(Quote, ACutClosesWhatItOpened) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"he said \"go on with the build\" twice", "he said \"go on wit\u2026\""},
      {"run `make -j2 test` at the end", "run `make -j2 tes\u2026`"},
      {"```\nint main() {}\n``` is all of it", "``` int main() {}\u2026```"},
      {"``a ` b and more`` code", "``a ` b and more\u2026``"},
      {"say \u201cthe word of it\u201d", "say \u201cthe word of \u2026\u201d"},
      {"\"outer `inner code` text\" end", "\"outer `inner cod\u2026`\""},
      {"echo \\\"hello to all\\\" now", "echo \\\"hello to a\u2026\\\""},
  };
  for (const auto& [text, cut] : cases) {
    EXPECT_EQ(one_line(text, text.starts_with("he") ? 18 : 17), cut) << text;
  }
  EXPECT_EQ(one_line("请打开「季度报告二〇二四」并核对", 8), "请打开「季度报告\u2026」");
  EXPECT_EQ(one_line("请阅读《开发者手册》第二章", 6), "请阅读《开发\u2026》");
}

TEST(Quote, ACutClosesNothingThatStaysOpenOrIsClosed) {
  EXPECT_EQ(one_line("a 5\" disk and a 7\" one and more", 8), "a 5\" dis\u2026\"");
  EXPECT_EQ(one_line("a 5\" disk and a cable and more", 12), "a 5\" disk an\u2026");
  EXPECT_EQ(one_line("`a` \"b\" then the rest", 12), "`a` \"b\" then\u2026");
  EXPECT_EQ(one_line("it's the user's own and long", 12), "it's the use\u2026");
  EXPECT_EQ(one_line("`never \"closed\" and more", 18), "`never \"closed\" an\u2026");
  EXPECT_EQ(one_line("short \"text", 80), "short \"text");
}

TEST(Quote, AnOpeningMarkAtTheCutGoesAndSoDoesHalfAnEscape) {
  EXPECT_EQ(one_line("run `make`", 5), "run \u2026");
  EXPECT_EQ(one_line("run \"`make`\"", 6), "run \u2026");
  const std::string line = quoted("a\nb\x01 c \"d\"");
  for (size_t cut = 1; cut < line.size(); ++cut) {
    const std::string text = cut_off(line, std::string_view(line).substr(0, cut));
    if (text == "\u2026") continue;
    EXPECT_TRUE(text.ends_with("\u2026\"") || text.ends_with("\u2026\\\"\"")) << text;
    EXPECT_EQ(text.find("\\\u2026"), std::string::npos) << text;
    EXPECT_EQ(text.find("\\x\u2026"), std::string::npos) << text;
    EXPECT_EQ(text.find("\\x0\u2026"), std::string::npos) << text;
  }
}

TEST(Quote, WhatIsQuotedCanBeHadBack) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const std::string text = test::messy(random, 60) + "\"\\\n\x01\xff";
    const std::string line = context::quoted(text) + ": rest";
    std::string_view rest = line;
    EXPECT_EQ(take_quoted(rest), text);
    EXPECT_EQ(rest, ": rest");
  }
  for (std::string_view broken : {"", "x", "\"", "\"a", "\"\\", "\"\\\"", "\"\\x1", "\"\\xzz\""}) {
    std::string_view rest = broken;
    EXPECT_EQ(take_quoted(rest), std::nullopt) << broken;
    EXPECT_EQ(rest, broken);
  }
}

TEST(Quote, AnyCutOfAnyTextIsStrictAndShort) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string text = test::messy(random, 200);
    for (std::string_view mark : {"\"", "`", "```", "\u300c", "\\\"", "\u201d"}) {
      text.insert(utf8::floor_boundary(text, random() % text.size()), mark);
    }
    const std::string line = one_line(text, 40);
    EXPECT_TRUE(utf8::is_valid(line));
    EXPECT_LE(utf8::count(line), 40u + 1 + 16);
    EXPECT_EQ(line, one_line(text, 40));
  }
}

}  // namespace
}  // namespace ebla::context
