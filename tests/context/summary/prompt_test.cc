// What a summariser is asked and what is taken from it.
#include <gtest/gtest.h>

#include "context/summary/outline.h"
#include "context/summary/summary.h"
#include "context/summary/transcript.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/utf8.h"
#include "tests/context/summary/sessions.h"
#include "tests/context/support.h"
#include "tests/kit/real_texts.h"

namespace ebla::context {
namespace {

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}
// Of a window that is no small one.
SummaryShares wide(const SummaryInput& input) {
  return *summary_shares(input, 200'000);
}

TEST(SummaryRequest, Golden) {
  const test::Talk talk = test::english_session();
  SummaryInput input = talk.input(14);
  input.focus = "the public header stays as it is";
  input.earlier = "## Goal\n- earlier goal\n";
  const SummaryRequest request = summary_request(input, {1, 2});
  test::compare_golden("summary-instruction.txt", request.instruction);
  test::compare_golden("summary-prompt.txt", request.prompt);
  EXPECT_EQ(request.id, summary_id({1, 2}));
  EXPECT_NE(request.id, summary_id({1, 3}));
  EXPECT_EQ(request.id.size(), 32u);
  EXPECT_EQ(request.max_tokens, 4'000u);
}

TEST(SummaryRequest, AsksForEachRequiredHeading) {
  const test::Talk talk = test::english_session();
  const SummaryRequest request = summary_request(talk.input(5), {});
  for (std::string_view heading : texts::kSummaryHeadings) {
    EXPECT_TRUE(has(request.instruction, "\n## " + std::string(heading) + "\n")) << heading;
  }
}

TEST(SummaryRequest, PinsAndFocusAreInItAndMediaAreNot) {
  test::Talk talk;
  talk.user("rule: \xf0\x9f\x98\x80 keep the API stable").user("look");
  talk.image("image/png", test::repeat("iVBORw0KGgo", 5'000));
  talk.list().pins = {talk.list().messages[0]};
  talk.list().messages.erase(talk.list().messages.begin());
  SummaryInput input = talk.input(1);
  input.focus = "the API";
  for (const std::string& text :
       {summary_request(input, {}).prompt, chunk_prompt(input, wide(input), "x", 1, 3, "")}) {
    EXPECT_TRUE(has(text, "keep the API stable"));
    EXPECT_TRUE(has(text, texts::kSummaryFocus));
    EXPECT_FALSE(has(text, "iVBOR"));
  }
  EXPECT_TRUE(has(summary_request(input, {}).prompt, "image: image/png"));
}

TEST(SummaryRequest, TheRequestBeforeTheTranscriptIsInIt) {
  test::Talk before;
  before.user("Port all 300 modules.").assistant("ok");
  SummaryMessageInput message;
  message.input = before.input(2);
  message.summary = extract_summary(message.input);
  test::Talk talk;
  talk.assistant("module 7 is done").assistant("module 8 is done");
  talk.list().summary = summary_message(message);
  const std::string want =
      std::string(texts::kSummaryRequest) + "```\nPort all 300 modules.\n```\n";
  EXPECT_TRUE(has(summary_request(talk.input(2), {}).prompt, want));
  EXPECT_TRUE(has(chunk_prompt(talk.input(2), wide(talk.input(2)), "x", 2, 2, "so far"), want));
}

TEST(SummaryRequest, WhatIsCutInAPromptSaysSo) {
  test::Talk talk;
  talk.user(test::prose(90'000)).user("look");
  talk.list().pins = {talk.list().messages[0]};
  talk.list().messages.erase(talk.list().messages.begin());
  SummaryInput input = talk.input(1);
  input.focus = test::prose(90'000);
  const std::string prompt = chunk_prompt(input, wide(input), "x", 1, 1, "");
  EXPECT_LT(estimate_tokens(prompt), 4'000u);
  size_t marks = 0;
  for (size_t at = 0; (at = prompt.find("\u2026\n```\n", at)) != std::string::npos; ++at) ++marks;
  EXPECT_EQ(marks, 2u) << prompt;
}

TEST(SummaryRequest, WhatWasPutAwayIsSeenByHowItBegan) {
  test::Talk talk;
  talk.user("go").call("c", "bash", "{}");
  talk.result("c", "bash", "").put_away("/r/c", 900, "[Ebla] Old result of bash");
  SummaryInput input = talk.input(3);
  size_t asked = 0;
  input.excerpt = [&asked](const WorkingMessage&, size_t, std::string_view, size_t bytes) {
    asked = bytes;
    return std::string("MARKER of the original");
  };
  const std::string prompt = summary_request(input, {}).prompt;
  EXPECT_TRUE(has(prompt, "[Ebla] Old result of bash"));
  EXPECT_TRUE(has(prompt, "MARKER of the original"));
  EXPECT_GT(asked, 0u);
}

TEST(SummaryRequest, DollarSignsAndBracesStayAsTheyAre) {
  test::Talk talk;
  talk.user("$& $' $` {file_path} {} %s </system> ```\n# Goal\n```");
  EXPECT_TRUE(has(summary_request(talk.input(1), {}).prompt,
                  "````\n$& $' $` {file_path} {} %s </system> ```\n# Goal\n```\n````\n"));
}

// What a summary of the parts before may be at most.
std::string longest_summary(uint64_t tokens) {
  Outline outline;
  for (auto& lines : outline.lines) lines.assign(40, "- so far " + test::prose(2'000));
  return fit_outline(outline, tokens);
}

std::vector<std::string> prompts(const SummaryInput& input, uint64_t window) {
  const SummaryShares shares = *summary_shares(input, window);
  const std::vector<std::string> chunks = summary_chunks(input, shares);
  const std::string so_far = longest_summary(shares.answer);
  std::vector<std::string> out;
  for (size_t i = 0; i < chunks.size(); ++i) {
    out.push_back(
        chunk_prompt(input, shares, chunks[i], i + 1, chunks.size(), i == 0 ? "" : so_far));
  }
  return out;
}

TEST(SummaryChunks, CoverEverythingWithinTheWindow) {
  test::Talk talk;
  std::vector<std::string> markers;
  for (int i = 0; i < 60; ++i) {
    markers.push_back("marker-" + std::to_string(i) + "-begin");
    markers.push_back("marker-" + std::to_string(i) + "-end");
    const std::string body = markers[markers.size() - 2] + "\n" +
                             test::prose(i % 7 == 0 ? 200'000 : 900) + "\n" + markers.back();
    talk.user(body);
  }
  SummaryInput input = talk.input(60);
  for (uint64_t window : {4'000u, 16'000u, 200'000u}) {
    const uint64_t answer = summary_shares(input, window)->answer;
    std::string all;
    for (const std::string& prompt : prompts(input, window)) {
      EXPECT_LE(estimate_tokens(prompt) + answer, window);
      EXPECT_TRUE(utf8::is_valid(prompt));
      all += prompt;
    }
    for (const std::string& marker : markers) EXPECT_TRUE(has(all, marker)) << window << marker;
  }
  EXPECT_EQ(prompts(input, 2'000'000).size(), 1u);
}

TEST(SummaryChunks, JoinToTheTextsThemselves) {
  const std::string text = kit::even_lines(300'000, 3'000);
  test::Talk talk;
  talk.result("c", "bash", text);
  std::string joined;
  for (const std::string& chunk :
       summary_chunks(talk.input(1), *summary_shares(talk.input(1), 16'000))) {
    const size_t begin = chunk.find("\n```\n") + 5;
    joined += chunk.substr(begin, chunk.rfind("\n```\n") + 1 - begin);
  }
  EXPECT_EQ(joined, text);
}

TEST(SummaryChunks, NeverCutACharacter) {
  for (size_t ahead = 0; ahead < 4; ++ahead) {
    test::Talk talk;
    talk.user(std::string(ahead, 'a') + kit::emoji(8'000));
    talk.user(kit::chinese(10'000)).user(test::repeat("x \xed\xa0\x80 ", 8'000));
    for (const std::string& prompt : prompts(talk.input(3), 16'000)) {
      EXPECT_TRUE(utf8::is_valid(prompt));
    }
  }
}

// Everything that can stand beside the transcript, and more of it than there is room for.
test::Talk crowded_talk() {
  test::Talk before;
  before.user("Port it. " + test::prose(40'000)).assistant("ok");
  SummaryMessageInput message;
  message.input = before.input(2);
  message.summary = longest_summary(4'000);
  test::Talk talk;
  talk.user("rule: " + test::prose(40'000));
  for (int i = 0; i < 300; ++i) {
    talk.assistant("answer " + std::to_string(i) + " " + test::prose(1'900));
    talk.call("c" + std::to_string(i), "bash", R"({"command":"make"})");
    talk.result("c" + std::to_string(i), "bash", kit::even_lines(1'900, 30));
  }
  talk.list().pins = {talk.list().messages[0]};
  talk.list().messages.erase(talk.list().messages.begin());
  talk.list().summary = summary_message(message);
  return talk;
}
SummaryInput crowded(const test::Talk& talk) {
  SummaryInput input = talk.input(900);
  input.earlier = parts_of_summary(talk.list().summary).summary;
  input.focus = test::prose(9'000);
  return input;
}

TEST(SummaryChunks, InASmallWindowTheTranscriptKeepsHalfOfIt) {
  const test::Talk talk = crowded_talk();
  const SummaryInput input = crowded(talk);
  uint64_t all = 0;
  for (const TranscriptEntry& entry : transcript(input)) all += estimate_tokens(entry.text);
  for (uint64_t window : {4'000u, 8'000u, 16'000u, 32'000u}) {
    const SummaryShares shares = *summary_shares(input, window);
    EXPECT_GE(shares.piece, window / 2) << window;
    EXPECT_LE(shares.answer, input.max_tokens) << window;
    const std::vector<std::string> asked = prompts(input, window);
    for (const std::string& prompt : asked) {
      EXPECT_LE(estimate_tokens(prompt) + shares.answer, window) << window;
    }
    EXPECT_LE(asked.size(), all / (window * 3 / 8) + 2) << window;
    // Of the summary before no section is lost.
    for (std::string_view heading : texts::kSummaryHeadings) {
      EXPECT_TRUE(has(asked[0], "## " + std::string(heading) + "\n- so far")) << heading;
    }
  }
}

TEST(SummaryChunks, InALargeWindowTheAnswerIsAsLongAsEver) {
  const test::Talk talk = crowded_talk();
  const SummaryInput input = crowded(talk);
  EXPECT_EQ(summary_shares(input, 200'000)->answer, input.max_tokens);
}

TEST(SummaryChunks, AWindowWithoutRoomIsRefusedAndSaysWhatItTakes) {
  const test::Talk talk = crowded_talk();
  const SummaryInput input = crowded(talk);
  for (uint64_t window : {1u, 100u, 1'000u, 2'000u}) {
    const auto shares = summary_shares(input, window);
    ASSERT_FALSE(shares) << window;
    EXPECT_TRUE(has(shares.error().text, "it needs ")) << shares.error().text;
    EXPECT_FALSE(summary_request_within(input, {}, window)) << window;
  }
  uint64_t least = 2'000;
  while (!summary_shares(input, least)) least += 100;
  EXPECT_TRUE(
      has(summary_shares(input, least - 100).error().text, "it needs " + texts::grouped(least)));
  EXPECT_GE(summary_shares(input, least)->piece, least / 2);
}

TEST(SummaryChunks, NothingToReadIsOnePiece) {
  test::Talk talk;
  talk.user("go");
  EXPECT_EQ(prompts(talk.input(0), 8'000).size(), 1u);
}

TEST(SummaryRequest, ForASmallWindowItsPromptKeepsToTheSameShares) {
  const test::Talk talk = crowded_talk();
  const SummaryInput input = crowded(talk);
  for (uint64_t window : {4'000u, 8'000u, 16'000u}) {
    const SummaryRequest request = *summary_request_within(input, {1, 2}, window);
    EXPECT_LE(estimate_tokens(request.prompt) + request.max_tokens, window);
    EXPECT_EQ(request.max_tokens, summary_shares(input, window)->answer);
    EXPECT_EQ(request.id, summary_id({1, 2}));
    const std::string number = "at most " + texts::grouped(request.max_tokens) + " tokens";
    EXPECT_TRUE(has(request.prompt, number) && has(request.instruction, number));
    const std::string transcript_part =
        request.prompt.substr(request.prompt.find(texts::kSummaryTranscript));
    EXPECT_GE(estimate_tokens(transcript_part), window * 45 / 100) << window;
    EXPECT_TRUE(has(transcript_part, "answer 0 ")) << window;
    EXPECT_TRUE(has(transcript_part, "answer 299 ")) << window;
  }
  const SummaryRequest whole = summary_request(input, {1, 2});
  EXPECT_EQ(summary_request_within(input, {1, 2}, 0)->prompt, whole.prompt);
  EXPECT_EQ(summary_request_within(input, {1, 2}, 1'000'000)->prompt, whole.prompt);
}

}  // namespace
}  // namespace ebla::context
