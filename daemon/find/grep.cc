#include "daemon/find/grep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "context/item/size_rule.h"
#include "schema/base/json.h"

namespace ebla::daemon {
namespace {

// Lines of context around the hits of one file, each line once.
class Context {
 public:
  Context(FileBlock& file, size_t lines) : file_(file), lines_(lines) {}

  // What comes before a hit: rest of the last one's lines, then its own.
  Result<std::vector<LineText>> before(const ScanPlace& hit) {
    std::vector<LineText> out;
    if (lines_ == 0) return out;
    if (auto done = after_last(hit.line + 1, out); !done) return std::unexpected(done.error());
    auto starts = lines_before(file_, hit.line_start, lines_);
    if (!starts) return std::unexpected(std::move(starts.error()));
    uint64_t line = hit.line + 1 - starts->size();
    for (const uint64_t start : *starts) {
      if (auto done = add(line++, start, out); !done) return std::unexpected(done.error());
    }
    return out;
  }
  void hit(const ScanPlace& place) {
    last_ = place;
    shown_ = place.line + 1;
  }
  // What follows the last hit, up to line `end`.
  Result<void> after_last(uint64_t end, std::vector<LineText>& out) {
    if (lines_ == 0 || !last_) return {};
    auto starts = lines_after(file_, last_->line_start, lines_);
    if (!starts) return std::unexpected(std::move(starts.error()));
    uint64_t line = last_->line + 2;
    for (const uint64_t start : *starts) {
      if (line >= end) break;
      if (auto done = add(line++, start, out); !done) return done;
    }
    return {};
  }

 private:
  Result<void> add(uint64_t line, uint64_t start, std::vector<LineText>& out) {
    if (line <= shown_) return {};
    auto text = line_text(file_, line, start, limits::kHitBytes);
    if (!text) return std::unexpected(std::move(text.error()));
    out.push_back(*std::move(text));
    shown_ = line;
    return {};
  }

  FileBlock& file_;
  size_t lines_;
  std::optional<ScanPlace> last_;
  uint64_t shown_ = 0;  // number of the last line that was shown
};

class Grep {
 public:
  Grep(const SearchTools& tools, const SearchScope& scope, const GrepRequest& request,
       const Pattern& pattern)
      : tools_(tools), scope_(scope), request_(request), pattern_(pattern), left_(request.budget) {}

  Result<GrepReport> run() {
    TreeWalk walk(tools_.store, scope_.path, scope_.root, scope_.visible,
                  request_.start ? request_.start->key : "");
    for (;;) {
      if (tools_.cancelled()) return std::unexpected(cut_off());
      auto node = walk.next();
      if (!node) {
        report_.skipped.add(walk.unreadable(), node.error().code);
        continue;
      }
      if (!*node) return std::move(report_);
      if ((*node)->kind != NodeKind::file || !chosen(**node)) continue;
      if (tools_.out_of_time()) {
        report_.timed_out = true;
        report_.next = GrepCursor{(*node)->key(), start_of(**node)};
        return std::move(report_);
      }
      auto more = search(**node);
      if (!more) return std::unexpected(std::move(more.error()));
      if (!*more) return std::move(report_);
    }
  }

 private:
  bool chosen(const WalkNode& node) const {
    if (!request_.glob) return true;
    std::string_view path = node.path;
    path.remove_prefix(std::min(scope_.path.size(), path.size()));
    if (path.empty()) path = std::string_view(node.path).substr(node.path.rfind('/') + 1);
    while (path.starts_with('/')) path.remove_prefix(1);
    return request_.glob->matches(path, false);
  }

  ScanPlace start_of(const WalkNode& node) const {
    const bool here = request_.start && request_.start->key == node.key();
    return here ? request_.start->place : ScanPlace{};
  }

  ReadAt reader(Ino ino) const {
    return [this, ino](uint64_t offset, std::span<char> out) -> Result<size_t> {
      if (tools_.cancelled()) return std::unexpected(cut_off());
      return tools_.store.read(ino, offset, out);
    };
  }

  // False: the search is over.
  Result<bool> search(const WalkNode& node) {
    const ReadAt read = reader(node.ino);
    uint64_t lines = 0;
    auto done = request_.mode == GrepMode::content ? content(node, read) : lines_of(read, lines);
    if (!done) {
      if (tools_.cancelled()) return std::unexpected(cut_off());
      // A file that was removed meanwhile is just not there.
      if (done.error().code != Code::file_not_found) {
        report_.skipped.add(node.path, done.error().code);
      }
      return true;
    }
    if (done->end == ScanEnd::out_of_time) {
      report_.timed_out = true;
      const bool within = request_.mode == GrepMode::content;
      report_.next = GrepCursor{node.key(), within ? done->place : ScanPlace{}};
      return false;
    }
    ++report_.searched;
    if (lines == 0) return !report_.truncated;
    GrepFile file{node.path, request_.mode == GrepMode::count ? lines : 0};
    const bool fits = report_.files.size() < request_.max_count && pay(file.text());
    if (fits) {
      report_.files.push_back(std::move(file));
    } else {
      stop_at({node.key(), {}});
    }
    return fits;
  }

  // Lines of one file that match; in files mode the first is enough.
  Result<ScanResult> lines_of(const ReadAt& read, uint64_t& lines) {
    const bool all = request_.mode == GrepMode::count;
    return scanner_.scan(read, pattern_, {}, tools_.out_of_time,
                         [&lines, all](const ScanMatch&) -> Result<uint64_t> {
                           ++lines;
                           return all ? kNextLine : kStop;
                         });
  }

  Result<ScanResult> content(const WalkNode& node, const ReadAt& read) {
    FileBlock block(read);
    Context context(block, request_.context);
    auto done = scanner_.scan(
        read, pattern_, start_of(node), tools_.out_of_time,
        [&](const ScanMatch& match) { return on_match(node, match, block, context); });
    if (!done) return done;
    // Up to the hit that is not shown any more.
    const uint64_t end = report_.truncated ? report_.next->place.line + 1 : UINT64_MAX;
    std::vector<LineText> rest;
    if (auto added = context.after_last(end, rest); !added) {
      return std::unexpected(std::move(added.error()));
    }
    add_context(node, std::move(rest));
    return done;
  }

  Result<uint64_t> on_match(const WalkNode& node, const ScanMatch& match, FileBlock& block,
                            Context& context) {
    if (report_.hits >= request_.max_count) return stop_at({node.key(), match.place});
    // Two hits fit into the smallest page.
    const size_t limit = std::min<size_t>(limits::kHitBytes, request_.budget / 2);
    auto shown = match_text(block, match, limit);
    if (!shown) return std::unexpected(std::move(shown.error()));
    auto around = context.before(match.place);
    if (!around) return std::unexpected(std::move(around.error()));
    const uint64_t end = shown->end;
    const bool cut = shown->cut;
    GrepRow row{node.path, match.place.offset - match.place.line_start, *std::move(shown)};
    if (!pay(row.text()) && report_.hits > 0) return stop_at({node.key(), match.place});
    context.hit(match.place);
    add_context(node, *std::move(around));
    report_.rows.push_back(std::move(row));
    ++report_.hits;
    return cut ? end : kNextLine;
  }

  void add_context(const WalkNode& node, std::vector<LineText> lines) {
    for (LineText& line : lines) {
      GrepRow row{node.path, std::nullopt, std::move(line)};
      if (pay(row.text())) report_.rows.push_back(std::move(row));
    }
  }

  uint64_t stop_at(GrepCursor cursor) {
    report_.truncated = true;
    report_.next = std::move(cursor);
    return kStop;
  }

  // Takes the row's size off the budget; false where too little is left.
  bool pay(const std::string& row) {
    const uint64_t cost = context::units_of_text(row) + 1;
    if (cost > left_) return false;
    left_ -= cost;
    return true;
  }

  const SearchTools& tools_;
  const SearchScope& scope_;
  const GrepRequest& request_;
  const Pattern& pattern_;
  uint64_t left_;
  FileScanner scanner_;
  GrepReport report_;
};

}  // namespace

std::string GrepRow::text() const {
  const char mark = column ? ':' : '-';
  std::string out = fmt::format("{}{}{}{}", printable(path), mark, shown.line, mark);
  const bool window = shown.column > 0 || shown.cut;
  if (window && column) out += fmt::format("[column {}] ", *column);
  if (shown.column > 0) out += "\u2026";
  out += shown.text;
  if (shown.cut) out += "\u2026";
  return out;
}

std::string GrepFile::text() const {
  return lines == 0 ? printable(path) : fmt::format("{}:{}", printable(path), lines);
}

std::string GrepCursor::text() const {
  return fmt::format("{}:{}:{}:{}", place.line, place.line_start, place.offset, escape_key(key));
}

Result<GrepCursor> GrepCursor::parse(std::string_view text) {
  const auto refuse = [text] {
    return fail(Code::invalid_params, fmt::format("after: {} is not what `next` of an answer said",
                                                  printable(text.substr(0, 80))));
  };
  GrepCursor cursor;
  for (uint64_t* number : {&cursor.place.line, &cursor.place.line_start, &cursor.place.offset}) {
    const char* end = text.data() + text.size();
    const auto [rest, fault] = std::from_chars(text.data(), end, *number);
    if (fault != std::errc() || rest == end || *rest != ':') return refuse();
    text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  }
  const ScanPlace& place = cursor.place;
  const bool fits = place.line <= place.line_start && place.line_start <= place.offset &&
                    place.offset <= limits::kFileBytes;
  auto key = unescape_key(text);
  if (!fits || !key || !key->starts_with('/')) return refuse();
  cursor.key = *std::move(key);
  return cursor;
}

Result<GrepReport> grep(const SearchTools& tools, const SearchScope& scope,
                        const GrepRequest& request) {
  auto pattern = Pattern::compile(request.pattern, request.how);
  if (!pattern) return std::unexpected(std::move(pattern.error()));
  return Grep(tools, scope, request, *pattern).run();
}

}  // namespace ebla::daemon
