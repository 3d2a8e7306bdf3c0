#include "context/item/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/item/size_rule.h"
#include "context/text/clusters.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"
#include "tests/context/support.h"

namespace ebla::context {
namespace {

using test::lines_of;
using test::repeat;
using test::scan_of;
using testing::ElementsAre;

constexpr PreviewLimits kUsual{4 * limits::kPreviewTokens};

std::string preview(std::string_view text) {
  return preview_lines(scan_of(text), kUsual);
}

TEST(Preview, HeadMarkTail) {
  EXPECT_EQ(preview(repeat("x\n", 12)),
            " 1| x\n 2| x\n 3| x\n 4| x\n 5| x\n... [2 lines truncated] ...\n 8| x\n 9| x\n"
            "10| x\n11| x\n12| x");
  EXPECT_EQ(preview("a\nb\n"), "1| a\n2| b");
  EXPECT_EQ(preview(""), "");
}

TEST(Preview, SaysTheTruthAbout3886Lines) {
  std::string text = repeat(std::string(60, 'x') + "\n", 3885);
  text += std::string(240'000 - text.size(), 'y');
  const std::vector<std::string> lines = lines_of(preview(text));
  ASSERT_EQ(lines.size(), 11u);
  EXPECT_EQ(lines[5], "... [3876 lines truncated] ...");
  EXPECT_TRUE(lines[6].starts_with("3882| "));
  EXPECT_TRUE(lines[10].starts_with("3886| "));
}

TEST(Preview, ErrorsOfTheMiddleStandBetweenMarkAndTail) {
  const std::string text = repeat("ok\n", 20) + "e.cc:1: error: no\n" + repeat("ok\n", 20);
  const std::vector<std::string> lines = lines_of(preview(text));
  ASSERT_EQ(lines.size(), 12u);
  EXPECT_EQ(lines[5], "... [31 lines truncated] ...");
  EXPECT_EQ(lines[6], "21| e.cc:1: error: no");
  EXPECT_EQ(lines[7], "37| ok");
}

TEST(Preview, LinesAreCutAtAThousandCharacters) {
  const std::string text = "short\n" + std::string(5000, 'x') + "\nshort\n";
  const std::vector<std::string> lines = lines_of(preview(text));
  EXPECT_EQ(lines[1], "2| " + std::string(999, 'x') + "\u2026");
  const std::string exact = "a\n" + std::string(1000, 'x') + "\n";
  EXPECT_EQ(lines_of(preview(exact))[1], "2| " + std::string(1000, 'x'));
}

TEST(Preview, LongLinesShareTheRoomEvenly) {
  const std::string text = "tiny\n" + repeat(std::string(9000, 'x') + "\n", 20);
  const std::string shown = preview(text);
  EXPECT_LE(units_of_text(shown), 4000u);
  EXPECT_GE(units_of_text(shown), 3900u);
  const std::vector<std::string> lines = lines_of(shown);
  EXPECT_EQ(lines[0], " 1| tiny");
  EXPECT_EQ(lines[1].size(), lines[10].size());
}

TEST(Preview, OneLongLineShowsBothItsEnds) {
  const std::vector<std::string> lines =
      lines_of(preview("BEGIN" + std::string(2'000'000, 'x') + "END"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].starts_with("1| BEGINxx"));
  EXPECT_EQ(lines[1], "... [part of line 1 truncated] ...");
  EXPECT_TRUE(lines[2].starts_with("1| \u2026xx"));
  EXPECT_TRUE(lines[2].ends_with("xxEND"));
}

TEST(Preview, ProgressShowsItsFinalState) {
  std::string text;
  for (int i = 0; i <= 100; ++i) text += "\r" + std::to_string(i) + "%";
  EXPECT_EQ(preview(text + "\ndone\n"), "1| 100%\n2| done");
  EXPECT_EQ(preview(repeat("a\r\n", 2)), "1| a\n2| a");
}

TEST(Preview, GivesUpWhatMattersLeastWhenRoomIsShort) {
  const std::string text = repeat(std::string(50, 'x') + "\n", 20) + "error: no\n" +
                           repeat("yyyyyyyyyyyyyyyyyyyy\n", 20);
  const ContentScan scan = scan_of(text);
  for (uint64_t units = 0; units < 1200; units += 7) {
    const std::string shown = preview_lines(scan, {units});
    EXPECT_LE(units_of_text(shown), units);
    EXPECT_TRUE(shown.empty() || shown.find("truncated") != std::string::npos);
  }
  for (size_t rows = 0; rows < 14; ++rows) {
    EXPECT_LE(lines_of(preview_lines(scan, {4000, rows})).size(), rows);
    EXPECT_LE(lines_of(preview_edges(scan, {4000, rows})).size(), rows);
  }
}

TEST(Preview, EdgesFillTheRoom) {
  const ContentScan scan = scan_of(test::rows(200'000));
  const std::string shown = preview_edges(scan, {40'000});
  EXPECT_LE(units_of_text(shown), 40'000u);
  EXPECT_GE(units_of_text(shown), 38'000u);
  EXPECT_TRUE(shown.starts_with("   1| row 1 "));
  EXPECT_NE(shown.find("lines truncated] ..."), std::string::npos);
  EXPECT_NE(shown.find("\n3226| row 3226 "), std::string::npos);
}

TEST(Preview, HumanTextKeepsItsEndWhole) {
  ScanOptions options;
  options.tail_lines = 0;
  options.tail_characters = limits::kHumanTailChars;
  const std::string text = test::prose(210'000) + "\nPlease fix the third one.";
  const std::string shown = preview_human(scan_of(text, options), kUsual);
  std::string rebuilt;
  for (const std::string& line : test::gutter_lines(shown)) {
    rebuilt += line.substr(line.find("| ") + 2) + "\n";
  }
  const std::string end = text.substr(text.size() - limits::kHumanTailChars);
  EXPECT_NE(rebuilt.find(end), std::string::npos);
  EXPECT_TRUE(shown.starts_with("   1| The harbour master"));
  EXPECT_NE(shown.find(" lines truncated] ..."), std::string::npos);
}

TEST(Preview, HumanTextInAllSmallShapes) {
  for (const std::string& text :
       {std::string("x"), std::string("x\n"), std::string(1500, 'x'), std::string(1501, 'x'),
        std::string(3000, 'x'), repeat("a\n", 800), repeat("\n", 3000), std::string()}) {
    for (size_t head : {0u, 5u}) {
      ScanOptions options;
      options.head_lines = head;
      options.tail_lines = 0;
      options.tail_characters = limits::kHumanTailChars;
      const std::string shown = preview_human(scan_of(text, options), kUsual);
      EXPECT_TRUE(utf8::is_valid(shown));
      EXPECT_LE(utf8::count(shown), 20'000u);
    }
  }
}

// A cut at each byte of an emoji, a joined family, a flag, an accent.
TEST(Preview, NeverHalfACharacter) {
  for (const char* piece : {"😀", "👨\u200d👩\u200d👧", "🇩🇪", "e\u0301", "中"}) {
    for (size_t shift = 0; shift < 40; ++shift) {
      const std::string line = std::string(980 + shift % 30, 'a') + repeat(piece, 300);
      for (const std::string& text : {line, "x\n" + line + "\ny\n", repeat(line + "\n", 20)}) {
        const std::string shown = preview(text);
        ASSERT_TRUE(utf8::is_valid(shown));
        ASSERT_EQ(shown.find("\uFFFD"), std::string::npos);
        ASSERT_EQ(shown.find("\u200d\u2026"), std::string::npos);
        ASSERT_EQ(shown.find("e\u2026"), std::string::npos);
        ASSERT_EQ(shown.find("\u2026\u200d"), std::string::npos);
      }
    }
  }
}

TEST(Clusters, CutsBetweenWhatReadersSee) {
  const std::string text = "a👨\u200d👩b🇩🇪🇫🇷c";
  for (size_t chars = 0; chars <= utf8::count(text); ++chars) {
    const std::string start(cut_end(text, chars, UINT64_MAX));
    const std::string end(cut_start(text, chars, UINT64_MAX));
    EXPECT_TRUE(utf8::is_valid(start) && utf8::is_valid(end));
    EXPECT_LE(utf8::count(start), chars);
    EXPECT_LE(utf8::count(end), chars);
    EXPECT_THAT((std::vector<std::string>{"", "a", "a👨\u200d👩", "a👨\u200d👩b", "a👨\u200d👩b🇩🇪",
                                          "a👨\u200d👩b🇩🇪🇫🇷", text}),
                testing::Contains(start));
  }
  EXPECT_EQ(cut_end("中中中", 9, 6), "中中");
  EXPECT_EQ(cut_start("中中中", 9, 7), "中中");
  // Joiners without end are no text: the cut stays on a code point.
  const std::string joiners = repeat("\u200d", 100);
  EXPECT_EQ(cut_end(joiners, 50, UINT64_MAX).size(), 150u);
}

TEST(Preview, AnyBytesStayInTheirBounds) {
  std::mt19937 random(5);
  for (int round = 0; round < 600; ++round) {
    ScanOptions options;
    options.tail_characters = 100;
    options.edge_bytes = 64 + random() % 2000;
    const ContentScan scan = scan_of(test::messy(random, random() % 9000), options);
    const PreviewLimits limits{random() % 5000, 3 + random() % 30};
    for (const std::string& shown : {preview_lines(scan, limits), preview_edges(scan, limits)}) {
      ASSERT_TRUE(utf8::is_valid(shown));
      ASSERT_LE(units_of_text(shown), limits.units) << shown;
      ASSERT_LE(lines_of(shown).size(), limits.rows);
      for (const std::string& line : lines_of(test::frame_of(shown))) {
        ASSERT_TRUE(line.starts_with("... [") && line.ends_with("truncated] ..."));
      }
      for (char c : shown) {
        ASSERT_TRUE(static_cast<uint8_t>(c) >= 0x20 || c == '\t' || c == '\n');
      }
    }
    ASSERT_TRUE(utf8::is_valid(preview_human(scan, limits)));
  }
}

}  // namespace
}  // namespace ebla::context
