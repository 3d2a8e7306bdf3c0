#include <fmt/format.h>

#include <algorithm>

#include "context/summary/summary.h"
#include "context/summary/transcript.h"
#include "context/text/quote.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// Part of the request's id: a text that changed is another question.
constexpr std::string_view kPromptVersion = "summary 2";
// Of the summariser's window, in percent: what is left goes to the differences between its way of
// counting and ours.
constexpr uint64_t kWindowPercent = 85;
// What may stand around a piece of the transcript, beside the summary so far: that has the
// summary's own cap.
constexpr uint64_t kPinsTokens = 2'000;
constexpr uint64_t kFocusTokens = 500;
// A piece that is smaller than this is not worth a call; a window that has no room for one gets
// prompts that are larger than it says.
constexpr uint64_t kSmallestPiece = 256;
// A text with more bytes than this for each token of room is cut without being counted.
constexpr uint64_t kProbeBytesPerToken = 16;
// What label and fences of one entry cost at most, beside its text.
constexpr uint64_t kFrameTokens = 8;
// A text is not cut to less than this before whole entries are left out.
constexpr uint64_t kShortestExcerpt = 48;
// Of the entries that stay when some are left out, in percent: the newest.
constexpr size_t kNewestPercent = 75;

uint64_t cap_of(const SummaryInput& input) {
  return input.max_tokens == 0 ? limits::kSummaryTokens : input.max_tokens;
}

// A text of several lines, cut with a mark.
std::string shortened(const std::string& text, uint64_t max_tokens) {
  const std::string_view start = first_tokens(text, max_tokens);
  return start.size() == text.size() ? text : std::string(start) + texts::kCut;
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
std::string opening(const SummaryInput& input, uint64_t pins_tokens) {
  std::string out = fmt::format(texts::kSummaryAsk, texts::grouped(cap_of(input)));
  out += section(texts::kSummaryFocus, input.focus, kFocusTokens);
  // It is in no message of the transcript, and the summary before it need not say it again.
  const std::string request = parts_of_summary(input.list->summary).current_request;
  out += section(texts::kSummaryRequest, request, pins_tokens);
  const std::string pins = pinned_reference(input, pins_tokens);
  if (!pins.empty()) out.append(texts::kSummaryPins).append(pins);
  return out;
}

// Cuts entries into pieces of at most `room` tokens, at ends of lines where there are some.
class Chunker {
 public:
  explicit Chunker(uint64_t room) : room_(room) {}

  void add(const TranscriptEntry& entry) {
    std::string_view rest = entry.text;
    std::string label = entry.label;
    do {
      const uint64_t frame = estimate_tokens(label) + kFrameTokens;
      const uint64_t left = room_ > used_ ? room_ - used_ : 0;
      // Of a text that is far too long its size is enough.
      const std::string_view probe = rest.substr(0, kProbeBytesPerToken * (room_ + 1));
      const bool all = probe.size() == rest.size();
      const uint64_t cost = frame + (all ? estimate_tokens(rest) : room_ + 1);
      if (cost > left && used_ > 0 && (cost <= room_ || left < room_ / 4 || frame >= left)) {
        flush();
        continue;
      }
      std::string_view piece = rest;
      if (cost > left) piece = cut(rest, left > frame ? left - frame : 0);
      append_entry(text_, {label, std::string(piece)});
      used_ += frame + estimate_tokens(piece);
      rest.remove_prefix(piece.size());
      label = entry.label + texts::kTranscriptContinued;
    } while (!rest.empty());
  }

  std::vector<std::string> take() {
    flush();
    return std::move(out_);
  }

 private:
  // Never empty, so that it ends whatever the room is.
  static std::string_view cut(std::string_view text, uint64_t tokens) {
    std::string_view start = first_tokens(text, tokens);
    if (start.empty()) start = text.substr(0, utf8::decode(text).length);
    const size_t line = start.rfind('\n');
    if (line != std::string_view::npos && line >= start.size() / 2)
      start = start.substr(0, line + 1);
    return start;
  }

  void flush() {
    if (!text_.empty()) out_.push_back(std::move(text_));
    text_.clear();
    used_ = 0;
  }

  uint64_t room_;
  uint64_t used_ = 0;
  std::string text_;
  std::vector<std::string> out_;
};

// A transcript shortened to a room.
class Excerpts {
 public:
  explicit Excerpts(std::vector<TranscriptEntry> entries) : entries_(std::move(entries)) {
    for (const TranscriptEntry& entry : entries_) {
      frames_.push_back(estimate_tokens(entry.label) + kFrameTokens);
      texts_.push_back(estimate_tokens(entry.text));
    }
  }

  std::string within(uint64_t room) {
    leave_out(room);
    const uint64_t most = longest_text(room);
    std::string out;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (i == gap_begin_ && gap_end_ > gap_begin_) {
        out += fmt::format(texts::kTranscriptGap, gap_end_ - gap_begin_);
      }
      if (left_out(i)) continue;
      entries_[i].text = shortened(entries_[i].text, most);
      append_entry(out, entries_[i]);
    }
    return out;
  }

 private:
  bool left_out(size_t i) const { return i >= gap_begin_ && i < gap_end_; }
  uint64_t cost(size_t i, uint64_t most) const { return frames_[i] + std::min(texts_[i], most); }

  void leave_out(uint64_t room) {
    uint64_t all = 0;
    for (size_t i = 0; i < entries_.size(); ++i) all += cost(i, kShortestExcerpt);
    if (all <= room) return;
    gap_end_ = entries_.size();
    uint64_t newest = room / 100 * kNewestPercent;
    while (gap_end_ > 0 && cost(gap_end_ - 1, kShortestExcerpt) <= newest) {
      newest -= cost(--gap_end_, kShortestExcerpt);
    }
    uint64_t oldest = room - room / 100 * kNewestPercent;
    while (gap_begin_ < gap_end_ && cost(gap_begin_, kShortestExcerpt) <= oldest) {
      oldest -= cost(gap_begin_++, kShortestExcerpt);
    }
  }

  // The longest that texts may be, so that all that stay take at most the room.
  uint64_t longest_text(uint64_t room) const {
    std::vector<uint64_t> sizes;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (left_out(i)) continue;
      room -= std::min(room, frames_[i]);
      sizes.push_back(texts_[i]);
    }
    std::ranges::sort(sizes);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const uint64_t share = room / (sizes.size() - i);
      if (sizes[i] > share) return share;
      room -= sizes[i];
    }
    return UINT64_MAX;
  }

  std::vector<TranscriptEntry> entries_;
  std::vector<uint64_t> frames_;  // tokens beside the text
  std::vector<uint64_t> texts_;   // tokens
  size_t gap_begin_ = 0;
  size_t gap_end_ = 0;
};

std::string whole_prompt(const SummaryInput& input) {
  std::string out = opening(input, UINT64_MAX);
  out += section(texts::kSummaryEarlier, input.earlier, UINT64_MAX);
  out += texts::kSummaryTranscript;
  for (const TranscriptEntry& entry : transcript(input)) append_entry(out, entry);
  return out;
}

}  // namespace

std::string summary_id(Hash128 prefix) {
  return xxh3_128(std::string(kPromptVersion) + prefix.hex()).hex();
}

SummaryRequest summary_request(const SummaryInput& input, Hash128 prefix) {
  SummaryRequest request;
  request.id = summary_id(prefix);
  request.max_tokens = cap_of(input);
  request.instruction = fmt::format(texts::kSummaryAsk, texts::grouped(request.max_tokens)) +
                        section(texts::kSummaryFocus, input.focus, kFocusTokens);
  request.prompt = whole_prompt(input);
  return request;
}

std::string excerpt_prompt(const SummaryInput& input, uint64_t window_tokens) {
  std::string out = opening(input, kPinsTokens);
  out += section(texts::kSummaryEarlier, input.earlier, cap_of(input));
  out += texts::kSummaryTranscript;
  const uint64_t usable = window_tokens / 100 * kWindowPercent;
  const uint64_t around = estimate_tokens(out) + cap_of(input);
  Excerpts excerpts(transcript(input));
  return out += excerpts.within(std::max(usable > around ? usable - around : 0, kSmallestPiece));
}

std::vector<std::string> summary_chunks(const SummaryInput& input, uint64_t window_tokens) {
  const uint64_t usable = window_tokens / 100 * kWindowPercent;
  // The answer, and the summary so far, which is one.
  const uint64_t around = estimate_tokens(opening(input, kPinsTokens)) + 2 * cap_of(input);
  Chunker chunker(std::max(usable > around ? usable - around : 0, kSmallestPiece));
  for (const TranscriptEntry& entry : transcript(input)) chunker.add(entry);
  return chunker.take();
}

std::string chunk_prompt(const SummaryInput& input, std::string_view chunk, size_t number,
                         size_t of, std::string_view so_far) {
  std::string out = opening(input, kPinsTokens);
  out += so_far.empty() ? section(texts::kSummaryEarlier, input.earlier, cap_of(input))
                        : section(texts::kSummarySoFar, so_far, cap_of(input));
  out += of > 1 ? fmt::format(texts::kSummaryPart, number, of) : texts::kSummaryTranscript;
  return out.append(chunk);
}

}  // namespace ebla::context
