#include "context/item/size_rule.h"

#include <gtest/gtest.h>

#include "schema/base/utf8.h"
#include "tests/context/support.h"

namespace ebla::context {
namespace {

// The rule as its definition says it, a code point at a time.
SizeSums slow_measure(std::string_view text) {
  SizeSums sums;
  sums.bytes = text.size();
  const bool open_end = !text.empty() && text.back() != '\n';
  while (!text.empty()) {
    const utf8::Decoded decoded = utf8::decode(text);
    sums.characters += 1;
    sums.class_sum += decoded.valid ? units_of(decoded.code_point) : 2;
    sums.lines += text[0] == '\n' ? 1u : 0u;
    text.remove_prefix(decoded.length);
  }
  sums.lines += open_end ? 1 : 0;
  return sums;
}

void expect_equal(const SizeSums& got, const SizeSums& want) {
  EXPECT_EQ(got.bytes, want.bytes);
  EXPECT_EQ(got.characters, want.characters);
  EXPECT_EQ(got.class_sum, want.class_sum);
  EXPECT_EQ(got.lines, want.lines);
}

TEST(SizeRule, WeighsByClass) {
  EXPECT_EQ(units_of(U'a'), 1u);
  EXPECT_EQ(units_of(U'\n'), 1u);
  EXPECT_EQ(units_of(U'é'), 2u);
  EXPECT_EQ(units_of(U'中'), 3u);
  EXPECT_EQ(units_of(U'の'), 3u);
  EXPECT_EQ(units_of(U'한'), 3u);
  EXPECT_EQ(units_of(U'，'), 3u);
  EXPECT_EQ(units_of(0x20000), 3u);
  EXPECT_EQ(units_of(0x1EFFF), 2u);
  EXPECT_EQ(units_of(0x1F000), 8u);
  EXPECT_EQ(units_of(0x1FAFF), 8u);
  EXPECT_EQ(units_of(0x1FB00), 2u);
  EXPECT_EQ(measure("\xff").class_sum, 2u);
}

TEST(SizeRule, CountsLinesAsTheyAreRead) {
  EXPECT_EQ(measure("").lines, 0u);
  EXPECT_EQ(measure("x").lines, 1u);
  EXPECT_EQ(measure("x\n").lines, 1u);
  EXPECT_EQ(measure("x\ny").lines, 2u);
  EXPECT_EQ(measure("\n\n").lines, 2u);
  EXPECT_EQ(measure("a\vb\fc\xc2\x85"
                    "d\xe2\x80\xa8"
                    "e\rf")
                .lines,
            1u);
}

TEST(SizeRule, RoundsTokensUp) {
  EXPECT_EQ(tokens_of_sum(0), 0u);
  EXPECT_EQ(tokens_of_sum(1), 1u);
  EXPECT_EQ(tokens_of_sum(80'000), 20'000u);
  EXPECT_EQ(tokens_of_sum(80'001), 20'001u);
  EXPECT_EQ(tokens_of_sum(UINT64_MAX), UINT64_MAX / 4 + 1);
}

TEST(SizeRule, BoundsOfEveryClassCountAsDefined) {
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x30000 ? 1 : 257) {
    std::string text;
    utf8::append(text, c);
    if (!utf8::is_valid(text)) continue;
    ASSERT_EQ(measure(text).class_sum, units_of(c)) << std::hex << static_cast<uint32_t>(c);
    ASSERT_EQ(measure(text).characters, 1u);
  }
}

TEST(SizeRule, FastCountEqualsDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const std::string text = test::messy(random, random() % 600);
    SCOPED_TRACE(round);
    expect_equal(measure(text), slow_measure(text));
  }
}

TEST(SizeRule, SlicesDoNotMatter) {
  std::mt19937 random(8);
  for (int round = 0; round < 400; ++round) {
    const std::string text = test::messy(random, random() % 400);
    SizeCounter counter;
    std::string_view rest = text;
    while (!rest.empty()) {
      const size_t size = std::min<size_t>(rest.size(), random() % 6);
      counter.feed(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    counter.finish();
    SCOPED_TRACE(round);
    expect_equal(counter.sums(), slow_measure(text));
  }
}

TEST(SizeRule, CountsNewlinesNextToHighBytes) {
  const std::string text = test::repeat("\n\x8a\x0b\x09\xff\n\x00\x0a", 40);
  EXPECT_EQ(count_newlines(text),
            static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')));
}

}  // namespace
}  // namespace ebla::context
