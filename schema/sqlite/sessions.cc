#include "schema/sqlite/sessions.h"

#include <fmt/format.h>

#include "schema/base/limits.h"
#include "schema/path.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

#define EBLA_SESSION_COLUMNS                                                          \
  "serial, id, key, label, uid, parent, tree, project, model, window, capabilities, " \
  "mount_prefix, created_ns, folder, history, closed_ns"

namespace ebla::sqlite {
namespace {

Error unknown_session(std::string text) {
  return {Code::unknown_session, std::move(text)};
}

Session to_session(const Statement& row) {
  Session session;
  session.serial = row.uint64(0);
  session.id = row.string(1);
  session.key = row.string(2);
  session.label = row.string(3);
  session.uid = static_cast<uint32_t>(row.int64(4));
  session.parent = row.uint64(5);
  session.tree = row.uint64(6);
  session.project = row.string(7);
  session.model = row.string(8);
  session.window = row.uint64(9);
  if (!row.is_null(10)) session.capabilities = row.string(10);
  session.mount_prefix = row.string(11);
  session.created_ns = row.int64(12);
  session.folder = row.uint64(13);
  session.history = row.uint64(14);
  session.closed_ns = row.int64(15);
  return session;
}

Result<void> load_settings(Database& db, Session& session) {
  auto rows =
      query(db, "SELECT name, value FROM session_settings WHERE session = ?", session.serial);
  if (!rows) return std::unexpected(std::move(rows.error()));
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return {};
    session.settings[rows->string(0)] = rows->string(1);
  }
}

// The session of the statement's first row; nullopt when there is none.
Result<std::optional<Session>> first_session(Database& db, Result<Statement> row) {
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  Session session = to_session(*row);
  if (auto loaded = load_settings(db, session); !loaded) {
    return std::unexpected(std::move(loaded.error()));
  }
  return session;
}

Result<std::optional<Session>> session_of_key(Database& db, uint32_t uid, std::string_view key) {
  if (key.empty()) return std::nullopt;
  return first_session(db, query(db,
                                 "SELECT " EBLA_SESSION_COLUMNS
                                 " FROM sessions WHERE uid = ? AND key = ? AND key <> x''",
                                 uid, key));
}

void apply_plan(Session& session, const SessionPlan& plan) {
  if (plan.label) session.label = *plan.label;
  if (plan.project) session.project = *plan.project;
  if (plan.model) session.model = *plan.model;
  if (plan.window) session.window = *plan.window;
  if (plan.capabilities) session.capabilities = plan.capabilities;
  if (plan.mount_prefix) session.mount_prefix = *plan.mount_prefix;
  for (const auto& [name, value] : plan.settings) {
    if (value == "null") {
      session.settings.erase(name);
    } else {
      session.settings[name] = value;
    }
  }
}

Result<void> store_settings(Database& db, SessionId session,
                            const std::map<std::string, std::string>& settings) {
  for (const auto& [name, value] : settings) {
    auto stored =
        value == "null"
            ? execute(db, "DELETE FROM session_settings WHERE session = ? AND name = ?", session,
                      name)
            : execute(db,
                      "INSERT INTO session_settings(session, name, value) VALUES(?, ?, ?) "
                      "ON CONFLICT(session, name) DO UPDATE SET value = excluded.value",
                      session, name, value);
    if (!stored) return stored;
  }
  return {};
}

// Makes or updates the row, but for the settings.
Result<void> store_session(Database& db, const Session& session) {
  auto row = db.prepare(
      "INSERT INTO sessions(" EBLA_SESSION_COLUMNS
      ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(serial) DO UPDATE SET "
      "label = excluded.label, project = excluded.project, model = excluded.model, "
      "window = excluded.window, capabilities = excluded.capabilities, "
      "mount_prefix = excluded.mount_prefix, closed_ns = excluded.closed_ns");
  if (!row) return std::unexpected(std::move(row.error()));
  row->bind(session.serial).bind_blob(session.id).bind_blob(session.key).bind_blob(session.label);
  row->bind(session.uid).bind(session.parent).bind(session.tree).bind_blob(session.project);
  row->bind_blob(session.model).bind(session.window);
  if (session.capabilities) {
    row->bind_blob(*session.capabilities);
  } else {
    row->bind_null();
  }
  row->bind_blob(session.mount_prefix).bind(session.created_ns);
  row->bind(session.folder).bind(session.history).bind(session.closed_ns);
  return row->run();
}

// Creation needs none: it is told by the session's own row.
Result<void> note_turn(Database& db, SessionId session, bool closed, int64_t now_ns) {
  auto id = next_id(db);
  if (!id) return std::unexpected(std::move(id.error()));
  return execute(db, "INSERT INTO session_events(id, session, closed, at_ns) VALUES(?, ?, ?, ?)",
                 *id, session, closed, now_ns);
}

Result<SessionOutcome> resume(Database& db, Session session, const SessionPlan& plan,
                              int64_t now_ns) {
  if (plan.parent != 0 && plan.parent != session.parent) {
    return fail(Code::conflict,
                fmt::format("session {} exists under another parent: leave parent out, or use "
                            "another key",
                            session.id));
  }
  const Session before = session;
  apply_plan(session, plan);
  if (session.closed_ns != 0) {
    session.closed_ns = 0;
    if (auto noted = note_turn(db, session.serial, false, now_ns); !noted) {
      return std::unexpected(std::move(noted.error()));
    }
  }
  if (session != before) {
    auto stored = store_session(db, session);
    if (stored) stored = store_settings(db, session.serial, plan.settings);
    if (!stored) return std::unexpected(std::move(stored.error()));
  }
  return SessionOutcome{.session = std::move(session), .created = false};
}

// Parents above the session, itself counted.
Result<uint64_t> depth_below(Database& db, SessionId parent) {
  auto row = query(db,
                   "WITH RECURSIVE above(serial) AS (VALUES(?) UNION ALL SELECT s.parent "
                   "FROM above a JOIN sessions s ON s.serial = a.serial WHERE s.parent <> 0) "
                   "SELECT count(*) FROM above",
                   parent);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  return row->uint64(0);
}

// All names that a session may ever use must be free: its folder, its history and the folder of
// its human messages.
Result<bool> session_id_free(Database& db, const std::string& id) {
  const std::string history = id + ".md";
  if (id.empty() || id == kMediaName || id == "." || id == ".." ||
      history.size() > limits::kNameBytes ||
      id.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    return false;
  }
  auto taken = exists(db, "SELECT 1 FROM sessions WHERE id IN (?, ?)", id, history);
  if (taken && !*taken && id != kDefaultSession) taken = name_taken(db, kResultsIno, id);
  if (taken && !*taken) taken = name_exists(db, kHistoriesIno, history);
  if (taken && !*taken) taken = name_exists(db, kHistoriesIno, id);
  if (!taken) return taken;
  return !*taken;
}

Result<SessionOutcome> create_session(Database& db, const SessionPlan& plan, const std::string& id,
                                      SessionId parent_tree, int64_t now_ns, ChangeSet& changes) {
  auto serial = next_id(db);
  if (!serial) return std::unexpected(std::move(serial.error()));
  Session session;
  session.serial = *serial;
  session.id = id;
  session.key = plan.key;
  session.uid = plan.uid;
  session.parent = plan.parent;
  session.tree = plan.parent == 0 ? *serial : parent_tree;
  session.created_ns = now_ns;
  session.folder = kResultsIno;
  apply_plan(session, plan);
  UsageDelta usage{.files = 1, .sessions = 1};
  if (id != kDefaultSession) {
    auto folder = make_node(db, kResultsIno, id,
                            {.kind = NodeKind::directory,
                             .mode = 0700,
                             .uid = plan.uid,
                             .gid = plan.gid,
                             .flags = kNodeFixed,
                             .session = *serial},
                            now_ns, changes);
    if (!folder) return std::unexpected(std::move(folder.error()));
    session.folder = *folder;
    usage.directories = 1;
  }
  auto history = make_node(db, kHistoriesIno, id + ".md",
                           {.kind = NodeKind::file,
                            .mode = 0400,
                            .uid = plan.uid,
                            .gid = plan.gid,
                            .flags = kNodeProtected,
                            .session = *serial},
                           now_ns, changes);
  if (!history) return std::unexpected(std::move(history.error()));
  session.history = *history;
  auto stored = store_session(db, session);
  if (stored) stored = store_settings(db, session.serial, session.settings);
  if (stored) stored = add_usage(db, session.tree, usage);
  if (!stored) return std::unexpected(std::move(stored.error()));
  changes.tree = session.tree;
  changes.session = session.serial;
  return SessionOutcome{.session = std::move(session), .created = true};
}

Result<void> close(Database& db, SessionId serial, int64_t now_ns, ChangeSet& changes) {
  auto session = load_session(db, serial);
  if (!session) return std::unexpected(std::move(session.error()));
  changes.tree = session->tree;
  changes.session = serial;
  if (session->closed_ns != 0) return {};
  session->closed_ns = now_ns;
  if (auto stored = store_session(db, *session); !stored) return stored;
  return note_turn(db, serial, true, now_ns);
}

Result<SessionOutcome> open_or_create(Database& db, const SessionPlan& plan, int64_t now_ns,
                                      ChangeSet& changes) {
  SessionId parent_tree = 0;
  if (plan.parent != 0) {
    auto parent = load_session(db, plan.parent);
    if (!parent) {
      if (parent.error().code != Code::unknown_session) {
        return std::unexpected(std::move(parent.error()));
      }
      return fail(Code::unknown_session, "the parent session does not exist: open it first");
    }
    parent_tree = parent->tree;
  }
  auto known = session_of_key(db, plan.uid, plan.key);
  if (!known) return std::unexpected(std::move(known.error()));
  if (*known) return resume(db, std::move(**known), plan, now_ns);
  if (plan.parent != 0) {
    auto depth = depth_below(db, plan.parent);
    if (!depth) return std::unexpected(std::move(depth.error()));
    if (*depth > limits::kSessionDepth) {
      return fail(Code::out_of_range,
                  fmt::format("a session has at most {} parents above it", limits::kSessionDepth));
    }
  }
  for (const std::string& id : plan.id_candidates) {
    auto free = session_id_free(db, id);
    if (!free) return std::unexpected(std::move(free.error()));
    if (*free) return create_session(db, plan, id, parent_tree, now_ns, changes);
  }
  return fail(Code::conflict, "every proposed session id is taken: try again");
}

}  // namespace

Result<Session> load_session(Database& db, SessionId serial) {
  auto session = first_session(
      db, query(db, "SELECT " EBLA_SESSION_COLUMNS " FROM sessions WHERE serial = ?", serial));
  if (!session) return std::unexpected(std::move(session.error()));
  if (!*session) {
    return std::unexpected(
        unknown_session(fmt::format("session number {} does not exist", serial)));
  }
  return std::move(**session);
}

Result<Session> session_brief(Database& db, SessionId serial) {
  auto row = query(db, "SELECT id, tree, folder, history FROM sessions WHERE serial = ?", serial);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return fail(Code::unknown_session, "the session does not exist: open it first");
  Session session;
  session.serial = serial;
  session.id = row->string(0);
  session.tree = row->uint64(1);
  session.folder = row->uint64(2);
  session.history = row->uint64(3);
  return session;
}

Result<Ino> find_messages_folder(Database& db, SessionId serial) {
  auto row = query(db, "SELECT messages FROM sessions WHERE serial = ?", serial);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  return *found ? row->uint64(0) : 0;
}

Result<Ino> messages_folder(Database& db, const Session& session, uint32_t uid, uint32_t gid,
                            int64_t now_ns, ChangeSet& changes) {
  auto folder = find_messages_folder(db, session.serial);
  if (!folder || *folder != 0) return folder;
  folder = make_node(db, kHistoriesIno, session.id,
                     {.kind = NodeKind::directory,
                      .mode = 0700,
                      .uid = uid,
                      .gid = gid,
                      .flags = kNodeFixed,
                      .session = session.serial},
                     now_ns, changes);
  if (!folder) return folder;
  auto kept =
      execute(db, "UPDATE sessions SET messages = ? WHERE serial = ?", *folder, session.serial);
  if (kept) kept = add_usage(db, session.tree, {.directories = 1});
  if (!kept) return std::unexpected(std::move(kept.error()));
  return folder;
}

std::string artifact_path(ArtifactKind kind, std::string_view session_id, std::string_view name) {
  if (kind == ArtifactKind::human) return fmt::format("{}/{}/{}", kHistoryFolder, session_id, name);
  if (kind == ArtifactKind::media) return fmt::format("{}/{}/{}", kHistoryFolder, kMediaName, name);
  if (session_id == kDefaultSession) return fmt::format("{}/{}", kResultsFolder, name);
  return fmt::format("{}/{}/{}", kResultsFolder, session_id, name);
}

std::string history_path(std::string_view session_id) {
  return fmt::format("{}/{}.md", kHistoryFolder, session_id);
}

void SqliteStore::open_session(SessionPlan plan, ChangeOptions options,
                               Completion<SessionOutcome> done) {
  change(options, Growth::yes, std::move(done),
         [this, plan = std::move(plan)](Database& db, ChangeSet& changes) {
           return open_or_create(db, plan, now_ns(), changes);
         });
}

void SqliteStore::close_session(SessionId serial, ChangeOptions options, Completion<void> done) {
  change(options, Growth::yes, std::move(done), [this, serial](Database& db, ChangeSet& changes) {
    return close(db, serial, now_ns(), changes);
  });
}

Result<Session> SqliteStore::session(SessionId serial) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto snapshot = Snapshot::begin(**reader);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  return load_session(**reader, serial);
}

Result<Session> SqliteStore::find_session(uint32_t uid, std::string_view id_or_key) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto snapshot = Snapshot::begin(**reader);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  auto found = first_session(
      **reader,
      query(**reader, "SELECT " EBLA_SESSION_COLUMNS " FROM sessions WHERE id = ?", id_or_key));
  if (found && !*found) found = session_of_key(**reader, uid, id_or_key);
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) {
    return std::unexpected(unknown_session("no session has this id or key: open it first"));
  }
  return std::move(**found);
}

Result<std::vector<Session>> SqliteStore::list_sessions(std::string_view project,
                                                        std::string_view after_id, size_t limit) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto snapshot = Snapshot::begin(**reader);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  const auto most = static_cast<int64_t>(std::min<uint64_t>(limit, INT64_MAX));
  auto rows =
      project.empty()
          ? query(**reader,
                  "SELECT " EBLA_SESSION_COLUMNS " FROM sessions WHERE id > ? ORDER BY id LIMIT ?",
                  after_id, most)
          : query(**reader,
                  "SELECT " EBLA_SESSION_COLUMNS
                  " FROM sessions WHERE project = ? AND id > ? ORDER BY id LIMIT ?",
                  project, after_id, most);
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::vector<Session> sessions;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return sessions;
    sessions.push_back(to_session(*rows));
    if (auto loaded = load_settings(**reader, sessions.back()); !loaded) {
      return std::unexpected(std::move(loaded.error()));
    }
  }
}

}  // namespace ebla::sqlite
