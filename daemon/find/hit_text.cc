#include "daemon/find/hit_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "context/text/clusters.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::daemon {
namespace {

constexpr size_t npos = std::string_view::npos;
constexpr size_t kEscapeBytes = 4;  // \xHH
static_assert(limits::kContextReachBytes <= limits::kChunkBytes);

// One character of the file, or one byte that is none.
struct Unit {
  size_t at;
  size_t bytes;
  bool valid;
  size_t shown() const { return valid ? bytes : kEscapeBytes; }
};

std::vector<Unit> units_of(std::string_view text) {
  std::vector<Unit> units;
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded decoded = utf8::decode(text.substr(at));
    units.push_back({at, decoded.length, decoded.valid});
    at += decoded.length;
  }
  return units;
}

void append_shown(LineText& out, std::string_view text, const Unit& unit) {
  if (unit.valid) {
    out.text += text.substr(unit.at, unit.bytes);
  } else {
    out.text += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[unit.at]));
    out.marked = true;
  }
}

// Units [first, last): as many as `limit` bytes show, from `begin` on, then to both sides in turn.
std::pair<size_t, size_t> choose(const std::vector<Unit>& units, size_t begin, size_t match_end,
                                 size_t limit) {
  size_t first = begin;
  size_t last = begin;
  size_t shown = 0;
  const auto fits = [&](size_t unit) { return shown + units[unit].shown() <= limit; };
  while (last < units.size() && units[last].at < match_end && fits(last)) {
    shown += units[last++].shown();
  }
  bool left = true;
  bool right = true;
  while (left || right) {
    left = left && first > 0 && fits(first - 1);
    if (left) shown += units[--first].shown();
    right = right && last < units.size() && fits(last);
    if (right) shown += units[last++].shown();
  }
  return {first, last};
}

// `around` is a part of one line without its end; the match begins at `match` and has `length`.
LineText window(std::string_view around, size_t match, size_t length, size_t limit) {
  LineText out;
  if (around.size() <= limit && utf8::is_valid(around)) {
    out.text = around;
    out.end = around.size();
    return out;
  }
  const std::vector<Unit> units = units_of(around);
  const auto at = std::ranges::upper_bound(units, match, {}, &Unit::at);
  const auto begin = static_cast<size_t>(std::max<ptrdiff_t>(at - units.begin() - 1, 0));
  const auto [first, last] = choose(units, begin, match + length, limit);
  for (size_t i = first; i < last; ++i) append_shown(out, around, units[i]);
  out.column = first < units.size() ? units[first].at : 0;
  out.end = last < units.size() ? units[last].at : around.size();
  return out;
}

}  // namespace

Result<std::string_view> FileBlock::at(uint64_t offset, size_t bytes) {
  if (offset < start_ || offset + bytes > start_ + size_) {
    // Two chunks hold any span of one.
    bytes_.resize(2 * limits::kChunkBytes);
    start_ = offset / limits::kChunkBytes * limits::kChunkBytes;
    auto got = read_(start_, bytes_);
    size_ = got.value_or(0);
    if (!got) return std::unexpected(std::move(got.error()));
  }
  const uint64_t from = std::min(offset - start_, uint64_t{size_});
  return std::string_view(bytes_.data() + from, std::min<uint64_t>(bytes, size_ - from));
}

Result<LineText> match_text(FileBlock& file, const ScanMatch& match, size_t limit) {
  const ScanPlace& place = match.place;
  const uint64_t behind = std::min<uint64_t>(place.offset - place.line_start, limit + 3);
  uint64_t from = place.offset - behind;
  // As many bytes as can be shown, the line end, and a character's rest.
  auto got = file.at(from, static_cast<size_t>(behind) + limit + 4);
  if (!got) return std::unexpected(std::move(got.error()));
  std::string_view around = *got;
  const size_t line_end = around.find('\n', std::min<size_t>(behind, around.size()));
  bool whole_end = around.size() < behind + limit + 4;
  if (line_end != npos) {
    around = around.substr(0, line_end);
    if (around.ends_with('\r')) around.remove_suffix(1);
    whole_end = true;
  }
  if (from > place.line_start) {
    const size_t broken = context::broken_start(around);
    around.remove_prefix(broken);
    from += broken;
  }
  const auto start = static_cast<size_t>(place.offset - from);
  LineText out = window(around, std::min(start, around.size()),
                        static_cast<size_t>(std::min<uint64_t>(match.length, limit)), limit);
  out.line = place.line + 1;
  out.cut = !whole_end || out.end < around.size();
  out.column += from - place.line_start;
  out.end += from;
  return out;
}

Result<LineText> line_text(FileBlock& file, uint64_t line, uint64_t line_start, size_t limit) {
  return match_text(file, {{line - 1, line_start, line_start}, 0}, limit);
}

Result<std::vector<uint64_t>> lines_before(FileBlock& file, uint64_t line_start, size_t count) {
  std::vector<uint64_t> starts;
  const uint64_t reach = std::min<uint64_t>(line_start, limits::kContextReachBytes);
  const uint64_t from = line_start - reach;
  auto got = file.at(from, static_cast<size_t>(reach));
  if (!got) return std::unexpected(std::move(got.error()));
  std::string_view before = *got;
  while (!before.empty() && starts.size() < count) {
    before.remove_suffix(1);  // the line end
    const size_t end = before.rfind('\n');
    if (end == npos && from > 0) break;  // begins further away
    const size_t start = end + 1;        // npos + 1 is 0
    starts.push_back(from + start);
    before = before.substr(0, start);
  }
  std::ranges::reverse(starts);
  return starts;
}

Result<std::vector<uint64_t>> lines_after(FileBlock& file, uint64_t line_start, size_t count) {
  std::vector<uint64_t> starts;
  auto got = file.at(line_start, limits::kContextReachBytes);
  if (!got) return std::unexpected(std::move(got.error()));
  size_t at = 0;
  while (starts.size() < count) {
    const size_t end = got->find('\n', at);
    if (end == npos || end + 1 == got->size()) break;
    at = end + 1;
    starts.push_back(line_start + at);
  }
  return starts;
}

}  // namespace ebla::daemon
