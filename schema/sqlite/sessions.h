// Sessions, on one connection. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "schema/base/clock.h"
#include "schema/change_set.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite {

inline constexpr std::string_view kDefaultSession = "default";

// unknown_session.
Result<Session> load_session(Database& db, SessionId serial);
// Serial, id, tree, folder and history alone: what most units need. unknown_session.
Result<Session> session_brief(Database& db, SessionId serial);
// The folder /conversation_history/ID of a session, made when there is none yet.
Result<Ino> messages_folder(Database& db, const Session& session, uint32_t uid, uint32_t gid,
                            int64_t now_ns, ChangeSet& changes);
// The one that is there; 0 for none.
Result<Ino> find_messages_folder(Database& db, SessionId serial);
// Path in the tree of a put-away file.
std::string artifact_path(ArtifactKind kind, std::string_view session_id, std::string_view name);
std::string history_path(std::string_view session_id);

}  // namespace ebla::sqlite
