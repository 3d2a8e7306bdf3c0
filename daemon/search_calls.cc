#include "daemon/search_calls.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "daemon/methods/params.h"
#include "daemon/reading.h"
#include "daemon/session_service.h"
#include "daemon/tree_paths.h"
#include "schema/path.h"

namespace ebla::daemon {
namespace {

constexpr int64_t kMostHits = 100'000;

// Folders and histories of some sessions.
struct Places {
  std::set<Ino> folders;
  std::set<Ino> histories;
  std::set<std::string> ids;
};

Result<Places> places_of_tree(const MethodCall& call, const Session& session) {
  Places places;
  Store& store = call.services().store;
  const auto shared = store.find_session(session.uid, kDefaultSession);
  std::string after;
  for (;;) {
    auto page = store.list_sessions("", after, limits::kListEntries);
    if (!page) return std::unexpected(std::move(page.error()));
    for (const Session& one : *page) {
      if (one.tree != session.tree && (!shared || one.serial != shared->serial)) continue;
      places.folders.insert(one.folder);
      places.histories.insert(one.history);
      places.ids.insert(one.id);
    }
    if (page->size() < limits::kListEntries) return places;
    after = page->back().id;
  }
}

// Whether a session sees an entry: what belongs to a session, to one of its own; all else too.
bool in_places(const Places& places, const std::string& folder, const DirEntry& entry) {
  const bool fixed = (entry.attr.flags & kNodeFixed) != 0;
  if (folder == kResultsFolder) return !fixed || places.folders.contains(entry.attr.ino);
  if (folder != kHistoryFolder) return true;
  if (fixed) return places.ids.contains(entry.name);
  const bool history = (entry.attr.flags & (kNodeProtected | kNodeRemovable)) == kNodeProtected;
  return !history || places.histories.contains(entry.attr.ino);
}

// Another user than the daemon's sees what is its own, and the two folders on the way there.
bool may_read(bool owner, uid_t uid, const std::string& folder, const DirEntry& entry) {
  return owner || entry.attr.uid == uid || (folder == "/" && (entry.attr.flags & kNodeFixed) != 0);
}

}  // namespace

Result<SearchScope> search_scope(const MethodCall& call, const Json& params,
                                 const std::optional<Session>& session) {
  const bool owner = call.owner();
  const uid_t uid = call.uid();
  auto path = text_param(params, "path", SIZE_MAX);
  if (!path) return std::unexpected(std::move(path.error()));
  if (!path->empty()) {
    auto found = find_path(call, *path, session);
    if (!found) return std::unexpected(std::move(found.error()));
    return SearchScope{std::move(found->path), found->attr,
                       [owner, uid](const std::string& folder, const DirEntry& entry) {
                         return may_read(owner, uid, folder, entry);
                       }};
  }
  Store& store = call.services().store;
  auto root = store.getattr(store.root());
  if (!root) return std::unexpected(std::move(root.error()));
  std::shared_ptr<const Places> places;
  if (session) {
    auto found = places_of_tree(call, *session);
    if (!found) return std::unexpected(std::move(found.error()));
    places = std::make_shared<const Places>(*std::move(found));
  }
  return SearchScope{"/", *root,
                     [owner, uid, places](const std::string& folder, const DirEntry& entry) {
                       return may_read(owner, uid, folder, entry) &&
                              (places == nullptr || in_places(*places, folder, entry));
                     }};
}

SearchTools search_tools(const MethodCall& call) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(limits::kSearchBudgetMs);
  return {call.services().store, [&call] { return call.cancelled(); },
          [end] { return std::chrono::steady_clock::now() >= end; }};
}

Result<GrepRequest> grep_request(const Json& params, const context::Settings& settings,
                                 const std::optional<Session>& session) {
  GrepRequest request;
  auto pattern = text_param(params, "pattern", limits::kPatternBytes);
  if (!pattern) return std::unexpected(std::move(pattern.error()));
  request.pattern = *std::move(pattern);
  request.how = {flag_param(params, "regex"), flag_param(params, "ignore_case")};
  auto mode = text_param(params, "mode", SIZE_MAX);
  if (!mode) return std::unexpected(std::move(mode.error()));
  if (*mode == "files") {
    request.mode = GrepMode::files;
  } else if (*mode == "count") {
    request.mode = GrepMode::count;
  } else if (!mode->empty() && *mode != "content") {
    return fail(Code::invalid_params, fmt::format("mode: {} is none of content, files, count",
                                                  printable(mode->substr(0, 80))));
  }
  auto context = integer_param(params, "context", 0, 0, limits::kContextLines);
  if (!context) return std::unexpected(std::move(context.error()));
  request.context = static_cast<size_t>(*context);
  auto count = integer_param(params, "max_count", static_cast<int64_t>(settings.grep_max_count), 1,
                             kMostHits);
  if (!count) return std::unexpected(std::move(count.error()));
  request.max_count = static_cast<uint64_t>(*count);
  auto after = text_param(params, "after", SIZE_MAX);
  if (!after) return std::unexpected(std::move(after.error()));
  if (!after->empty()) {
    auto cursor = GrepCursor::parse(*after);
    if (!cursor) return std::unexpected(std::move(cursor.error()));
    request.start = *std::move(cursor);
  }
  request.budget = 4 * page_tokens(settings, session);
  return request;
}

Result<Glob> glob_param(const Json& params, const SearchScope& scope, std::string_view name) {
  auto text = text_param(params, name, SIZE_MAX);
  if (!text) return std::unexpected(std::move(text.error()));
  std::string_view pattern = *text;
  if (scope.path != "/" && pattern.starts_with(scope.path + "/")) {
    pattern.remove_prefix(scope.path.size());
  }
  return Glob::compile(pattern);
}

Result<std::string> key_param(const Json& params, std::string_view name) {
  auto text = text_param(params, name, SIZE_MAX);
  if (!text) return std::unexpected(std::move(text.error()));
  auto key = unescape_key(*text);
  if (key && (key->empty() || key->starts_with('/'))) return *std::move(key);
  return fail(Code::invalid_params, fmt::format("{}: {} is not what `next` of an answer said", name,
                                                printable(text->substr(0, 80))));
}

}  // namespace ebla::daemon
