#include "daemon/lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "schema/base/utf8.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {
namespace {

ReadAt reader(const std::string& text) {
  return [&text](uint64_t offset, std::span<char> out) -> Result<size_t> {
    return offset >= text.size() ? 0 : text.copy(out.data(), out.size(), offset);
  };
}

LineIndex index_of(const std::string& text) {
  auto index = build_line_index(reader(text), text.size());
  EXPECT_TRUE(index);
  return index ? *std::move(index) : LineIndex();
}

Result<Page> page_of(const std::string& text, PageRequest request) {
  return read_page(reader(text), index_of(text), request);
}

// Every page in turn, by next and next_column.
std::string joined(const std::string& text, uint64_t limit, uint64_t tokens) {
  const LineIndex index = index_of(text);
  std::string all;
  PageRequest request{.limit = limit, .tokens = tokens};
  for (size_t pages = 0; pages < 200'000; ++pages) {
    auto page = read_page(reader(text), index, request);
    if (!page) {
      ADD_FAILURE() << page.error().text;
      return all;
    }
    EXPECT_TRUE(utf8::is_valid(page->text));
    all += page->text;
    if (!page->next) return all;
    request.offset = static_cast<int64_t>(*page->next);
    request.column = page->next_column.value_or(0);
  }
  ADD_FAILURE() << "no end";
  return all;
}

TEST(Lines, JoinedPagesEqualTheFile) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string text;
    const size_t lines = random() % 40;
    for (size_t i = 0; i < lines; ++i) {
      const size_t kind = random() % 5;
      if (kind == 0) text += kit::chinese(random() % 300);
      if (kind == 1) text += kit::emoji(random() % 200);
      if (kind == 2) text += kit::one_line(random() % 15'000 + 1);
      if (kind == 3) text += "\v\f\xC2\x85\xE2\x80\xA8\r";
      text += random() % 4 == 0 ? "\r\n" : "\n";
    }
    if (random() % 2 == 0) text += "no end";
    EXPECT_EQ(joined(text, random() % 7 + 1, random() % 400), text);
  }
  const std::string huge = kit::minified_json(3'000'000);
  EXPECT_EQ(joined(huge, 100, 20'000), huge);
  const std::string log = kit::numbered_rows(2'000'000);
  EXPECT_EQ(joined(log, 5'000, 100'000), log);
}

TEST(Lines, CountsAsGrepDoes) {
  EXPECT_EQ(index_of("").lines, 0u);
  EXPECT_EQ(index_of("x").lines, 1u);
  EXPECT_FALSE(index_of("x").final_newline);
  EXPECT_EQ(index_of("x\n").lines, 1u);
  EXPECT_TRUE(index_of("x\n").final_newline);
  EXPECT_EQ(index_of("a\vb\fc\xC2\x85"
                     "d\xE2\x80\xA8"
                     "e\rf\n")
                .lines,
            1u);
  EXPECT_EQ(index_of("a\r\nb\r\n").lines, 2u);
}

TEST(Lines, NumbersAreThoseOfSed) {
  const std::string text = "a\nb\nc\nd\n";
  auto page = page_of(text, {.offset = 1, .limit = 2, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->text, "b\nc\n");
  EXPECT_EQ(page->first, 2u);
  EXPECT_EQ(page->last, 3u);
  EXPECT_EQ(page->next, 3u);
  page = page_of(text, {.offset = 3, .limit = 2, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->text, "d\n");
  EXPECT_FALSE(page->next);
}

TEST(Lines, EdgesAreSaid) {
  const std::string text = "a\nb\n";
  auto page = page_of(text, {.offset = -5, .limit = 1, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->text, "a\n");
  ASSERT_EQ(page->notes.size(), 1u);
  EXPECT_EQ(page->notes[0], "offset -5 is before the start: read from 0");
  page = page_of(text, {.offset = 1, .limit = 0, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->text, "");
  EXPECT_EQ(page->notes.size(), 1u);
  EXPECT_EQ(page->next, 1u);
  EXPECT_FALSE(page->first);
  auto past = page_of(text, {.offset = 2, .limit = 1, .tokens = 1000});
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().code, Code::out_of_range);
  EXPECT_NE(past.error().text.find("2 lines"), std::string::npos);
  page = page_of("", {.offset = 0, .limit = 5, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->notes.at(0), "the file is empty");
  EXPECT_FALSE(page_of("", {.offset = 1, .limit = 5, .tokens = 1000}));
  EXPECT_FALSE(page_of(text, {.offset = INT64_MAX, .limit = 1, .tokens = 1000}));
}

TEST(Lines, ColumnsLieWithinTheLine) {
  const std::string text =
      "ab\xE4\xB8\xAD"
      "cd\nnext\n";
  auto page = page_of(text, {.limit = 1, .column = 3, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->text,
            "\xE4\xB8\xAD"
            "cd\n");
  EXPECT_EQ(page->notes.size(), 1u);
  EXPECT_EQ(page_of(text, {.limit = 1, .column = 2, .tokens = 1000})->notes.size(), 0u);
  EXPECT_EQ(page_of(text, {.limit = 1, .column = 7, .tokens = 1000})->text, "\n");
  auto past = page_of(text, {.limit = 1, .column = 8, .tokens = 1000});
  ASSERT_FALSE(past);
  EXPECT_NE(past.error().text.find("8 bytes"), std::string::npos) << past.error().text;
  EXPECT_FALSE(page_of("x", {.limit = 1, .column = 1, .tokens = 1000}));
}

TEST(Lines, CutsAtEveryByteOffsetAreWholeCharacters) {
  for (size_t lead = 0; lead < 8; ++lead) {
    const std::string text = std::string(lead, 'x') + kit::emoji(500) + "\n";
    for (uint64_t tokens = 16; tokens < 32; ++tokens) EXPECT_EQ(joined(text, 10, tokens), text);
  }
}

TEST(Lines, APageStaysUnderItsTokens) {
  const std::string text = kit::prose(100'000);
  for (const uint64_t tokens : {20u, 100u, 8000u}) {
    auto page = page_of(text, {.limit = 10'000, .tokens = tokens});
    ASSERT_TRUE(page);
    EXPECT_LE(page->text.size(), tokens * 4);
    EXPECT_GT(page->text.size(), tokens * 2);
  }
  auto numbered = page_of(text, {.limit = 10'000, .numbered = true, .tokens = 1000});
  ASSERT_TRUE(numbered);
  EXPECT_LE(numbered->text.size(), 4000u);
}

TEST(Lines, UndecodableBytesAreMarked) {
  auto page = page_of("caf\xE9 ok\n\xFF\xFE\n", {.limit = 5, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->marked);
  EXPECT_EQ(page->text, "caf\\xE9 ok\n\\xFF\\xFE\n");
  EXPECT_FALSE(page_of("caf\xC3\xA9\n", {.limit = 5, .tokens = 1000})->marked);
}

TEST(Lines, NumberedLinesHaveAGutterAndPlainEnds) {
  auto page = page_of("a\r\nb\nc", {.limit = 5, .numbered = true, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->text, "     1\ta\n     2\tb\n     3\tc");
  page = page_of("abc\nd\n", {.limit = 5, .column = 1, .numbered = true, .tokens = 1000});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->text, "     1+\tbc\n     2\td\n");
}

TEST(Lines, AFailedReadIsAnError) {
  const std::string text = kit::prose(1'000'000);
  const LineIndex index = index_of(text);
  const ReadAt broken = [](uint64_t, std::span<char>) -> Result<size_t> {
    return fail(Code::corrupt, "broken");
  };
  EXPECT_EQ(build_line_index(broken, text.size()).error().code, Code::corrupt);
  EXPECT_EQ(read_page(broken, index, {.offset = 100, .limit = 1, .tokens = 10}).error().code,
            Code::corrupt);
}

TEST(LineIndexCache, KeepsByNodeAndChange) {
  LineIndexCache cache;
  auto index = std::make_shared<const LineIndex>(index_of("a\nb\n"));
  cache.keep(7, 1, index);
  EXPECT_EQ(cache.find(7, 1), index);
  EXPECT_EQ(cache.find(7, 2), nullptr);
  for (Ino ino = 100; ino < 164; ++ino) cache.keep(ino, 1, index);
  EXPECT_EQ(cache.find(7, 1), nullptr);
  EXPECT_EQ(cache.find(163, 1), index);
}

}  // namespace
}  // namespace ebla::daemon
