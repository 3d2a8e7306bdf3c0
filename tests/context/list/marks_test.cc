#include "context/list/marks.h"

#include <gtest/gtest.h>

#include "context/formats/carried.h"
#include "context/text/quote.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/utf8.h"
#include "tests/context/support.h"
#include "tests/kit/real_texts.h"

namespace ebla::context {
namespace {

TEST(Marks, ArgumentMarkNamesOurCopyOrTheFileThatTheToolWrote) {
  EXPECT_EQ(argument_mark(12'345, path_in("/mnt/ebla/large_tool_results")).joined("c1.content"),
            "[shortened in this old call only: 12,345 characters, now in "
            "/mnt/ebla/large_tool_results/c1.content; new calls must carry their full text]");
  const NamedText own = argument_mark(2'001, known_path("/home/me/src/main.cc"));
  EXPECT_EQ(own.parts().size(), 1u);
  EXPECT_EQ(own.joined("never shown"),
            "[shortened in this old call only: 2,001 characters, now in /home/me/src/main.cc; new "
            "calls must carry their full text]");
}

TEST(Marks, ACopiedMarkIsSeenWhateverStandsAroundIt) {
  const std::string mark = argument_mark(9'000, known_path("/a")).joined("");
  EXPECT_TRUE(has_mark(mark));
  EXPECT_TRUE(has_mark("before\n" + mark + "after"));
  EXPECT_TRUE(has_mark("[shortened in this old call only: 9"));
  EXPECT_TRUE(has_mark(std::string(texts::kArgumentMarkStart) + mark));
  EXPECT_FALSE(has_mark(""));
  EXPECT_FALSE(has_mark("[shortened in this old call only: {} characters"));
  EXPECT_FALSE(has_mark("[shortened \xe2\x80\xa6]"));
  EXPECT_FALSE(has_mark(texts::kArgumentMarkStart));
}

TEST(Marks, PathsThatImitateAMarkOrHoldControlBytesStayOnOneLine) {
  const std::string mark = argument_mark(5'000, known_path("/a\n\x1b[2J]{}\xff")).joined("");
  EXPECT_EQ(mark.find('\n'), std::string::npos);
  EXPECT_EQ(mark.find('\x1b'), std::string::npos);
  EXPECT_TRUE(utf8::is_valid(mark));
  EXPECT_NE(mark.find("{}"), std::string::npos);
}

TEST(Marks, OldResultIsOneCleanLine) {
  const std::string text = "\x1b[31mFAIL\x1b[0m tests/a.py\n" + std::string(1, '\0') +
                           "next\tline " + std::string(500, 'x');
  const std::string stub =
      old_result_stub("bash", 12'345, path_in("/mnt/ebla/large_tool_results"), text).joined("c1");
  EXPECT_TRUE(
      stub.starts_with("[Ebla] Old result of bash, 12,345 tokens, kept whole in "
                       "/mnt/ebla/large_tool_results/c1. It began: FAIL tests/a.py next "
                       "line xxx"))
      << stub;
  EXPECT_TRUE(stub.ends_with("x\xe2\x80\xa6"));
  EXPECT_EQ(utf8::count(stub.substr(stub.find("FAIL"))), 121u);
}

TEST(Marks, StubsOfAnyOutputAreShortStrictAndOneLine) {
  for (const kit::NamedText& shape : kit::all_shapes()) {
    const std::string stub =
        old_result_stub("a`b\n\"c", 501, path_in("/r"), shape.text).joined("c1");
    EXPECT_TRUE(utf8::is_valid(stub)) << shape.name;
    EXPECT_LE(utf8::count(stub), 260u) << shape.name;
    for (char c : stub) EXPECT_TRUE(static_cast<uint8_t>(c) >= 0x20 && c != 0x7F) << shape.name;
  }
  EXPECT_TRUE(old_result_stub("", 1, path_in("/r"), "")
                  .joined("x")
                  .starts_with("[Ebla] Old tool result, 1 token, kept whole in /r/x."));
}

TEST(Marks, StartsAreCutOnCharacters) {
  const std::string family =
      "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7";
  for (size_t ahead = 100; ahead < 125; ++ahead) {
    const std::string stub =
        old_result_stub("t", 600, path_in("/r"), std::string(ahead, 'a') + test::repeat(family, 40))
            .joined("x");
    EXPECT_TRUE(utf8::is_valid(stub));
    EXPECT_EQ(stub.find("\xef\xbf\xbd"), std::string::npos);
    EXPECT_FALSE(stub.ends_with("\xe2\x80\x8d\xe2\x80\xa6")) << ahead;
  }
}

TEST(Marks, MediaLink) {
  EXPECT_EQ(
      media_link("image/png", 1'638'400, path_in("/h/media")).joined("ab.png"),
      "[Ebla] image/png, 1,638,400 bytes, moved out of the conversation into /h/media/ab.png");
}

TEST(Marks, ReaderClipKeepsTheStartAndNamesThePath) {
  const std::string page = test::repeat("\xe4\xb8\xad", 20'000);
  const std::string clip = reader_clip(page, "/large_tool_results/c1");
  EXPECT_TRUE(
      clip.starts_with("[Ebla] The first 4,000 of 20,000 characters that were read from "
                       "/large_tool_results/c1; read the rest there.\n"));
  EXPECT_EQ(clip.substr(clip.find('\n') + 1), test::repeat("\xe4\xb8\xad", 4'000));
  EXPECT_EQ(reader_clip("short", "/x"), "short");
}

// A failed result that answers no call.
std::string carried(std::string id, std::string tool, const Part* answered) {
  constexpr std::string_view kBody = R"("On branch main\nnothing to commit")";
  Part result;
  result.kind = PartKind::tool_result;
  result.texts = {{0, kBody.size()}};
  result.call_id = std::move(id);
  result.tool = std::move(tool);
  result.error = true;
  return carried_text(kBody, result, answered);
}

TEST(Marks, Golden) {
  Part asked;
  asked.tool = "bash";
  const NamedText results = path_in("/mnt/ebla/large_tool_results/app-abcde");
  std::string all;
  for (const std::string& text :
       {argument_mark(12'345, results).joined("toolu_1.content"),
        argument_mark(2'001, known_path("/home/me/src/main.cc")).joined(""),
        old_result_stub("bash", 1'234, results, "On branch main\nnothing to commit").joined("t1"),
        old_result_stub("", 501, results, "").joined("result-0a1b2c3d"),
        media_link("image/png", 1'638'400, path_in("/mnt/ebla/conversation_history/media"))
            .joined("00112233445566778899aabbccddeeff.png"),
        reader_clip(std::string(5'000, 'x'), "/large_tool_results/t1").substr(0, 120),
        std::string(texts::kInterrupted), std::string(texts::kEmpty),
        std::string(texts::kNoBeginning), carried("toolu_1", "", nullptr),
        carried("", "bash", nullptr), carried("toolu_1", "", &asked)}) {
    all += text + "\n";
  }
  test::compare_golden("marks.txt", all);
}

TEST(Quote, FencesCannotBeClosedFromInside) {
  for (const std::string& text : {std::string("```"), std::string("a\n`````\nb"), std::string()}) {
    const std::string fence = fence_for(text);
    EXPECT_GE(fence.size(), 3u);
    EXPECT_EQ(text.find(fence), std::string::npos);
  }
}

TEST(Quote, FirstTokensNeverExceed) {
  for (const kit::NamedText& shape : kit::all_shapes()) {
    const std::string text = utf8::to_valid(shape.text);
    for (uint64_t tokens : {0u, 1u, 7u, 100u, 3'000u}) {
      const std::string_view start = first_tokens(text, tokens);
      EXPECT_TRUE(utf8::is_valid(start)) << shape.name;
      EXPECT_TRUE(text.starts_with(start));
      EXPECT_LE(estimate_tokens(start), tokens) << shape.name;
    }
  }
}

}  // namespace
}  // namespace ebla::context
