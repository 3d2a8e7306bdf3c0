#include "context/summary/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "context/text/quote.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// An entry begins in a piece of which this part of the room is left, and goes on in the next.
constexpr uint64_t kLeastLeft = 4;
// A text with more bytes than this for each token of room is cut without being counted.
constexpr uint64_t kProbeBytesPerToken = 16;
// A text is not cut to less than this before whole entries are left out.
constexpr uint64_t kShortestExcerpt = 48;
// Of the entries that stay when some are left out, in percent: the newest.
constexpr size_t kNewestPercent = 75;

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
      if (cost > left && used_ > 0 && (left < room_ / kLeastLeft || frame >= left)) {
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

}  // namespace

std::string shortened(const std::string& text, uint64_t max_tokens) {
  const std::string_view start = first_tokens(text, max_tokens);
  return start.size() == text.size() ? text : std::string(start) + texts::kCut;
}

std::vector<std::string> pieces_of(const std::vector<TranscriptEntry>& entries, uint64_t room) {
  Chunker chunker(room);
  for (const TranscriptEntry& entry : entries) chunker.add(entry);
  return chunker.take();
}

std::string excerpts_of(std::vector<TranscriptEntry> entries, uint64_t room) {
  return Excerpts(std::move(entries)).within(room);
}

}  // namespace ebla::context
