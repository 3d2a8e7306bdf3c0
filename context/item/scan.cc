#include "context/item/scan.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "context/item/size_rule.h"
#include "context/text/clusters.h"
#include "context/text/error_lines.h"
#include "context/text/terminal_text.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr size_t kBinaryProbeBytes = 8192;
constexpr size_t kMaxCharacterBytes = 4;

// A line that is still growing: it may end in the head, the tail or among the error lines.
class OpenLine {
 public:
  explicit OpenLine(uint64_t number) : number_(number), shown_(kKeptLineChars) {}

  void feed(std::string_view bytes) {
    shown_.feed(bytes);
    if (probe_.size() < kErrorProbeBytes) {
      probe_.append(bytes.substr(0, kErrorProbeBytes - probe_.size()));
    }
  }
  uint64_t number() const { return number_; }
  std::string_view probe() const { return probe_; }
  KeptLine keep() const { return {number_, shown_.text(), shown_.cut()}; }

 private:
  uint64_t number_;
  TerminalLine shown_;
  std::string probe_;  // first raw bytes
};

// The last bytes of a stream.
class TailBuffer {
 public:
  explicit TailBuffer(size_t size) : size_(size) {}

  void feed(std::string_view bytes) {
    if (bytes.size() >= size_) {
      bytes_.assign(bytes.substr(bytes.size() - size_));
      return;
    }
    // Twice the room, so that the move to the front is rare.
    if (bytes_.size() + bytes.size() > 2 * size_) bytes_.erase(0, bytes_.size() - size_);
    bytes_.append(bytes);
  }
  std::string_view last(size_t count) const {
    const std::string_view all = bytes_;
    return all.substr(all.size() - std::min({count, size_, all.size()}));
  }

 private:
  size_t size_;
  std::string bytes_;
};

// Offset of the first of the last `characters` characters; the text may begin within one, whose
// bytes then count as invalid.
size_t last_characters(std::string_view text, size_t characters) {
  const size_t total = utf8::count(text);
  size_t skip = total - std::min(total, characters);
  size_t at = 0;
  while (skip > 0) {
    at += utf8::decode(text.substr(at)).length;
    --skip;
  }
  return at;
}

size_t last_newline(std::string_view bytes) {
  const void* at = memrchr(bytes.data(), '\n', bytes.size());
  return at == nullptr ? std::string_view::npos
                       : static_cast<size_t>(static_cast<const char*>(at) - bytes.data());
}

}  // namespace

struct ContentScan::State {
  explicit State(ScanOptions o)
      : options(o), tail_bytes(std::max(o.edge_bytes, o.tail_characters * kMaxCharacterBytes)) {}

  void feed_lines(std::string_view bytes);
  void feed_whole_lines(std::string_view bytes);
  void find_errors(std::string_view bytes);
  void close_line();
  void keep_tail(KeptLine line);
  void keep_error(ErrorTier tier, KeptLine line);
  bool wants_errors() const { return errors.size() < limits::kPreviewErrorLines; }
  void choose_errors();

  ScanOptions options;
  SizeCounter sizes;
  Hasher128 hasher;
  Hash128 hash;
  bool early_nul = false;
  uint64_t closed_lines = 0;
  std::optional<OpenLine> open;
  std::vector<KeptLine> head;
  std::deque<KeptLine> ring;          // the last lines that are closed
  std::vector<KeptLine> tail;         // of the ring, at the end
  std::vector<KeptLine> errors;       // the first that are errors
  std::vector<KeptLine> mentions;     // the first that only speak of one
  std::vector<KeptLine> error_lines;  // of both, at the end
  std::string head_bytes;
  TailBuffer tail_bytes;
};

ContentScan::ContentScan(ScanOptions options) : state_(std::make_unique<State>(options)) {}
ContentScan::~ContentScan() = default;
ContentScan::ContentScan(ContentScan&&) noexcept = default;
ContentScan& ContentScan::operator=(ContentScan&&) noexcept = default;

void ContentScan::feed(std::string_view bytes) {
  State& s = *state_;
  const uint64_t before = s.sizes.sums().bytes;
  if (before < kBinaryProbeBytes) {
    const std::string_view probe = bytes.substr(0, kBinaryProbeBytes - before);
    s.early_nul = s.early_nul || probe.find('\0') != std::string_view::npos;
  }
  s.hasher.update(bytes);
  s.sizes.feed(bytes);
  if (s.head_bytes.size() < s.options.edge_bytes) {
    s.head_bytes.append(bytes.substr(0, s.options.edge_bytes - s.head_bytes.size()));
  }
  s.tail_bytes.feed(bytes);
  s.feed_lines(bytes);
}

void ContentScan::State::feed_lines(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!open && closed_lines >= options.head_lines) {
      const size_t last = last_newline(bytes);
      if (last != std::string_view::npos) {
        feed_whole_lines(bytes.substr(0, last + 1));
        bytes.remove_prefix(last + 1);
        if (bytes.empty()) return;
      }
    }
    if (!open) open.emplace(closed_lines + 1);
    const size_t newline = bytes.find('\n');
    open->feed(bytes.substr(0, newline));
    if (newline == std::string_view::npos) return;
    close_line();
    bytes.remove_prefix(newline + 1);
  }
}

// Lines behind the head that lie wholly in one slice: only the last of them, and those that look
// like errors, are read as lines.
void ContentScan::State::feed_whole_lines(std::string_view bytes) {
  if (wants_errors()) find_errors(bytes);
  const uint64_t lines = count_newlines(bytes);
  std::vector<std::string_view> last;
  for (std::string_view rest = bytes; last.size() < options.tail_lines && !rest.empty();) {
    const std::string_view inner = rest.substr(0, rest.size() - 1);
    const size_t before = last_newline(inner);
    const size_t start = before == std::string_view::npos ? 0 : before + 1;
    last.push_back(inner.substr(start));
    rest = rest.substr(0, start);
  }
  uint64_t number = closed_lines + lines - last.size();
  while (!last.empty()) {
    OpenLine line(++number);
    line.feed(last.back());
    keep_tail(line.keep());
    last.pop_back();
  }
  closed_lines += lines;
}

void ContentScan::State::find_errors(std::string_view bytes) {
  uint64_t number = closed_lines + 1;  // of the line at `counted`
  size_t counted = 0;
  size_t from = 0;
  while (wants_errors()) {
    const size_t hit = find_error_word(bytes, from);
    if (hit == std::string_view::npos) return;
    const size_t before = last_newline(bytes.substr(0, hit));
    const size_t start = before == std::string_view::npos ? 0 : before + 1;
    const size_t end = bytes.find('\n', hit);
    number += count_newlines(bytes.substr(counted, start - counted));
    counted = start;
    const std::string_view line = bytes.substr(start, end - start);
    const ErrorTier tier = error_tier(line);
    if (tier != ErrorTier::none) {
      OpenLine kept(number);
      kept.feed(line);
      keep_error(tier, kept.keep());
    }
    from = end + 1;
  }
}

void ContentScan::State::close_line() {
  const uint64_t number = open->number();
  if (number <= options.head_lines) {
    head.push_back(open->keep());
  } else {
    const ErrorTier tier = wants_errors() ? error_tier(open->probe()) : ErrorTier::none;
    if (tier != ErrorTier::none) keep_error(tier, open->keep());
    keep_tail(open->keep());
  }
  closed_lines = number;
  open.reset();
}

void ContentScan::State::keep_tail(KeptLine line) {
  if (options.tail_lines == 0) return;
  if (ring.size() == options.tail_lines) ring.pop_front();
  ring.push_back(std::move(line));
}

void ContentScan::State::keep_error(ErrorTier tier, KeptLine line) {
  std::vector<KeptLine>& kept = tier == ErrorTier::error ? errors : mentions;
  if (kept.size() < limits::kPreviewErrorLines) kept.push_back(std::move(line));
}

// Errors come before mere mentions; lines that the tail shows anyway are left out.
void ContentScan::State::choose_errors() {
  const uint64_t end = tail.empty() ? UINT64_MAX : tail.front().number;
  for (std::vector<KeptLine>* kept : {&errors, &mentions}) {
    for (KeptLine& line : *kept) {
      if (line.number >= end || error_lines.size() == limits::kPreviewErrorLines) break;
      error_lines.push_back(std::move(line));
    }
  }
  std::sort(error_lines.begin(), error_lines.end(),
            [](const KeptLine& a, const KeptLine& b) { return a.number < b.number; });
}

void ContentScan::finish() {
  State& s = *state_;
  if (s.open) s.close_line();
  s.sizes.finish();
  s.hash = s.hasher.digest();
  s.tail.assign(std::make_move_iterator(s.ring.begin()), std::make_move_iterator(s.ring.end()));
  s.choose_errors();
}

const SizeSums& ContentScan::sums() const {
  return state_->sizes.sums();
}
Hash128 ContentScan::hash() const {
  return state_->hash;
}
bool ContentScan::valid_utf8() const {
  return state_->sizes.invalid_bytes() == 0;
}
bool ContentScan::final_newline() const {
  return state_->sizes.final_newline();
}
const std::vector<KeptLine>& ContentScan::head() const {
  return state_->head;
}
const std::vector<KeptLine>& ContentScan::tail() const {
  return state_->tail;
}
const std::vector<KeptLine>& ContentScan::error_lines() const {
  return state_->error_lines;
}

bool ContentScan::binary() const {
  return state_->early_nul || 2 * state_->sizes.invalid_bytes() > sums().bytes;
}

std::string_view ContentScan::tail_text() const {
  const size_t characters = state_->options.tail_characters;
  const std::string_view bytes = state_->tail_bytes.last(characters * kMaxCharacterBytes);
  return bytes.substr(last_characters(bytes, characters));
}

std::string_view ContentScan::head_edge() const {
  const uint64_t half = sums().bytes / 2;
  std::string_view edge = state_->head_bytes;
  edge = edge.substr(0, std::min<uint64_t>(edge.size(), half));
  return edge.substr(0, edge.size() - utf8::incomplete_tail(edge));
}

std::string_view ContentScan::tail_edge() const {
  const uint64_t half = sums().bytes - sums().bytes / 2;
  const std::string_view edge =
      state_->tail_bytes.last(std::min<uint64_t>(state_->options.edge_bytes, half));
  return edge.size() == sums().bytes ? edge : edge.substr(broken_start(edge));
}

}  // namespace ebla::context
