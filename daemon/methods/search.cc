#include <optional>
#include <utility>

#include "context/tool_texts.h"
#include "daemon/json_views.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/reading.h"
#include "daemon/search_calls.h"
#include "daemon/session_service.h"

namespace ebla::daemon::methods {
namespace {

// Runs `work` on a thread that may wait, with the session that the call names, if any.
using SearchWork = void (*)(MethodCall call, const std::optional<Session>& session);
void search(MethodCall call, SearchWork work) {
  if (call.param("session") == nullptr) {
    return on_blocking_thread(std::move(call), [work](MethodCall on_thread) {
      work(std::move(on_thread), std::nullopt);
    });
  }
  with_session(std::move(call), Access::read, [work](MethodCall ready, Session session) {
    on_blocking_thread(std::move(ready),
                       [work, session = std::move(session)](MethodCall on_thread) {
                         work(std::move(on_thread), session);
                       });
  });
}

void write_skipped(JsonWriter& out, const Skipped& skipped) {
  if (skipped.count == 0) return;
  out.key("skipped").begin_object().member("count", skipped.count).key("files").begin_array();
  for (const Skipped::Name& name : skipped.names) {
    out.begin_object().member("path", name.path).member("error", name.why).end_object();
  }
  out.end_array().end_object();
}

void write_rows(JsonWriter& out, const std::vector<GrepRow>& rows) {
  out.begin_array();
  for (const GrepRow& row : rows) {
    out.begin_object().member("path", row.path).member("line", row.shown.line);
    if (row.column) out.member("column", *row.column);
    out.member("text", row.shown.text);
    if (row.shown.column > 0) out.member("text_column", row.shown.column);
    if (row.shown.cut) out.member("cut", true);
    if (row.shown.marked) out.member("encoding", "bytes");
    if (!row.column) out.member("context", true);
    out.end_object();
  }
  out.end_array();
}

std::string grep_reply(const GrepRequest& request, const SearchScope& scope,
                       const GrepReport& report) {
  JsonWriter out;
  out.begin_object().member("path", scope.path);
  if (request.mode == GrepMode::content) {
    write_rows(out.key("hits"), report.rows);
    out.member("count", report.hits);
  } else {
    out.key("files").begin_array();
    for (const GrepFile& file : report.files) {
      out.begin_object().member("path", file.path);
      if (request.mode == GrepMode::count) out.member("lines", file.lines);
      out.end_object();
    }
    out.end_array().member("count", uint64_t{report.files.size()});
  }
  out.member("searched", report.searched).member("truncated", report.truncated);
  out.member("timed_out", report.timed_out);
  if (report.next) out.member("next", report.next->text());
  write_skipped(out, report.skipped);
  if (report.regex_hint) out.member("hint", context::texts::kRegexHint);
  if (!report.nearest.empty()) write_rows(out.key("nearest"), report.nearest);
  out.end_object();
  return out.take();
}

void grep_tree(MethodCall call, const std::optional<Session>& session) {
  auto settings = settings_for(call.services(), session);
  if (!settings) return call.refuse(std::move(settings.error()));
  auto request = grep_request(call.params(), *settings, session);
  if (!request) return call.refuse(std::move(request.error()));
  auto scope = search_scope(call, call.params(), session);
  if (!scope) return call.refuse(std::move(scope.error()));
  if (call.param("glob") != nullptr) {
    auto glob = glob_param(call.params(), *scope, "glob");
    if (!glob) return call.refuse(std::move(glob.error()));
    request->glob = *std::move(glob);
  }
  const SearchTools tools = search_tools(call);
  auto report = grep(tools, *scope, *request);
  if (!report) return call.refuse(std::move(report.error()));
  if (auto done = add_hints(tools, *scope, *request, *report); !done) {
    return call.refuse(std::move(done.error()));
  }
  call.reply(grep_reply(*request, *scope, *report));
}

void list_matches(MethodCall call, const std::optional<Session>& session) {
  auto scope = search_scope(call, call.params(), session);
  if (!scope) return call.refuse(std::move(scope.error()));
  auto glob = glob_param(call.params(), *scope, "pattern");
  if (!glob) return call.refuse(std::move(glob.error()));
  auto start = key_param(call.params(), "after");
  if (!start) return call.refuse(std::move(start.error()));
  auto limit = integer_param(call, "limit", 100, 1, limits::kListEntries);
  if (!limit) return call.refuse(std::move(limit.error()));
  auto report = glob_tree(search_tools(call), *scope, *glob, *start, static_cast<size_t>(*limit));
  if (!report) return call.refuse(std::move(report.error()));

  JsonWriter out;
  out.begin_object().member("path", scope->path).key("entries").begin_array();
  for (const WalkNode& node : report->nodes) {
    out.begin_object()
        .member("path", node.path)
        .member("kind", kind_name(node.kind))
        .member("size", node.size)
        .member("mtime", time_text(node.mtime_ns))
        .end_object();
  }
  out.end_array().member("total", report->total).member("timed_out", report->timed_out);
  if (report->next) out.member("next", escape_key(*report->next));
  write_skipped(out, report->skipped);
  out.end_object();
  call.reply(out.take());
}

}  // namespace

void fs_grep(MethodCall call) {
  search(std::move(call), grep_tree);
}

void fs_glob(MethodCall call) {
  search(std::move(call), list_matches);
}

}  // namespace ebla::daemon::methods
