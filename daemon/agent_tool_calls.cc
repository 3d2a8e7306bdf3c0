// What the reading tools do. Each answer is text for a model and fits a page.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "context/item/size_rule.h"
#include "context/texts.h"
#include "context/tool_texts.h"
#include "daemon/agent_tools.h"
#include "daemon/lines.h"
#include "daemon/methods/params.h"
#include "daemon/reading.h"
#include "daemon/search_calls.h"
#include "daemon/tree_paths.h"

namespace ebla::daemon {
namespace {

namespace texts = context::texts;

// Of every page: what Ebla says beside the text itself.
constexpr uint64_t kFrameTokens = 50;
constexpr uint64_t kSmallestPageTokens = 16;
constexpr int64_t kListed = 100;  // entries of one page of ls and glob
constexpr size_t kMinutes = 16;   // of a time: 2026-01-31T12:34

struct PageSize {
  uint64_t tokens = 0;
  uint64_t lines = UINT64_MAX;
  uint64_t read_limit = 0;
};

Result<PageSize> page_size(const MethodCall& call, const Session& session) {
  auto settings = settings_for(call.services(), session);
  if (!settings) return std::unexpected(std::move(settings.error()));
  const uint64_t tokens = page_tokens(*settings, session);
  PageSize size;
  size.tokens = std::max(kSmallestPageTokens, tokens - std::min(tokens, kFrameTokens));
  const uint64_t lines = settings->host_limit.lines;
  if (lines > 0) size.lines = lines > 4 ? lines - 3 : 1;
  size.read_limit = settings->read_limit;
  return size;
}

// A model often leaves the slash before a path out.
Json with_whole_path(const Json& arguments) {
  Json out = arguments;
  for (auto& [name, value] : out.members) {
    if (name == "path" && !value.text.empty() && !value.text.starts_with('/')) {
      value.text.insert(0, "/");
    }
  }
  return out;
}

Result<Found> find_argument(const MethodCall& call, const Session& session, const Json& arguments,
                            std::string_view fallback) {
  const Json* path = arguments.find("path");
  return find_path(call, path == nullptr || path->text.empty() ? fallback : path->text, session);
}

std::string_view lines_word(uint64_t number) {
  return texts::plural(number, "line", "lines");
}

// The first line of a page: which lines follow, of how many, and where it goes on.
std::string page_head(const Page& page, const PageRequest& request, uint64_t total) {
  std::vector<std::string> parts;
  if (!page.first || !page.last) {
    if (total > 0) parts.push_back(fmt::format(texts::kPageNone, total));
  } else {
    std::string range = *page.first == *page.last
                            ? fmt::format(texts::kPageLine, *page.first, total)
                            : fmt::format(texts::kPageLines, *page.first, *page.last, total);
    if (request.column > 0) range += fmt::format(texts::kPageColumn, request.column);
    parts.push_back(std::move(range));
  }
  if (page.next) {
    std::string next = fmt::format(texts::kPageNext, *page.next);
    if (page.next_column) next += fmt::format(texts::kPageNextColumn, *page.next_column);
    parts.push_back(std::move(next));
  }
  if (page.marked) parts.emplace_back(texts::kPageMarked);
  parts.insert(parts.end(), page.notes.begin(), page.notes.end());
  return fmt::format("[{}]\n", fmt::join(parts, "; "));
}

Result<PageRequest> page_request(const Json& arguments, const PageSize& size) {
  auto offset = integer_param(arguments, "offset", 0, INT64_MIN, INT64_MAX);
  if (!offset) return std::unexpected(std::move(offset.error()));
  auto limit =
      integer_param(arguments, "limit", static_cast<int64_t>(size.read_limit), 0, INT64_MAX);
  if (!limit) return std::unexpected(std::move(limit.error()));
  auto column = integer_param(arguments, "column", 0, 0, INT64_MAX);
  if (!column) return std::unexpected(std::move(column.error()));
  return PageRequest{.offset = *offset,
                     .limit = std::min(static_cast<uint64_t>(*limit), size.lines),
                     .column = static_cast<uint64_t>(*column),
                     .numbered = false,
                     .tokens = size.tokens};
}

// Adds lines as long as they fit; says how many did.
size_t add_lines(std::string& out, const std::vector<std::string>& lines, const PageSize& size) {
  uint64_t left = 4 * size.tokens;
  size_t added = 0;
  for (const std::string& line : lines) {
    const uint64_t cost = context::units_of_text(line) + 1;
    if (added == size.lines || (cost > left && added > 0)) break;
    left -= std::min(left, cost);
    out += line;
    out += '\n';
    ++added;
  }
  return added;
}

std::string unreadable(const Skipped& skipped) {
  if (skipped.count == 0) return {};
  std::string names;
  // A few are enough for a model; the count says how many there are.
  constexpr size_t kNamed = 3;
  constexpr size_t kNameBytes = 80;
  for (size_t i = 0; i < std::min(skipped.names.size(), kNamed); ++i) {
    const Skipped::Name& name = skipped.names[i];
    std::string path = printable(name.path);
    if (path.size() > kNameBytes)
      path = "\u2026" + printable(path.substr(path.size() - kNameBytes));
    names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", path, name.why);
  }
  if (skipped.count > kNamed) names += ", \u2026";
  return fmt::format(texts::kUnreadable, skipped.count,
                     texts::plural(skipped.count, "file", "files"), names);
}

std::vector<std::string> grep_lines(const GrepReport& report, bool grouped) {
  std::vector<std::string> lines;
  const GrepRow* before = nullptr;
  for (const GrepRow& row : report.rows) {
    const bool follows =
        before != nullptr && before->path == row.path && row.shown.line <= before->shown.line + 1;
    if (grouped && before != nullptr && !follows) lines.emplace_back("--");
    lines.push_back(row.text());
    before = &row;
  }
  for (const GrepFile& file : report.files) lines.push_back(file.text());
  return lines;
}

std::string nothing_found(const GrepRequest& request, const GrepReport& report,
                          const PageSize& size) {
  std::string out = fmt::format(fmt::runtime(request.how.regex ? texts::kNoMatch : texts::kNoHit),
                                report.searched, texts::plural(report.searched, "file", "files"));
  if (report.regex_hint) out += fmt::format("{}\n", texts::kRegexHint);
  if (report.nearest.empty()) return out;
  out += texts::kNearest;
  std::vector<std::string> lines;
  for (const GrepRow& row : report.nearest) lines.push_back(row.text());
  add_lines(out, lines, size);
  return out;
}

std::string grep_text(const GrepRequest& request, const GrepReport& report, const PageSize& size) {
  const std::vector<std::string> lines = grep_lines(report, request.context > 0);
  std::string out;
  // The rows were chosen to fit; a host may show fewer lines than that.
  const size_t added = add_lines(out, lines, size);
  const bool cut = added < lines.size();
  if (lines.empty() && !report.timed_out) out = nothing_found(request, report, size);
  if (report.timed_out) out += texts::kTimedOut;
  if (report.truncated || cut) {
    const uint64_t shown = cut || request.mode != GrepMode::content ? added : report.hits;
    const bool files = request.mode != GrepMode::content;
    out += fmt::format(texts::kStopped, shown,
                       files ? texts::plural(shown, "file", "files") : lines_word(shown));
  }
  return out + unreadable(report.skipped);
}

std::string entries_head(uint64_t shown, uint64_t total, const std::string& next) {
  return fmt::format(texts::kEntries, shown, total, texts::plural(total, "entry", "entries"),
                     next.empty() ? "" : fmt::format(texts::kNextAfter, next));
}

}  // namespace

Result<std::string> run_read_file(const MethodCall& call, const Session& session,
                                  const Json& arguments) {
  auto size = page_size(call, session);
  if (!size) return std::unexpected(std::move(size.error()));
  auto found = find_argument(call, session, with_whole_path(arguments), "");
  if (!found) return std::unexpected(std::move(found.error()));
  if (found->attr.kind == NodeKind::directory) {
    return fail(Code::is_directory, fmt::format(texts::kIsFolder, printable(found->path)));
  }
  if (auto file = check_file(*found); !file) return std::unexpected(std::move(file.error()));
  auto request = page_request(arguments, *size);
  if (!request) return std::unexpected(std::move(request.error()));
  const ReadAt read = reader_of(call, found->attr.ino);
  auto type = binary_type(read);
  if (!type) return std::unexpected(std::move(type.error()));
  if (!type->empty()) return fmt::format(texts::kPageBinary, *type, found->attr.size);
  auto index = index_of(call, found->attr, read);
  if (!index) return std::unexpected(std::move(index.error()));
  auto page = read_page(read, **index, *request);
  if (!page) {
    page.error().text = printable(found->path) + ": " + page.error().text;
    return std::unexpected(std::move(page.error()));
  }
  return page_head(*page, *request, (*index)->lines) + page->text;
}

Result<std::string> run_grep(const MethodCall& call, const Session& session,
                             const Json& arguments) {
  auto size = page_size(call, session);
  if (!size) return std::unexpected(std::move(size.error()));
  auto settings = settings_for(call.services(), session);
  if (!settings) return std::unexpected(std::move(settings.error()));
  auto request = grep_request(arguments, *settings, session);
  if (!request) return std::unexpected(std::move(request.error()));
  request->budget = 4 * size->tokens;
  const Json params = with_whole_path(arguments);
  auto scope = search_scope(call, params, session);
  if (!scope) return std::unexpected(std::move(scope.error()));
  if (arguments.find("glob") != nullptr) {
    auto glob = glob_param(arguments, *scope, "glob");
    if (!glob) return std::unexpected(std::move(glob.error()));
    request->glob = *std::move(glob);
  }
  const SearchTools tools = search_tools(call);
  auto report = grep(tools, *scope, *request);
  if (!report) return std::unexpected(std::move(report.error()));
  if (auto done = add_hints(tools, *scope, *request, *report); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return grep_text(*request, *report, *size);
}

Result<std::string> run_ls(const MethodCall& call, const Session& session, const Json& arguments) {
  auto size = page_size(call, session);
  if (!size) return std::unexpected(std::move(size.error()));
  auto found = find_argument(call, session, with_whole_path(arguments), "/");
  if (!found) return std::unexpected(std::move(found.error()));
  if (found->attr.kind != NodeKind::directory) {
    return fail(Code::not_directory,
                fmt::format("{}: not a folder; read_file reads it", printable(found->path)));
  }
  auto after = integer_param(arguments, "after", 0, 0, INT64_MAX);
  if (!after) return std::unexpected(std::move(after.error()));
  Store& store = call.services().store;
  auto entries = store.readdir(found->attr.ino, static_cast<uint64_t>(*after), kListed + 1);
  if (!entries) return std::unexpected(std::move(entries.error()));
  auto total = store.entry_count(found->attr.ino);
  if (!total) return std::unexpected(std::move(total.error()));

  std::vector<std::string> lines;
  for (const DirEntry& entry : *entries) {
    if (lines.size() == kListed) break;
    lines.push_back(fmt::format(
        "{:>10} {} {}{}", entry.attr.size, time_text(entry.attr.mtime_ns).substr(0, kMinutes),
        printable(entry.name), entry.attr.kind == NodeKind::directory ? "/" : ""));
  }
  std::string rows;
  const size_t added = add_lines(rows, lines, *size);
  const std::string next =
      added < entries->size() ? std::to_string((*entries)[added - 1].cookie) : "";
  return entries_head(added, *total, next) + rows;
}

Result<std::string> run_glob(const MethodCall& call, const Session& session,
                             const Json& arguments) {
  auto size = page_size(call, session);
  if (!size) return std::unexpected(std::move(size.error()));
  auto scope = search_scope(call, with_whole_path(arguments), session);
  if (!scope) return std::unexpected(std::move(scope.error()));
  auto glob = glob_param(arguments, *scope, "pattern");
  if (!glob) return std::unexpected(std::move(glob.error()));
  auto start = key_param(arguments, "after");
  if (!start) return std::unexpected(std::move(start.error()));
  auto report = glob_tree(search_tools(call), *scope, *glob, *start, kListed);
  if (!report) return std::unexpected(std::move(report.error()));

  std::vector<std::string> lines;
  for (const WalkNode& node : report->nodes) lines.push_back(printable(node.key()));
  std::string rows;
  const size_t added = add_lines(rows, lines, *size);
  std::string next = report->next ? escape_key(*report->next) : "";
  if (added < lines.size()) next = escape_key(report->nodes[added].key());
  std::string out = report->total == 0 && !report->timed_out
                        ? std::string(texts::kNoName)
                        : entries_head(added, report->total, next) + rows;
  if (report->timed_out) out += texts::kTimedOut;
  return out + unreadable(report->skipped);
}

}  // namespace ebla::daemon
