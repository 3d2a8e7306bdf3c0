#include "schema/frame.h"

#include <fmt/format.h>

#include <algorithm>

namespace ebla {
namespace {

// Room that an idle connection may keep; thousands of them may be open.
constexpr size_t kKeptLineBytes = size_t{64} * 1024;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

FrameReader::FrameReader(FrameSink& sink, size_t line_limit_bytes)
    : sink_(sink), line_limit_(line_limit_bytes) {}

Result<void> FrameReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (in_blobs_) {
      const auto count = static_cast<size_t>(std::min<uint64_t>(blob_left_, bytes.size()));
      if (auto taken = sink_.on_blob(blob_, bytes.substr(0, count)); !taken) return taken;
      bytes.remove_prefix(count);
      blob_left_ -= count;
      if (auto skipped = skip_finished_blobs(); !skipped) return skipped;
      continue;
    }
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    // One byte more than the limit may be the CR of the line's end.
    const size_t total = line_.size() + piece.size();
    const bool ends_in_cr = piece.empty() ? line_.ends_with('\r') : piece.ends_with('\r');
    if (total > line_limit_ + 1 || (total > line_limit_ && !ends_in_cr)) {
      return fail(
          Code::too_large,
          fmt::format("a line has at most {} bytes: send long contents as blobs", line_limit_));
    }
    if (end == std::string_view::npos) {
      line_ += piece;
      return {};
    }
    bytes.remove_prefix(end + 1);
    if (line_.empty()) {
      if (auto ended = end_line(piece); !ended) return ended;
      continue;
    }
    line_ += piece;
    if (auto ended = end_line(line_); !ended) return ended;
    line_.clear();
    if (line_.capacity() > kKeptLineBytes) std::string().swap(line_);
  }
  return {};
}

bool FrameReader::in_frame() const {
  return in_blobs_ || !is_blank(line_);
}

Result<void> FrameReader::end_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (is_blank(line)) return {};
  auto sizes = sink_.on_line(line);
  if (!sizes) return std::unexpected(std::move(sizes.error()));
  blobs_ = std::move(*sizes);
  blob_ = 0;
  blob_left_ = blobs_.empty() ? 0 : blobs_.front();
  in_blobs_ = true;
  return skip_finished_blobs();
}

Result<void> FrameReader::skip_finished_blobs() {
  while (blob_left_ == 0 && blob_ < blobs_.size()) {
    ++blob_;
    if (blob_ < blobs_.size()) blob_left_ = blobs_[blob_];
  }
  if (blob_ < blobs_.size()) return {};
  in_blobs_ = false;
  return sink_.on_frame();
}

std::string encode_line(std::string_view object, const std::vector<std::string_view>& blobs) {
  if (blobs.empty()) return fmt::format("{}\n", object);
  const size_t close = object.rfind('}');
  const std::string_view members = object.substr(0, close);
  const bool none = members.find_first_not_of(" \t", 1) == std::string_view::npos;
  std::string frame(members);
  frame += none ? "\"blobs\":[" : ",\"blobs\":[";
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (i > 0) frame += ',';
    frame += std::to_string(blobs[i].size());
  }
  frame += "]}\n";
  return frame;
}

std::string encode_frame(std::string_view object, const std::vector<std::string_view>& blobs) {
  std::string frame = encode_line(object, blobs);
  size_t total = frame.size();
  for (const std::string_view blob : blobs) total += blob.size();
  frame.reserve(total);
  for (const std::string_view blob : blobs) frame += blob;
  return frame;
}

}  // namespace ebla
