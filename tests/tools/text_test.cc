#include "tools/text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "tests/tools/command.h"
#include "tools/streams.h"

namespace ebla::tools {
namespace {

TEST(Text, TerminalTextKeepsLinesAndShowsTheRest) {
  EXPECT_EQ(terminal_text("a\tb\n\nc\n"), "a\tb\n\nc\n");
  EXPECT_EQ(terminal_text("\x1b]52;c;eA==\x07"), "\\x1b]52;c;eA==\\x07");
  EXPECT_EQ(terminal_text("a\r\nb"), "a\\x0d\nb");
  EXPECT_EQ(terminal_text("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(terminal_text("\xc2\x9b"
                          "1m"),
            "\\xc2\\x9b"
            "1m")
      << "a C1 control is one too";
  EXPECT_EQ(terminal_text("中文 😀"), "中文 😀");
  EXPECT_EQ(terminal_text(""), "");
}

TEST(Text, ATerminalGetsWholeCharactersWhereverTheyAreCut) {
  const std::string text = "中😀\x1b[1mé\xff";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const UniqueFd file = memory_file("");
    Output out(file.get(), true);
    ASSERT_TRUE(out.write_content(std::string_view(text).substr(0, cut)));
    ASSERT_TRUE(out.write_content(std::string_view(text).substr(cut)));
    ASSERT_TRUE(out.finish_content());
    EXPECT_EQ(content_of_file(file.get()), "中😀\\x1b[1mé\\xff") << cut;
  }
}

TEST(Text, ATerminalIsToldOfACharacterThatNeverEnds) {
  const UniqueFd file = memory_file("");
  Output out(file.get(), true);
  ASSERT_TRUE(out.write_content("a\xe4\xb8"));
  ASSERT_TRUE(out.finish_content());
  EXPECT_EQ(content_of_file(file.get()), "a\\xe4\\xb8");
}

TEST(Text, Sizes) {
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(1'048'575), "1048575");
  EXPECT_EQ(format_bytes(1'572'864), "1.5 MiB (1572864)");
  EXPECT_EQ(format_bytes(uint64_t{5} << 40), "5.0 TiB (5497558138880)");
}

TEST(Text, Times) {
  ASSERT_EQ(setenv("TZ", "CET-1", 1), 0);
  tzset();
  EXPECT_EQ(format_time("2026-01-31T23:34:56.123456789Z"), "2026-02-01 00:34:56");
  EXPECT_EQ(format_time("soon\x1b"), "soon\\x1b");
  ASSERT_EQ(unsetenv("TZ"), 0);
  tzset();
}

TEST(Text, Durations) {
  EXPECT_EQ(format_duration(3'725), "01:02:05");
  EXPECT_EQ(format_duration(2 * 86'400 + 5), "2 d 00:00:05");
}

TEST(Text, ShellWords) {
  EXPECT_EQ(shell_word("/a/b-c_1.db"), "/a/b-c_1.db");
  EXPECT_EQ(shell_word("/a b"), "'/a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Text, TablesAlignByCharacters) {
  Table table({Table::Align::left, Table::Align::right, Table::Align::left});
  table.row({"中", "1", "x"});
  table.row({"abc", "22"});
  EXPECT_EQ(table.text(), "中     1  x\nabc  22\n");
}

}  // namespace
}  // namespace ebla::tools
