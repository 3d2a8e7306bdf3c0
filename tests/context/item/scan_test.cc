#include "context/item/scan.h"

#include <gtest/gtest.h>

#include "context/text/terminal_text.h"
#include "schema/base/utf8.h"
#include "tests/context/support.h"

namespace ebla::context {
namespace {

using test::repeat;
using test::scan_of;

std::vector<uint64_t> numbers(const std::vector<KeptLine>& lines) {
  std::vector<uint64_t> out;
  for (const KeptLine& line : lines) out.push_back(line.number);
  return out;
}

void expect_same(const std::vector<KeptLine>& a, const std::vector<KeptLine>& b) {
  ASSERT_EQ(numbers(a), numbers(b));
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].text, b[i].text);
    ASSERT_EQ(a[i].cut, b[i].cut);
  }
}

TEST(Scan, KeepsHeadAndTailWithNumbers) {
  const ContentScan scan = scan_of(test::rows(240'000));
  EXPECT_EQ(scan.sums().lines, 3871u);
  EXPECT_EQ(numbers(scan.head()), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(numbers(scan.tail()), (std::vector<uint64_t>{3867, 3868, 3869, 3870, 3871}));
  EXPECT_EQ(scan.head()[0].text.substr(0, 6), "row 1 ");
  EXPECT_EQ(scan.tail()[0].text.substr(0, 9), "row 3867 ");
  EXPECT_FALSE(scan.final_newline());
}

TEST(Scan, FewLinesNeverOverlap) {
  const ContentScan seven = scan_of("1\n2\n3\n4\n5\n6\n7\n");
  EXPECT_EQ(numbers(seven.head()), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(numbers(seven.tail()), (std::vector<uint64_t>{6, 7}));
  EXPECT_TRUE(seven.final_newline());
  const ContentScan none = scan_of("");
  EXPECT_TRUE(none.head().empty());
  EXPECT_EQ(none.sums().lines, 0u);
  EXPECT_EQ(none.hash(), xxh3_128(""));
}

TEST(Scan, ErrorsOfTheMiddleOnly) {
  std::string text = "error: in the head\n" + repeat("fine\n", 100) + "error: one\n" +
                     repeat("fine\n", 50) + "1 test failed\n" + "FAILED: two\n" +
                     repeat("fine\n", 10) + "error: in the tail\n";
  const ContentScan scan = scan_of(text);
  EXPECT_EQ(numbers(scan.error_lines()), (std::vector<uint64_t>{102, 153, 154}));
  EXPECT_EQ(scan.error_lines()[0].text, "error: one");
}

TEST(Scan, ErrorsBeforeMentions) {
  const ContentScan scan = scan_of(repeat("fine\n", 10) + repeat("1 test failed\n", 9) +
                                   repeat("error: real\n", 4) + repeat("fine\n", 10));
  EXPECT_EQ(numbers(scan.error_lines()), (std::vector<uint64_t>{20, 21, 22}));
}

TEST(Scan, TailTextIsTheLastCharacters) {
  ScanOptions options;
  options.tail_characters = 1500;
  EXPECT_EQ(scan_of("short", options).tail_text(), "short");
  const std::string emoji = repeat("\xf0\x9f\x98\x80", 4000);
  EXPECT_EQ(scan_of(emoji, options).tail_text(), repeat("\xf0\x9f\x98\x80", 1500));
  for (size_t shift = 0; shift < 4; ++shift) {
    const std::string text = std::string(shift, 'a') + emoji + std::string(shift, 'b');
    EXPECT_EQ(utf8::count(scan_of(text, options).tail_text()), 1500u);
    EXPECT_TRUE(utf8::is_valid(scan_of(text, options).tail_text()));
  }
}

TEST(Scan, EdgesNeverOverlapNorCutACharacter) {
  for (size_t size : {0u, 1u, 2u, 3u, 7u, 100u, 1000u, 200'000u}) {
    const std::string text = repeat("\xe4\xb8\xad", size);
    const ContentScan scan = scan_of(text);
    EXPECT_TRUE(utf8::is_valid(scan.head_edge()));
    EXPECT_TRUE(utf8::is_valid(scan.tail_edge()));
    EXPECT_LE(scan.head_edge().size() + scan.tail_edge().size(), text.size());
  }
}

TEST(Scan, TellsBinaryFromText) {
  EXPECT_FALSE(scan_of(test::prose(10'000)).binary());
  EXPECT_TRUE(scan_of(std::string("\x7f"
                                  "ELF\0\0",
                                  6))
                  .binary());
  EXPECT_FALSE(scan_of(std::string(9000, 'a') + std::string(1, '\0')).binary());
  EXPECT_TRUE(scan_of("\xff\xfe\xfd").binary());
  EXPECT_FALSE(scan_of("caf\xe9").binary());
  EXPECT_FALSE(scan_of("caf\xe9").valid_utf8());
  for (size_t a : {8189u, 8190u, 8191u}) {
    const ContentScan scan = scan_of(std::string(a, 'a') + "\xed\x95\x9c\xea\xb8\x80\xec\x96\xb4");
    EXPECT_TRUE(scan.valid_utf8());
    EXPECT_FALSE(scan.binary());
  }
}

TEST(Scan, LongLinesAreKeptWithinBounds) {
  const ContentScan scan = scan_of(std::string(5'000'000, 'x'));
  ASSERT_EQ(scan.head().size(), 1u);
  EXPECT_EQ(scan.head()[0].text.size(), kKeptLineChars);
  EXPECT_TRUE(scan.head()[0].cut);
}

TEST(Scan, SlicesDoNotMatter) {
  std::mt19937 random(3);
  for (int round = 0; round < 600; ++round) {
    const std::string text = test::messy(random, random() % 6000);
    ScanOptions options;
    options.head_lines = random() % 7;
    options.tail_lines = random() % 7;
    options.tail_characters = random() % 2 * 150;
    options.edge_bytes = 16 + random() % 300;
    const ContentScan whole = scan_of(text, options);
    const ContentScan sliced = test::scan_sliced(text, options, random);
    SCOPED_TRACE(round);
    EXPECT_EQ(sliced.hash(), xxh3_128(text));
    EXPECT_EQ(sliced.sums().class_sum, whole.sums().class_sum);
    EXPECT_EQ(sliced.sums().lines, whole.sums().lines);
    EXPECT_EQ(sliced.binary(), whole.binary());
    EXPECT_EQ(sliced.valid_utf8(), utf8::is_valid(text));
    EXPECT_EQ(sliced.final_newline(), whole.final_newline());
    EXPECT_EQ(sliced.tail_text(), whole.tail_text());
    EXPECT_EQ(sliced.head_edge(), whole.head_edge());
    EXPECT_EQ(sliced.tail_edge(), whole.tail_edge());
    expect_same(sliced.head(), whole.head());
    expect_same(sliced.tail(), whole.tail());
    expect_same(sliced.error_lines(), whole.error_lines());
  }
}

// Against the plainest reading of the content: split at LF, take the ends.
TEST(Scan, LinesAreThoseOfTheContent) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    const std::string text = test::messy(random, random() % 3000);
    const std::vector<std::string> lines = test::lines_of(text);
    const ContentScan scan = test::scan_sliced(text, {}, random);
    ASSERT_EQ(scan.sums().lines, lines.size());
    for (const auto* kept : {&scan.head(), &scan.tail(), &scan.error_lines()}) {
      for (const KeptLine& line : *kept) {
        ASSERT_EQ(line.text, resolve_line(lines[line.number - 1], kKeptLineChars));
      }
    }
    ASSERT_EQ(scan.head().size(), std::min<size_t>(5, lines.size()));
    ASSERT_EQ(scan.tail().size(), std::min<size_t>(5, lines.size() - scan.head().size()));
    if (!scan.tail().empty()) {
      ASSERT_EQ(scan.tail().back().number, lines.size());
    }
  }
}

}  // namespace
}  // namespace ebla::context
