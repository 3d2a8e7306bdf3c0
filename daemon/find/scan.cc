#include "daemon/find/scan.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "context/item/size_rule.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

constexpr size_t kSliceBytes = 1 * limits::kMiB;
// Bytes before the place to search from that stay in memory, for what looks back.
constexpr size_t kBehindBytes = 4;
constexpr size_t npos = std::string_view::npos;

uint64_t chunk_border(uint64_t offset) {
  return offset / limits::kChunkBytes * limits::kChunkBytes;
}

}  // namespace

// The file's bytes from base_ on are in memory; all that is counted in file offsets.
class FileScanner::Run {
 public:
  Run(std::vector<char>& memory, const ReadAt& read, const Pattern& pattern, ScanPlace from,
      const OnMatch& on_match)
      : memory_(memory),
        read_(read),
        pattern_(pattern),
        on_match_(on_match),
        counted_(from),
        resume_(from.offset) {
    // The line is seen from its start where that is not too far away.
    const uint64_t near = from.offset - std::min<uint64_t>(from.offset, limits::kRegexLineBytes);
    base_ = chunk_border(std::max(from.line_start, near));
    if (base_ < from.line_start) keep_ = from.line_start;
  }

  Result<ScanResult> go(const OutOfTime& out_of_time) {
    while (!at_end_) {
      if (out_of_time()) return ScanResult{ScanEnd::out_of_time, place_to_resume()};
      if (auto filled = fill(); !filled) return std::unexpected(std::move(filled.error()));
      const Region region = next_region();
      if (region.end == resume_ && !at_end_) continue;
      auto stopped = search(region);
      if (!stopped) return std::unexpected(std::move(stopped.error()));
      if (*stopped) return ScanResult{ScanEnd::stopped, {}};
    }
    return ScanResult{ScanEnd::whole, {}};
  }

 private:
  struct Region {
    uint64_t end = 0;   // matches must start before it
    uint64_t seen = 0;  // and end before this
  };

  uint64_t data_end() const { return base_ + size_; }
  std::string_view data(uint64_t from, uint64_t to) const {
    return {memory_.data() + (from - base_), static_cast<size_t>(to - from)};
  }

  // One slice more, behind what is still needed. Reads begin at the border of a chunk.
  Result<void> fill() {
    const auto drop =
        static_cast<size_t>(std::min<uint64_t>(keep_ - std::min(keep_, base_), size_));
    if (drop > 0) {
      std::memmove(memory_.data(), memory_.data() + drop, size_ - drop);
      base_ += drop;
      size_ -= drop;
    }
    if (memory_.size() < size_ + kSliceBytes) memory_.resize(size_ + kSliceBytes);
    auto got = read_(data_end(), {memory_.data() + size_, kSliceBytes});
    if (!got) return std::unexpected(std::move(got.error()));
    size_ += *got;
    at_end_ = *got < kSliceBytes;
    return {};
  }

  Region next_region() {
    const uint64_t end = data_end();
    if (at_end_) return {end, end};
    if (resume_ > end) return {resume_, resume_};
    if (pattern_.by_line()) {
      const size_t last = data(resume_, end).rfind('\n');
      if (last != npos) {
        const uint64_t border = resume_ + last + 1;
        return {border, border};
      }
      if (end - resume_ < limits::kRegexLineBytes) return {resume_, resume_};
    }
    const uint64_t overlap = std::min<uint64_t>(end, pattern_.reach() - 1);
    return {std::max(resume_, end - overlap), end};
  }

  // True: the caller wants no more.
  Result<bool> search(Region region) {
    if (resume_ >= region.end) return false;
    const std::string_view text = data(base_, region.seen);
    Finder finder(pattern_, text, static_cast<size_t>(resume_ - base_));
    while (resume_ < region.end) {
      if (skip_line_ && !skip_line(region.end)) break;
      const auto found = finder.next(static_cast<size_t>(resume_ - base_));
      if (!found || base_ + found->start >= region.end) break;
      const uint64_t start = base_ + found->start;
      count_to(start);
      auto next = on_match_({{counted_.line, counted_.line_start, start}, found->length});
      if (!next) return std::unexpected(std::move(next.error()));
      if (*next == kStop) return true;
      skip_line_ = *next == kNextLine;
      resume_ = skip_line_ ? start : std::max(*next, start + 1);
    }
    resume_ = std::max(resume_, region.end);
    count_to(region.end);
    keep_ = region.end - std::min<uint64_t>(region.end, kBehindBytes);
    return false;
  }

  // Goes to the line after the one that resume_ lies in; false if that begins behind `end`.
  bool skip_line(uint64_t end) {
    const size_t line_end = data(resume_, end).find('\n');
    if (line_end == npos) {
      resume_ = end;
      return false;
    }
    resume_ += line_end + 1;
    skip_line_ = false;
    return resume_ < end;
  }

  void count_to(uint64_t offset) {
    if (offset <= counted_.offset) return;
    const std::string_view passed = data(counted_.offset, offset);
    const uint64_t ends = context::count_newlines(passed);
    if (ends > 0) {
      counted_.line += ends;
      counted_.line_start = counted_.offset + passed.rfind('\n') + 1;
    }
    counted_.offset = offset;
  }

  ScanPlace place_to_resume() const {
    return {counted_.line, counted_.line_start, std::max(resume_, counted_.offset)};
  }

  std::vector<char>& memory_;
  const ReadAt& read_;
  const Pattern& pattern_;
  const OnMatch& on_match_;
  uint64_t base_ = 0;
  size_t size_ = 0;
  uint64_t keep_ = 0;       // what stands before may be dropped
  ScanPlace counted_;       // line ends are known up to here
  uint64_t resume_;         // where the next match may start
  bool skip_line_ = false;  // not before the line of resume_ has ended
  bool at_end_ = false;
};

FileScanner::FileScanner() = default;
FileScanner::~FileScanner() = default;

Result<ScanResult> FileScanner::scan(const ReadAt& read, const Pattern& pattern, ScanPlace from,
                                     const OutOfTime& out_of_time, const OnMatch& on_match) {
  return Run(memory_, read, pattern, from, on_match).go(out_of_time);
}

}  // namespace ebla::daemon
