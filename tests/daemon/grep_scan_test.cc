// The scan of one file, and the windows around its hits.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "daemon/find/find_bytes.h"
#include "daemon/find/hit_text.h"
#include "daemon/find/pattern.h"
#include "daemon/find/scan.h"
#include "schema/base/utf8.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {
namespace {

ReadAt reader(const std::string& text) {
  return [&text](uint64_t offset, std::span<char> out) -> Result<size_t> {
    return offset >= text.size() ? 0 : text.copy(out.data(), out.size(), offset);
  };
}

// A file of one line that is never in memory: `word` stands at each place, dots between.
ReadAt huge_line(uint64_t size, std::string_view word, std::vector<uint64_t> places) {
  return [=](uint64_t offset, std::span<char> out) -> Result<size_t> {
    if (offset >= size) return 0;
    const size_t count = static_cast<size_t>(std::min<uint64_t>(out.size(), size - offset));
    std::fill_n(out.data(), count, '.');
    for (const uint64_t place : places) {
      for (size_t i = 0; i < word.size(); ++i) {
        if (place + i >= offset && place + i < offset + count) out[place + i - offset] = word[i];
      }
    }
    return count;
  };
}

Pattern pattern_of(std::string_view text, PatternOptions options = {}) {
  auto pattern = Pattern::compile(text, options);
  if (!pattern) {
    ADD_FAILURE() << pattern.error().text;
    std::abort();
  }
  return *std::move(pattern);
}

bool never() {
  return false;
}

// Numbers of the lines that match.
std::vector<uint64_t> lines_of(const std::string& text, const Pattern& pattern) {
  std::vector<uint64_t> lines;
  FileScanner scanner;
  auto done = scanner.scan(reader(text), pattern, {}, never,
                           [&](const ScanMatch& match) -> Result<uint64_t> {
                             lines.push_back(match.place.line + 1);
                             return kNextLine;
                           });
  EXPECT_TRUE(done);
  return lines;
}

TEST(FindBytes, FindsWhatTheStandardLibraryFinds) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 3'000; ++round) {
    std::string text;
    const size_t size = random() % 300;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>("ab\n\xff"[random() % 4]);
    std::string needle;
    const size_t length = random() % 5 + 1;
    for (size_t i = 0; i < length; ++i) needle += static_cast<char>("ab\n\xff"[random() % 4]);
    const size_t from = random() % (size + 2);
    EXPECT_EQ(find_bytes(text, needle, from), text.find(needle, from));
  }
}

TEST(Scan, LiteralLinesAreThoseOfASimpleSearch) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 40; ++round) {
    std::string text;
    std::vector<uint64_t> expected;
    const size_t lines = random() % 2'000;
    for (size_t i = 0; i < lines; ++i) {
      std::string line = kit::prose(random() % 2'000 + 1);
      std::ranges::replace(line, '\n', ' ');
      if (random() % 7 == 0)
        line.insert(random() % line.size(),
                    "n\xC3\xA9"
                    "edle");
      if (line.find("n\xC3\xA9"
                    "edle") != std::string::npos)
        expected.push_back(i + 1);
      text += line + (random() % 5 == 0 ? "\r\n" : "\n");
    }
    EXPECT_EQ(lines_of(text, pattern_of("n\xC3\xA9"
                                        "edle")),
              expected);
    EXPECT_EQ(lines_of(text, pattern_of("N\xC3\x89"
                                        "EDLE",
                                        {.ignore_case = true})),
              expected);
    EXPECT_EQ(lines_of(text, pattern_of("n\xC3\xA9+ed.e", {.regex = true})), expected);
  }
}

TEST(Scan, AMatchOverEverySliceBorderIsFound) {
  const size_t border = limits::kMiB;
  for (size_t before = 0; before <= 7; ++before) {
    std::string text =
        std::string(border - before - 1, 'x') + "\n" + "needle\n" + kit::prose(2 * border);
    EXPECT_EQ(lines_of(text, pattern_of("needle")), std::vector<uint64_t>{2}) << before;
    EXPECT_EQ(lines_of(text, pattern_of("^needle$", {.regex = true})), std::vector<uint64_t>{2});
    EXPECT_EQ(lines_of(text, pattern_of("NEEDLE", {.ignore_case = true})),
              std::vector<uint64_t>{2});
  }
}

TEST(Scan, OneHugeLineGivesPlaceAndWindow) {
  const uint64_t size = 200 * limits::kMiB;
  const std::vector<uint64_t> places = {5, limits::kMiB - 3, 123'456'789, size - 6};
  const ReadAt read = huge_line(size, "needle", places);
  for (const PatternOptions options :
       {PatternOptions{}, PatternOptions{.regex = false, .ignore_case = true}}) {
    const Pattern pattern = pattern_of("needle", options);
    std::vector<uint64_t> found;
    FileBlock block(read);
    FileScanner scanner;
    auto done = scanner.scan(read, pattern, {}, never, [&](const ScanMatch& match) {
      found.push_back(match.place.offset);
      EXPECT_EQ(match.place.line, 0u);
      EXPECT_EQ(match.place.line_start, 0u);
      auto shown = match_text(block, match, 400);
      EXPECT_TRUE(shown);
      EXPECT_EQ(shown->text.size(), 400u);
      EXPECT_EQ(shown->text.substr(match.place.offset - shown->column, 6), "needle");
      EXPECT_EQ(shown->cut, match.place.offset != size - 6);
      return Result<uint64_t>(shown->cut ? shown->end : kNextLine);
    });
    EXPECT_TRUE(done);
    EXPECT_EQ(found, places);
  }
}

TEST(Scan, ARegularExpressionSeesAnOverlongLineInPieces) {
  const uint64_t size = 20 * limits::kMiB;
  const std::vector<uint64_t> places = {limits::kMiB - 3, 7'000'000};
  const ReadAt read = huge_line(size, "needle", places);
  std::vector<uint64_t> found;
  FileScanner scanner;
  auto done = scanner.scan(read, pattern_of("ne+dl[a-e]", {.regex = true}), {}, never,
                           [&](const ScanMatch& match) {
                             found.push_back(match.place.offset);
                             return Result<uint64_t>(match.place.offset + match.length);
                           });
  EXPECT_TRUE(done);
  EXPECT_EQ(found, places);
}

TEST(Scan, GoesOnWhereItStopped) {
  const std::string text = kit::numbered_rows(3'000'000);
  const Pattern pattern = pattern_of("7");
  const std::vector<uint64_t> all = lines_of(text, pattern);
  std::vector<uint64_t> joined;
  ScanPlace from;
  FileScanner scanner;
  for (;;) {
    int slices = 0;
    std::optional<ScanPlace> stopped;
    auto done = scanner.scan(
        reader(text), pattern, from, [&] { return ++slices > 2; },
        [&](const ScanMatch& match) -> Result<uint64_t> {
          if (joined.size() % 1'000 == 999 && !stopped && from != match.place) {
            stopped = match.place;
            return kStop;
          }
          joined.push_back(match.place.line + 1);
          return kNextLine;
        });
    ASSERT_TRUE(done);
    if (done->end == ScanEnd::whole) break;
    from = stopped ? *stopped : done->place;
  }
  EXPECT_EQ(joined, all);
}

TEST(Pattern, LineEndsOfAPatternStandForBothKinds) {
  const std::string crlf = "one\r\ntwo\r\nthree\r\n";
  EXPECT_EQ(lines_of(crlf, pattern_of("one\ntwo")), std::vector<uint64_t>{1});
  EXPECT_EQ(lines_of(crlf, pattern_of("two\r\nthree")), std::vector<uint64_t>{2});
  EXPECT_EQ(lines_of("one\ntwo\n", pattern_of("one\r\ntwo")), std::vector<uint64_t>{1});
  EXPECT_EQ(lines_of(crlf, pattern_of("ONE\nTWO", {.ignore_case = true})),
            std::vector<uint64_t>{1});
  EXPECT_EQ(lines_of(crlf, pattern_of("two$", {.regex = true})), std::vector<uint64_t>{2});
  EXPECT_EQ(lines_of(crlf, pattern_of("^[^a]*e$", {.regex = true})), (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(lines_of("a\n\nb\n", pattern_of("^$", {.regex = true})), std::vector<uint64_t>{2});
  EXPECT_EQ(lines_of("a\nb", pattern_of("x*", {.regex = true})), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(lines_of("a\nb\n", pattern_of("x*", {.regex = true})), (std::vector<uint64_t>{1, 2}));
}

TEST(Pattern, BytesOfAnyEncodingAreSearched) {
  // "错误 code=7" in GBK, and Latin-1.
  const std::string text = "plain\n\xB4\xED\xCE\xF3 code=7 \xB4\xED\nend\ncaf\xE9 code=8\n";
  EXPECT_EQ(lines_of(text, pattern_of("code=7")), std::vector<uint64_t>{2});
  EXPECT_EQ(lines_of(text, pattern_of("CODE=7", {.ignore_case = true})), std::vector<uint64_t>{2});
  EXPECT_EQ(lines_of(text, pattern_of("^.+code=[78]", {.regex = true})),
            (std::vector<uint64_t>{2, 4}));
  const ReadAt read = reader(text);
  FileBlock own(read);
  auto shown = match_text(own, {{1, 6, 11}, 6}, 400);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->text, "\\xB4\\xED\\xCE\\xF3 code=7 \\xB4\\xED");
  EXPECT_TRUE(shown->marked);
  EXPECT_FALSE(shown->cut);
}

TEST(Pattern, FaultsSayWhatToDo) {
  EXPECT_EQ(Pattern::compile("", {}).error().code, Code::invalid_params);
  EXPECT_EQ(Pattern::compile(std::string(70'000, 'a'), {}).error().code, Code::invalid_params);
  const auto broken = Pattern::compile("foo(bar", {.regex = true});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().text,
            "pattern: no regular expression (RE2): missing ): foo(bar; leave regex out to search "
            "the text as it is");
  EXPECT_FALSE(Pattern::compile("(a{1000}){1000}", {.regex = true}));
  EXPECT_TRUE(Pattern::compile("foo(bar", {.regex = false, .ignore_case = true}));
}

TEST(Pattern, LooksLikeARegularExpression) {
  for (const char* text :
       {"foo.*bar", "\\d+", "^error", "end$", "(a|b)+", "[a-z]x", "a|b", "x.+"}) {
    EXPECT_TRUE(looks_like_regex(text)) << text;
  }
  for (const char* text : {"error: no such file", "array[0]", "f(x)", "C++", "a.b.c", "1 + 1",
                           "--x", "$HOME", "what?", "* item", "{\"a\":1}"}) {
    EXPECT_FALSE(looks_like_regex(text)) << text;
  }
}

TEST(HitText, AWindowIsWholeCharactersAroundTheMatch) {
  for (size_t lead = 380; lead < 420; ++lead) {
    const std::string text = "line\n" + std::string(lead % 3, 'a') + kit::chinese(lead) + "needle" +
                             kit::emoji(lead) + "\nnext\n";
    const ReadAt read = reader(text);
    FileBlock block(read);
    const uint64_t at = text.find("needle");
    auto shown = match_text(block, {{1, 5, at}, 6}, 400);
    ASSERT_TRUE(shown);
    EXPECT_TRUE(utf8::is_valid(shown->text));
    EXPECT_LE(shown->text.size(), 400u);
    EXPECT_GE(shown->text.size(), 390u);
    EXPECT_EQ(shown->text, text.substr(5 + shown->column, shown->text.size()));
    EXPECT_EQ(shown->text.substr(at - 5 - shown->column, 6), "needle");
    EXPECT_TRUE(shown->cut);
    EXPECT_EQ(shown->line, 2u);
  }
}

}  // namespace
}  // namespace ebla::daemon
