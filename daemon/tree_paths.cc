#include "daemon/tree_paths.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>
#include <vector>

#include "daemon/session_service.h"
#include "schema/path.h"

namespace ebla::daemon {
namespace {

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || folder == "/" || path[folder.size()] == '/');
}

// The path in the tree that a host path shows through `prefix`; nullopt when it lies elsewhere.
std::optional<std::string> through(std::string_view path, std::string_view prefix,
                                   std::string_view subtree) {
  while (prefix.size() > 1 && prefix.back() == '/') prefix.remove_suffix(1);
  if (prefix.empty() || !is_below(path, prefix)) return std::nullopt;
  const std::string_view rest = prefix == "/" ? path : path.substr(prefix.size());
  std::string shown = subtree == "/" ? std::string() : std::string(subtree);
  shown += rest;
  return shown.empty() ? "/" : shown;
}

bool names_tree(std::string_view path) {
  return is_below(path, kResultsFolder) || is_below(path, kHistoryFolder);
}

// The longest prefix wins, since a mount may lie below another.
std::string tree_path(const Services& services, std::string_view given, const Session* session,
                      std::optional<std::span<const PathAlias>> aliases = std::nullopt) {
  if (names_tree(given)) return std::string(given);
  if (std::string shown = services.mounts.tree_path_of(given); !shown.empty()) return shown;
  size_t best = 0;
  std::string path(given);
  const auto consider = [&](std::string_view prefix, std::string_view subtree) {
    if (prefix.size() <= best) return;
    if (auto shown = through(given, prefix, subtree)) {
      best = prefix.size();
      path = *std::move(shown);
    }
  };
  if (session != nullptr) consider(session->mount_prefix, "/");
  std::vector<PathAlias> stored;
  if (!aliases) {
    stored = services.store.path_aliases().value_or(std::vector<PathAlias>());
    aliases = stored;
  }
  for (const PathAlias& alias : *aliases) consider(alias.prefix, alias.subtree);
  return path;
}

// What the path means in the session's own folder; empty where that is the same.
std::string own_path(std::string_view path, const Session& session) {
  const std::string folder = folder_path(session);
  if (folder == kResultsFolder || !is_below(path, kResultsFolder)) return {};
  return folder + std::string(path.substr(kResultsFolder.size()));
}

std::string tombstone_text(const Tombstone& stone) {
  return fmt::format("it was removed at {} by uid {} ({}); it had {} bytes",
                     time_text(stone.removed_ns), stone.uid, printable(stone.reason), stone.size);
}

Result<Found> find_exact(const MethodCall& call, const std::string& path) {
  auto elements = split_path(path);
  if (!elements) return std::unexpected(elements.error());
  std::string clean = join_path(*elements);
  auto attr = resolve(call.services().store, clean);
  if (!attr) return std::unexpected(attr.error());
  if (!call.owner() && attr->uid != call.uid()) {
    return fail(Code::permission_denied,
                fmt::format("{} belongs to another user: only the files of your own sessions are "
                            "readable",
                            printable(clean)));
  }
  return Found{std::move(clean), *std::move(attr)};
}

}  // namespace

std::vector<std::string> meant_paths(const Services& services, std::string_view given,
                                     const std::optional<Session>& session) {
  if (given.size() > limits::kPathBytes) return {std::string(given)};
  std::vector<std::string> paths;
  std::string path = tree_path(services, given, session ? &*session : nullptr);
  std::string own = session ? own_path(path, *session) : std::string();
  if (!own.empty()) paths.push_back(std::move(own));
  paths.push_back(std::move(path));
  return paths;
}

std::string why_gone(Store& store, const std::string& path) {
  auto elements = split_path(path);
  if (!elements || elements->empty()) return {};
  const std::string name = std::move(elements->back());
  elements->pop_back();
  auto folder = resolve(store, join_path(*elements));
  if (!folder) return {};
  auto stone = store.tombstone(folder->ino, name);
  return stone && *stone ? tombstone_text(**stone) : std::string();
}

Result<Found> find_path(const MethodCall& call, std::string_view given,
                        const std::optional<Session>& session) {
  const std::vector<std::string> paths = meant_paths(call.services(), given, session);
  Result<Found> found = fail(Code::file_not_found, "");
  for (const std::string& path : paths) {
    found = find_exact(call, path);
    if (found || found.error().code != Code::file_not_found) return found;
  }
  for (const std::string& path : paths) {
    const std::string why = why_gone(call.services().store, path);
    if (why.empty()) continue;
    found.error().text += ": " + why;
    break;
  }
  return found;
}

bool lies_in_tree(const Services& services, std::string_view given, const Session& session,
                  std::optional<std::span<const PathAlias>> aliases) {
  if (given.empty() || given.size() > limits::kPathBytes) return false;
  if (given.front() != '/') return false;
  const std::string shown = tree_path(services, lexical_path(given), &session, aliases);
  return names_tree(shown) || is_below(shown, "/.ebla");
}

std::string time_text(int64_t wall_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = wall_ns / kSecond;
  int64_t rest = wall_ns % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  std::tm parts{};
  const std::time_t when = seconds;
  (void)gmtime_r(&when, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     rest);
}

}  // namespace ebla::daemon
