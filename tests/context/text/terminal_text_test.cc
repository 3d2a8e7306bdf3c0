#include "context/text/terminal_text.h"

#include <gtest/gtest.h>

#include "schema/base/utf8.h"
#include "tests/context/support.h"

namespace ebla::context {
namespace {

std::string shown(std::string_view line) {
  return resolve_line(line, 1000);
}

TEST(TerminalText, PlainTextStays) {
  EXPECT_EQ(shown("a\tb  c"), "a\tb  c");
  EXPECT_EQ(shown("中文 é 😀"), "中文 é 😀");
  EXPECT_EQ(shown("trailing  "), "trailing  ");
  EXPECT_EQ(shown(""), "");
}

TEST(TerminalText, EscapeSequencesGo) {
  EXPECT_EQ(shown("\x1b[1;31merror\x1b[0m: no"), "error: no");
  EXPECT_EQ(shown("\x1b[38:5:196mred\x1b[m"), "red");
  EXPECT_EQ(shown("a\x1b]0;title\x07"
                  "b"),
            "ab");
  EXPECT_EQ(shown("a\x1b]52;c;ZXZpbA==\x1b\\b"), "ab");
  EXPECT_EQ(shown("a\x1bPq#0\x1b\\b"), "ab");
  EXPECT_EQ(shown("a\x1b(Bb\x1b=c\x1b"
                  "7d"),
            "abcd");
  EXPECT_EQ(shown("a\xc2\x9b"
                  "31mb"),
            "ab");
  EXPECT_EQ(shown("a\x1b[8mhidden"), "ahidden");
}

TEST(TerminalText, BrokenSequencesLeaveNoEscape) {
  EXPECT_EQ(shown("a\x1b"), "a");
  EXPECT_EQ(shown("a\x1b["), "a");
  EXPECT_EQ(shown("a\x1b[12"), "a");
  EXPECT_EQ(shown("a\x1b[3\x1b[31mb"), "ab");
  EXPECT_EQ(shown("a\x1b[3\xe4\xb8\xad"), "a中");
  EXPECT_EQ(shown("a\x1b]0;open"), "a");
}

TEST(TerminalText, RedrawsShowTheirLastState) {
  std::string progress;
  for (int i = 0; i <= 5000; ++i) progress += "\r" + std::to_string(i / 50) + "%";
  EXPECT_EQ(shown(progress), "100%");
  EXPECT_EQ(shown(progress + " done"), "100% done");
  EXPECT_EQ(shown("long text\rshort"), "shorttext");
  EXPECT_EQ(shown("long text\r\x1b[Kshort"), "short");
  EXPECT_EQ(shown("long text\x1b[2K\rshort"), "short");
  EXPECT_EQ(shown("abc\b\bX"), "aXc");
  EXPECT_EQ(shown("abc\x1b[2DX"), "aXc");
  EXPECT_EQ(shown("abc\x1b[1GX"), "Xbc");
  EXPECT_EQ(shown("a\x1b[3Cb"), "a   b");
  EXPECT_EQ(shown("done\r          \r"), "");
}

TEST(TerminalText, CrLfIsOnlyALineEnd) {
  EXPECT_EQ(shown("text\r"), "text");
  EXPECT_EQ(shown("text\r\r"), "text");
}

TEST(TerminalText, OtherControlBytesGo) {
  EXPECT_EQ(shown("a\x01\x02\x03\x04\x05\x06\x07\x0e\x0f\x10\x11\x18\x1a\x1f\x7f"
                  "b"),
            "ab");
  EXPECT_EQ(shown(std::string("a\0b", 3)), "ab");
  EXPECT_EQ(shown("a\xc2\x85"
                  "b\xe2\x80\xa8"
                  "c\xe2\x80\xa9"
                  "d"),
            "a b c d");
  EXPECT_EQ(shown("a\vb\fc"), "a b c");
}

TEST(TerminalText, InvalidBytesBecomeOneMarkARun) {
  EXPECT_EQ(shown("caf\xe9 au lait"), "caf\uFFFD au lait");
  EXPECT_EQ(shown("\xd6\xd0\xce\xc4"), "\uFFFD");
  EXPECT_EQ(shown("a\xf0\x9f\x98"), "a\uFFFD");
  EXPECT_EQ(shown("a\xed\xa0\x80"
                  "b"),
            "a\uFFFDb");
  EXPECT_EQ(shown("\uFFFD\uFFFD"), "\uFFFD\uFFFD");
}

TEST(TerminalText, StopsAtItsColumns) {
  TerminalLine line(3);
  line.feed("abcdef");
  EXPECT_EQ(line.text(), "abc");
  EXPECT_TRUE(line.cut());
  TerminalLine redrawn(3);
  redrawn.feed(test::repeat("x", 1000) + "\rab\x1b[K");
  EXPECT_EQ(redrawn.text(), "ab");
  EXPECT_FALSE(redrawn.cut());
  TerminalLine exact(3);
  exact.feed("abc");
  EXPECT_FALSE(exact.cut());
}

TEST(TerminalText, HugeCursorMovesStayBounded) {
  std::string hostile = test::repeat("\x1b[K\x1b[99999999999999999999Cx", 1000);
  EXPECT_LE(shown(hostile).size(), 1000u);
}

TEST(TerminalText, AnyBytesGiveCleanTextInAnySlicing) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string line = test::messy(random, random() % 300);
    std::erase(line, '\n');
    const size_t columns = 1 + random() % 60;
    const std::string whole = resolve_line(line, columns);
    ASSERT_TRUE(utf8::is_valid(whole));
    ASSERT_LE(utf8::count(whole), columns);
    for (char c : whole) ASSERT_TRUE(static_cast<uint8_t>(c) >= 0x20 || c == '\t');
    ASSERT_EQ(whole.find('\x7f'), std::string::npos);
    TerminalLine sliced(columns);
    for (std::string_view rest = line; !rest.empty();) {
      const size_t size = std::min<size_t>(rest.size(), random() % 5);
      sliced.feed(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    ASSERT_EQ(sliced.text(), whole) << round;
  }
}

}  // namespace
}  // namespace ebla::context
