#include "tools/history_index.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace ebla::tools {
namespace {

// Takes `text` off the front of `line`; false when it does not begin so.
bool take(std::string_view& line, std::string_view text) {
  if (!line.starts_with(text)) {
    return false;
  }
  line.remove_prefix(text.size());
  return true;
}

std::optional<uint64_t> take_number(std::string_view& line) {
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  line.remove_prefix(static_cast<size_t>(stop - line.data()));
  return number;
}

// "## Section 3: messages 41 to 87"
std::optional<HistorySection> heading(std::string_view line) {
  HistorySection section;
  if (!take(line, "## Section ")) {
    return std::nullopt;
  }
  const auto ordinal = take_number(line);
  if (!ordinal || !take(line, ": messages ")) {
    return std::nullopt;
  }
  const auto first = take_number(line);
  if (!first || !take(line, " to ")) {
    return std::nullopt;
  }
  const auto last = take_number(line);
  if (!last || !line.empty()) {
    return std::nullopt;
  }
  section.ordinal = *ordinal;
  section.first = *first;
  section.last = *last;
  return section;
}

// "### Message 41: user"
std::optional<HistoryMessage> message_heading(std::string_view line) {
  HistoryMessage message;
  if (!take(line, "### Message ")) {
    return std::nullopt;
  }
  const auto number = take_number(line);
  if (!number || !take(line, ": ")) {
    return std::nullopt;
  }
  message.number = *number;
  message.role = line;
  return message;
}

// Bytes of the block that "```bytes=13" opens.
std::optional<uint64_t> block_bytes(std::string_view line) {
  constexpr size_t kShortestFence = 3;
  const size_t fence = std::min(line.find_first_not_of('`'), line.size());
  line.remove_prefix(fence);
  if (fence < kShortestFence || !take(line, "bytes=")) {
    return std::nullopt;
  }
  const auto bytes = take_number(line);
  return line.empty() ? bytes : std::nullopt;
}

}  // namespace

void HistoryIndex::feed(std::string_view piece) {
  while (!piece.empty()) {
    if (skip_bytes_ > 0) {
      const uint64_t skipped = std::min<uint64_t>(skip_bytes_, piece.size());
      skip_bytes_ -= skipped;
      at_ += skipped;
      piece.remove_prefix(skipped);
      continue;
    }
    const size_t stop = piece.find('\n');
    cut_ += piece.substr(0, stop);
    if (stop == std::string_view::npos) {
      return;
    }
    piece.remove_prefix(stop + 1);
    const uint64_t begin = at_;
    at_ += cut_.size() + 1;
    line(cut_, begin);
    cut_.clear();
  }
}

void HistoryIndex::line(std::string_view text, uint64_t begin) {
  if (auto section = heading(text)) {
    end_message(begin);
    if (!sections_.empty()) {
      sections_.back().end = begin;
    }
    section->begin = begin;
    sections_.push_back(std::move(*section));
    return;
  }
  if (sections_.empty()) {
    return;
  }
  HistorySection& section = sections_.back();
  if (auto message = message_heading(text)) {
    end_message(begin);
    message->begin = begin;
    section.messages.push_back(std::move(*message));
  } else if (const auto bytes = block_bytes(text)) {
    skip_bytes_ = *bytes;
  } else if (text == "### Summary") {
    section.summary = true;
  } else if (section.written.empty() && !text.empty()) {
    section.written = text;
  }
}

void HistoryIndex::end_message(uint64_t at) {
  if (!sections_.empty() && !sections_.back().messages.empty()) {
    sections_.back().messages.back().end = at;
  }
}

void HistoryIndex::finish() {
  at_ += cut_.size();
  end_message(at_);
  if (!sections_.empty()) {
    sections_.back().end = at_;
  }
}

}  // namespace ebla::tools
