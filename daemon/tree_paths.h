// From the path that a caller gives to a node that it may read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/services.h"
#include "schema/model.h"

namespace ebla::daemon {

struct Found {
  std::string path;  // in the tree
  Attr attr;
};

// A path below a mount, a mount_prefix or a prefix that a stored text has used is taken as what it
// shows; with a session, its own folder stands for /large_tool_results. Refuses what the caller may
// not read. file_not_found explains a removed result.
Result<Found> find_path(const MethodCall& call, std::string_view given,
                        const std::optional<Session>& session);

// The paths in the tree that a caller may mean, the session's own one first. Not looked at yet.
std::vector<std::string> meant_paths(const Services& services, std::string_view given,
                                     const std::optional<Session>& session);
// When and by whom a put-away file of this path was removed; empty when nothing is known.
std::string why_gone(Store& store, const std::string& path);

// Whether a tool that read this path read something of Ebla's: results or histories, by their path
// in the tree or on the host.
// `aliases`: what the store says of them, where many paths are asked for; else it is asked.
bool lies_in_tree(const Services& services, std::string_view given, const Session& session,
                  std::optional<std::span<const PathAlias>> aliases = std::nullopt);

// UTC, to the nanosecond: 2026-01-31T12:34:56.123456789Z.
std::string time_text(int64_t wall_ns);

}  // namespace ebla::daemon
