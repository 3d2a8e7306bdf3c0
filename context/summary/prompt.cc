#include <fmt/format.h>

#include <algorithm>

#include "context/summary/outline.h"
#include "context/summary/pieces.h"
#include "context/summary/summary.h"
#include "context/text/quote.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

// Part of the request's id: a text that changed is another question.
constexpr std::string_view kPromptVersion = "summary 2";
// Of a window that has no room for all, in percent: what is left goes to the differences between
// its way of counting and ours.
constexpr uint64_t kWindowPercent = 85;
// Of such a window, in percent: a piece of the transcript has at least this, and the answer, like
// the summary of what came before, at most that.
constexpr uint64_t kPiecePercent = 50;
constexpr uint64_t kAnswerPercent = 10;
// What may stand around a piece beside these two, in tokens.
constexpr uint64_t kReferenceTokens = 2'000;
constexpr uint64_t kFocusTokens = 500;
constexpr uint64_t kReferences = 3;  // focus, request before, pinned messages

uint64_t cap_of(const SummaryInput& input) {
  return input.max_tokens == 0 ? limits::kSummaryTokens : input.max_tokens;
}

// A window of which there is enough.
SummaryShares whole(const SummaryInput& input) {
  return {cap_of(input), UINT64_MAX, UINT64_MAX};
}

uint64_t usable(uint64_t window_tokens) {
  return window_tokens / 100 * kWindowPercent;
}

std::string ask(uint64_t answer_tokens) {
  return fmt::format(texts::kSummaryAsk, texts::grouped(answer_tokens));
}

std::string section(std::string_view title, std::string_view text, uint64_t max_tokens) {
  std::string clean = shortened(clean_text(text), max_tokens);
  if (clean.ends_with('\n')) clean.pop_back();
  std::string out;
  if (clean.empty()) return out;
  out += title;
  append_fenced(out, "", clean);
  return out;
}

// Of a summary that is longer every section keeps a share.
std::string summary_section(std::string_view title, std::string_view summary, uint64_t max_tokens) {
  if (estimate_tokens(summary) <= max_tokens) return section(title, summary, max_tokens);
  return section(title, fit_outline(parse_outline(summary), max_tokens), max_tokens);
}

std::string pinned_reference(const SummaryInput& input, uint64_t max_tokens) {
  std::vector<WorkingMessage> pinned = input.list->pins;
  for (const WorkingMessage& message : input.list->messages) {
    if (message.pinned) pinned.push_back(message);
  }
  std::string out;
  for (TranscriptEntry entry : transcript_of(input.body, pinned, input.excerpt)) {
    const uint64_t used = estimate_tokens(out) + estimate_tokens(entry.label) + kFrameTokens;
    if (used >= max_tokens) break;
    entry.text = shortened(entry.text, max_tokens - used);
    append_entry(out, entry);
  }
  return out;
}

// Instruction, focus and pinned messages: what every prompt begins with.
std::string opening(const SummaryInput& input, const SummaryShares& shares) {
  std::string out = ask(shares.answer);
  out += section(texts::kSummaryFocus, input.focus, std::min(kFocusTokens, shares.reference));
  // It is in no message of the transcript, and the summary before it need not say it again.
  const std::string request = parts_of_summary(input.list->summary).current_request;
  out += section(texts::kSummaryRequest, request, shares.reference);
  const std::string pins = pinned_reference(input, shares.reference);
  if (!pins.empty()) out.append(texts::kSummaryPins).append(pins);
  return out;
}

uint64_t tokens_of(std::initializer_list<std::string_view> texts_in_frames) {
  uint64_t tokens = 0;
  for (const std::string_view text : texts_in_frames)
    tokens += estimate_tokens(text) + kFrameTokens;
  return tokens;
}
// What stands around summary and transcript, and around the references, beside what they say.
uint64_t body_frame() {
  return tokens_of({texts::kSummaryEarlier, texts::kSummaryPart});
}
uint64_t references_frame() {
  return tokens_of({texts::kSummaryFocus, texts::kSummaryRequest, texts::kSummaryPins});
}

// The least window with room for this frame, two summaries, and half of it for the transcript.
uint64_t least_window(uint64_t frame, uint64_t cap) {
  constexpr uint64_t kBeside = kWindowPercent - kPiecePercent;
  const auto percents = [](uint64_t tokens, uint64_t of) { return (tokens + of - 1) / of; };
  return 100 * std::min(percents(frame, kBeside - 2 * kAnswerPercent),
                        percents(frame + 2 * cap, kBeside));
}

std::string instruction(const SummaryInput& input, uint64_t answer_tokens) {
  return ask(answer_tokens) + section(texts::kSummaryFocus, input.focus, kFocusTokens);
}

// The stand-alone form where there is no room for all.
std::string excerpt_prompt(const SummaryInput& input, const SummaryShares& shares,
                           uint64_t window_tokens) {
  std::string out = opening(input, shares);
  out += summary_section(texts::kSummaryEarlier, input.earlier, shares.answer);
  out += texts::kSummaryTranscript;
  const uint64_t taken = estimate_tokens(out) + shares.answer;
  return out += excerpts_of(transcript(input), usable(window_tokens) - taken);
}

}  // namespace

std::string summary_id(Hash128 prefix) {
  return xxh3_128(std::string(kPromptVersion) + prefix.hex()).hex();
}

SummaryRequest summary_request(const SummaryInput& input, Hash128 prefix) {
  SummaryRequest request;
  request.id = summary_id(prefix);
  request.max_tokens = cap_of(input);
  request.instruction = instruction(input, request.max_tokens);
  request.prompt = opening(input, whole(input));
  request.prompt += section(texts::kSummaryEarlier, input.earlier, UINT64_MAX);
  request.prompt += texts::kSummaryTranscript;
  for (const TranscriptEntry& entry : transcript(input)) append_entry(request.prompt, entry);
  return request;
}

bool fits_window(const SummaryRequest& request, uint64_t window_tokens) {
  return window_tokens == 0 ||
         estimate_tokens(request.prompt) + request.max_tokens <= window_tokens;
}

Result<SummaryShares> summary_shares(const SummaryInput& input, uint64_t window_tokens) {
  SummaryShares shares;
  shares.answer = std::min(cap_of(input), window_tokens / 100 * kAnswerPercent);
  const uint64_t frame = estimate_tokens(ask(shares.answer)) + references_frame() + body_frame();
  const uint64_t least = least_window(frame, cap_of(input));
  if (window_tokens < least) {
    return fail(Code::too_large,
                fmt::format("the summariser's window of {} tokens has no room for question, answer "
                            "and a fair part of the transcript: it needs {}",
                            texts::grouped(window_tokens), texts::grouped(least)));
  }
  const uint64_t room = usable(window_tokens) - 2 * shares.answer;
  shares.piece = window_tokens / 100 * kPiecePercent;
  shares.reference = std::min(kReferenceTokens, (room - shares.piece - frame) / kReferences);
  // What the references do not take is the transcript's.
  const uint64_t taken = estimate_tokens(opening(input, shares)) + body_frame();
  shares.piece = std::max(shares.piece, room - std::min(room, taken));
  return shares;
}

Result<SummaryRequest> summary_request_within(const SummaryInput& input, Hash128 prefix,
                                              uint64_t window_tokens) {
  SummaryRequest request = summary_request(input, prefix);
  if (fits_window(request, window_tokens)) return request;
  const auto shares = summary_shares(input, window_tokens);
  if (!shares) return std::unexpected(shares.error());
  request.max_tokens = shares->answer;
  request.instruction = instruction(input, shares->answer);
  request.prompt = excerpt_prompt(input, *shares, window_tokens);
  return request;
}

std::vector<std::string> summary_chunks(const SummaryInput& input, const SummaryShares& shares) {
  std::vector<std::string> pieces = pieces_of(transcript(input), shares.piece);
  if (pieces.empty()) pieces.emplace_back();
  return pieces;
}

std::string chunk_prompt(const SummaryInput& input, const SummaryShares& shares,
                         std::string_view chunk, size_t number, size_t of,
                         std::string_view so_far) {
  std::string out = opening(input, shares);
  out += so_far.empty() ? summary_section(texts::kSummaryEarlier, input.earlier, shares.answer)
                        : summary_section(texts::kSummarySoFar, so_far, shares.answer);
  out += of > 1 ? fmt::format(texts::kSummaryPart, number, of) : texts::kSummaryTranscript;
  return out.append(chunk);
}

}  // namespace ebla::context
