// Sessions as the methods see them: found by id or key, made when they are missing, with the
// settings, doors and place that hold for them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "context/item/doors.h"
#include "context/settings.h"
#include "daemon/services.h"
#include "schema/model.h"

namespace ebla::daemon {

inline constexpr std::string_view kDefaultSession = "default";

// Who may use a session: `own` ones write; the daemon's user reads all.
enum class Access { read, write };

// Finds the session that a name means to this caller; unknown_session when there is none.
Result<Session> find_session(const MethodCall& call, std::string_view name, Access access);

// The session that the call names in `session`, or the default one; a missing one is made. `then`
// runs at once on this thread, or on a thread of the blocking pool after the new session is on
// disk. It may block only if the caller's thread may.
using WithSession = std::move_only_function<void(MethodCall, Session)>;
void with_session(MethodCall call, Access access, WithSession then);

// The session that the call names, made when it is missing if `create`, for a call that must not
// fail for the store's sake: on a thread that may wait, and no longer than store_patience(). An
// error of the store goes to `trouble`; what comes back then, or without `create`, has no serial
// and no tree. Errors: of the caller.
Result<Session> session_or_trouble(const MethodCall& call, bool create,
                                   std::optional<Error>& trouble);

// What a new session of this name is asked for.
SessionPlan session_plan(const MethodCall& call, std::string_view key, std::string_view label);

// Daemon's settings under those of the session's parents under its own.
Result<context::Settings> settings_of(const Services& services, const Session& session);

// Where the agent of a session sees a path of the tree; prefix "" when nothing shows it.
context::Location location_of(const Services& services, const Session& session,
                              std::string_view tree_path);
// The path there; "" when nothing shows it.
std::string host_path_of(const Services& services, const Session& session,
                         std::string_view tree_path);

std::string folder_path(const Session& session);
std::string history_path(const Session& session);

}  // namespace ebla::daemon
