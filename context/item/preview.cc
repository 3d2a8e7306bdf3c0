#include "context/item/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "context/item/size_rule.h"
#include "context/text/clusters.h"
#include "context/text/terminal_text.h"
#include "context/texts.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// A single long line is shown by its two ends.
constexpr size_t kLineStartChars = 550;
constexpr size_t kLineEndChars = 200;
// Below this a line says nothing, and the preview is left out.
constexpr uint64_t kMinRowUnits = 16;
// Columns of a line of an edge; more would let cursor moves cost too much.
constexpr size_t kEdgeColumns = 32 * limits::kKiB;
// What a human text's first lines get at least, however much its end takes.
constexpr uint64_t kMinHumanHeadUnits = 800;

struct Row {
  uint64_t number = 0;  // 0: a line of the frame
  std::string text;
  bool cut_before = false;
  bool cut_after = false;
};

const std::string& mark_of_cut() {
  static const std::string mark = texts::kCut;
  return mark;
}

Row truncated_row(uint64_t lines) {
  return {0, fmt::format(texts::kTruncated, lines, texts::plural(lines, "line", "lines")), false,
          false};
}

size_t digits(uint64_t number) {
  return std::to_string(number).size();
}

size_t gutter_width(const std::vector<Row>& rows) {
  uint64_t highest = 1;
  for (const Row& row : rows) highest = std::max(highest, row.number);
  return digits(highest);
}

// Units of all that is not content: gutters, frame lines, newlines.
uint64_t fixed_units(const std::vector<Row>& rows) {
  const uint64_t gutter = gutter_width(rows) + 2;
  uint64_t units = 0;
  for (const Row& row : rows) units += 1 + (row.number == 0 ? units_of_text(row.text) : gutter);
  return units;
}

void shorten(Row& row, size_t characters, uint64_t units) {
  const uint64_t mark = units_of_text(mark_of_cut());
  if (!row.cut_after && units_of_text(row.text) <= units && utf8::count(row.text) <= characters) {
    return;
  }
  const std::string_view kept = cut_end(row.text, characters - 1, units > mark ? units - mark : 0);
  row.cut_after = true;
  row.text.resize(kept.size());
}

// Cuts lines to one common length, the longest at which all fit. False when that is too little.
bool fit_rows(std::vector<Row>& rows, uint64_t units) {
  const uint64_t fixed = fixed_units(rows);
  std::vector<uint64_t> sizes;
  for (Row& row : rows) {
    if (row.number == 0) continue;
    shorten(row, limits::kPreviewLineChars, UINT64_MAX);
    sizes.push_back(units_of_text(row.text) + (row.cut_after ? units_of_text(mark_of_cut()) : 0));
  }
  if (fixed > units) return false;
  uint64_t room = units - fixed;
  std::sort(sizes.begin(), sizes.end());
  uint64_t longest = UINT64_MAX;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t share = room / (sizes.size() - i);
    if (sizes[i] > share) {
      longest = share;
      break;
    }
    room -= sizes[i];
  }
  if (longest < kMinRowUnits) return false;
  for (Row& row : rows) {
    if (row.number != 0) shorten(row, limits::kPreviewLineChars, longest);
  }
  return true;
}

std::string join(const std::vector<Row>& rows) {
  const size_t width = gutter_width(rows);
  std::string out;
  for (const Row& row : rows) {
    if (!out.empty()) out += '\n';
    if (row.number != 0) out += fmt::format(texts::kGutter, row.number, width);
    if (row.cut_before) out += mark_of_cut();
    out += row.text;
    if (row.cut_after) out += mark_of_cut();
  }
  return out;
}

Row row_of(const KeptLine& line) {
  return {line.number, line.text, false, line.cut};
}

struct Ends {
  size_t head = 0;
  size_t tail = 0;
  size_t errors = 0;
};

std::vector<Row> line_rows(const ContentScan& scan, Ends ends) {
  std::vector<Row> rows;
  rows.reserve(ends.head + ends.errors + ends.tail + 1);
  const auto& head = scan.head();
  const auto& tail = scan.tail();
  for (size_t i = 0; i < ends.head; ++i) rows.push_back(row_of(head[i]));
  const uint64_t hidden = scan.sums().lines - ends.head - ends.tail;
  if (hidden > 0) rows.push_back(truncated_row(hidden));
  for (size_t i = 0; i < ends.errors; ++i) rows.push_back(row_of(scan.error_lines()[i]));
  for (size_t i = tail.size() - ends.tail; i < tail.size(); ++i) rows.push_back(row_of(tail[i]));
  return rows;
}

// One step smaller: first without the errors, then a line less of the longer end.
bool step_down(Ends& ends) {
  if (ends.errors > 0) {
    --ends.errors;
  } else if (ends.head + ends.tail > 1) {
    --(ends.head > ends.tail ? ends.head : ends.tail);
  } else {
    return false;
  }
  return true;
}

enum class Side { start, end };

// Lines of a raw edge, numbered from `first`, as a terminal would show them. Of a line that has too
// many columns the given side is kept.
std::vector<Row> edge_rows(std::string_view edge, uint64_t first, Side side) {
  const size_t columns = std::min(edge.size(), kEdgeColumns);
  std::vector<Row> rows;
  while (!edge.empty()) {
    const size_t newline = edge.find('\n');
    TerminalLine line(columns);
    std::string_view bytes = edge.substr(0, newline);
    const bool cut = side == Side::end && bytes.size() > columns;
    if (cut) {
      bytes.remove_prefix(bytes.size() - columns);
      bytes.remove_prefix(broken_start(bytes));
    }
    line.feed(bytes);
    rows.push_back({first++, line.text(), cut, line.cut()});
    if (newline == std::string_view::npos) break;
    edge.remove_prefix(newline + 1);
  }
  return rows;
}

// Number of the line that a raw end of the content begins in.
uint64_t first_line_of(const ContentScan& scan, std::string_view end) {
  const uint64_t newlines = count_newlines(end);
  return scan.sums().lines - newlines + (scan.final_newline() ? 1 : 0);
}

// Keeps rows from the start while there is room; the last one is cut.
void keep_first(std::vector<Row>& rows, size_t characters, uint64_t units, uint64_t gutter) {
  size_t kept = 0;
  for (; kept < rows.size() && units > gutter + kMinRowUnits && characters > 0; ++kept) {
    Row& row = rows[kept];
    const uint64_t size = units_of_text(row.text);
    const size_t length = utf8::count(row.text);
    if (size + gutter > units || length > characters) {
      row.text.resize(cut_end(row.text, characters, units - gutter - 2).size());
      row.cut_after = true;
      ++kept;
      break;
    }
    units -= size + gutter;
    characters -= length;
  }
  rows.resize(kept);
}

void keep_last(std::vector<Row>& rows, size_t characters, uint64_t units, uint64_t gutter) {
  size_t kept = 0;
  for (; kept < rows.size() && units > gutter + kMinRowUnits && characters > 0; ++kept) {
    Row& row = rows[rows.size() - 1 - kept];
    const uint64_t size = units_of_text(row.text);
    const size_t length = utf8::count(row.text);
    if (size + gutter > units || length > characters) {
      row.text = std::string(cut_start(row.text, characters, units - gutter - 2));
      row.cut_before = true;
      ++kept;
      break;
    }
    units -= size + gutter;
    characters -= length;
  }
  rows.erase(rows.begin(), rows.end() - static_cast<ptrdiff_t>(kept));
}

// The frame line between what is shown of the start and the first row of the end.
void add_mark(std::vector<Row>& rows, const Row& next) {
  const Row& last = rows.back();
  if (next.number > last.number + 1) {
    rows.push_back(truncated_row(next.number - last.number - 1));
  } else if (last.cut_after || next.cut_before) {
    const uint64_t line = last.cut_after ? last.number : next.number;
    rows.push_back({0, fmt::format(texts::kTruncatedInLine, line), false, false});
  }
}

std::string edges(const ContentScan& scan, size_t head_chars, size_t tail_chars, uint64_t units,
                  size_t max_rows) {
  const std::string_view head_bytes = scan.head_edge();
  const std::string_view tail_bytes = scan.tail_edge();
  std::vector<Row> rows = edge_rows(head_bytes, 1, Side::start);
  std::vector<Row> tail = edge_rows(tail_bytes, first_line_of(scan, tail_bytes), Side::end);
  if (!rows.empty() && !head_bytes.ends_with('\n')) rows.back().cut_after = true;
  if (!tail.empty()) tail.front().cut_before = true;
  if (max_rows < 3) return "";
  const size_t half_rows = (max_rows - 1) / 2;
  if (rows.size() > half_rows) rows.resize(half_rows);
  if (tail.size() > half_rows) {
    tail.erase(tail.begin(), tail.end() - static_cast<ptrdiff_t>(half_rows));
  }
  const uint64_t gutter = digits(scan.sums().lines) + 3;
  const uint64_t mark = 48;  // the frame line between
  if (units < mark + 2 * (gutter + kMinRowUnits)) return "";
  keep_first(rows, head_chars, (units - mark) / 2, gutter);
  keep_last(tail, tail_chars, (units - mark) / 2, gutter);
  if (rows.empty() || tail.empty()) return "";
  add_mark(rows, tail.front());
  rows.insert(rows.end(), std::make_move_iterator(tail.begin()),
              std::make_move_iterator(tail.end()));
  return join(rows);
}

}  // namespace

std::string_view cut_end(std::string_view text, size_t characters, uint64_t units) {
  return text.substr(0, cluster_floor(text, longest_start(text, characters, units)));
}

std::string_view cut_start(std::string_view text, size_t characters, uint64_t units) {
  const size_t total_chars = utf8::count(text);
  const uint64_t total_units = units_of_text(text);
  size_t at = 0;
  size_t chars = total_chars;
  uint64_t left = total_units;
  while (at < text.size() && (chars > characters || left > units)) {
    const utf8::Decoded decoded = utf8::decode(text.substr(at));
    at += decoded.length;
    left -= decoded.valid ? units_of(decoded.code_point) : 2;
    --chars;
  }
  return text.substr(cluster_ceiling(text, at));
}

std::string preview_lines(const ContentScan& scan, PreviewLimits limits) {
  Ends ends{scan.head().size(), scan.tail().size(), scan.error_lines().size()};
  if (ends.head + ends.tail == 0) return "";
  const bool one_line = scan.sums().lines == 1 && ends.head == 1;
  if (one_line && utf8::count(scan.head()[0].text) > kLineStartChars + kLineEndChars) {
    return edges(scan, kLineStartChars, kLineEndChars, limits.units, limits.rows);
  }
  for (;;) {
    std::vector<Row> rows = line_rows(scan, ends);
    if (rows.size() <= limits.rows && fit_rows(rows, limits.units)) return join(rows);
    if (!step_down(ends)) return "";
  }
}

std::string preview_edges(const ContentScan& scan, PreviewLimits limits) {
  return edges(scan, SIZE_MAX, SIZE_MAX, limits.units, limits.rows);
}

std::string preview_human(const ContentScan& scan, PreviewLimits limits) {
  const std::string_view end = scan.tail_text();
  const uint64_t first = first_line_of(scan, end);
  std::vector<Row> tail = edge_rows(end, first, Side::end);
  const bool whole = end.size() == scan.sums().bytes;
  if (!tail.empty() && !whole) tail.front().cut_before = true;
  std::vector<Row> rows;
  // Lines before the one that the end begins in; the start of that one only where it is the first.
  for (const KeptLine& line : scan.head()) {
    if (line.number < first) rows.push_back(row_of(line));
  }
  if (rows.empty() && first == 1 && !whole && !scan.head().empty()) {
    const std::string_view start = scan.head()[0].text;
    const uint64_t before = scan.sums().characters - utf8::count(end);
    const size_t shown = std::min<uint64_t>(before, kLineStartChars);
    rows.push_back({1, std::string(cut_end(start, shown, UINT64_MAX)), false, true});
  }
  uint64_t tail_units = 0;
  for (const Row& row : tail) tail_units += units_of_text(row.text) + digits(row.number) + 3;
  const uint64_t room = limits.units > tail_units ? limits.units - tail_units : 0;
  if (!fit_rows(rows, std::max(room, kMinHumanHeadUnits))) rows.clear();
  if (!rows.empty() && !tail.empty()) add_mark(rows, tail.front());
  rows.insert(rows.end(), std::make_move_iterator(tail.begin()),
              std::make_move_iterator(tail.end()));
  return join(rows);
}

}  // namespace ebla::context
