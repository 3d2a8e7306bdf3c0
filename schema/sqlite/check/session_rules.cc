// Sessions that others speak of, and the counters of their trees.
#include <array>

#include <fmt/format.h>

#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/check/rule.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite::check {
namespace {

struct Found {
  int64_t ino = 0;
  std::string name;
  int64_t uid = 0;
};

// The node of this kind that was made for the session and lies in the folder.
Result<Found> node_of_session(Database& db, int64_t folder, int64_t session, int kind) {
  auto row = query(db,
                   "SELECT i.ino, d.name, i.uid FROM dentries d JOIN inodes i ON i.ino = d.ino "
                   "WHERE d.parent = ? AND i.session = ? AND i.kind = ? AND i.flags & 9 LIMIT 1",
                   folder, session, kind);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return Found{};
  return Found{row->int64(0), row->string(1), row->int64(2)};
}

Result<int64_t> node_for_session(const Mend& mend, int64_t folder, const std::string& name,
                                 int64_t session, NodeKind kind, int64_t uid) {
  auto taken = find_entry(mend.db, static_cast<Ino>(folder), name);
  std::string free = name;
  for (int i = 2; taken; ++i) {
    if (taken->kind == kind && (taken->flags & (kNodeFixed | kNodeProtected)) != 0) {
      return static_cast<int64_t>(taken->ino);
    }
    free = fmt::format("{}.{}", name, i);
    taken = find_entry(mend.db, static_cast<Ino>(folder), free);
  }
  if (taken.error().code != Code::file_not_found) return std::unexpected(std::move(taken.error()));
  const bool is_folder = kind == NodeKind::directory;
  ChangeSet unseen;
  auto made = make_node(mend.db, static_cast<Ino>(folder), free,
                        {.kind = kind,
                         .mode = is_folder ? 0700u : 0400u,
                         .uid = static_cast<uint32_t>(uid),
                         .flags = is_folder ? kNodeFixed : kNodeProtected,
                         .session = static_cast<SessionId>(session)},
                        mend.now_ns, unseen);
  if (!made) return std::unexpected(std::move(made.error()));
  return static_cast<int64_t>(*made);
}

// Its row is gone: id and owner are those of its folder or history.
Result<bool> mend_session(const Mend& mend, const Offender& at) {
  auto history = node_of_session(mend.db, kHistoriesIno, at.id, 0);
  if (!history) return std::unexpected(std::move(history.error()));
  auto folder = node_of_session(mend.db, kResultsIno, at.id, 1);
  if (!folder) return std::unexpected(std::move(folder.error()));
  std::string id = folder->name;
  if (id.empty() && history->name.ends_with(".md")) {
    id = history->name.substr(0, history->name.size() - 3);
  }
  if (id.empty()) id = fmt::format("lost-{}", at.id);
  auto taken = exists(mend.db, "SELECT 1 FROM sessions WHERE id = ?", id);
  if (!taken) return taken;
  if (*taken) id = fmt::format("lost-{}", at.id);
  const int64_t uid = history->ino != 0 ? history->uid : folder->uid;
  auto done =
      execute(mend.db,
              "INSERT INTO sessions(serial, id, key, label, uid, parent, tree, project, "
              "model, window, mount_prefix, created_ns, folder, history, messages) "
              "VALUES(?1, ?2, x'', x'', ?3, 0, ifnull((SELECT tree FROM evictions WHERE "
              "session = ?1 LIMIT 1), ?1), x'', x'', 0, x'', ?4, ?5, ?6, 0)",
              at.id, id, uid, mend.now_ns,
              id == "default" ? static_cast<int64_t>(kResultsIno) : folder->ino, history->ino);
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

// Folder, history or folder of messages is none: what bears its name, else a new one.
Result<bool> mend_places(const Mend& mend, const Offender& at) {
  auto row = query(
      mend.db, "SELECT folder, history, messages, uid, id FROM sessions WHERE serial = ?", at.id);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found || !*found) return found;
  const int64_t uid = row->int64(3);
  const std::string id = row->string(4);
  int64_t places[3] = {row->int64(0), row->int64(1), row->int64(2)};
  if (auto end = row->run(); !end) return std::unexpected(std::move(end.error()));
  const char* good[3] = {"SELECT 1 FROM inodes WHERE ino = ? AND kind = 1",
                         "SELECT 1 FROM inodes WHERE ino = ? AND kind = 0 AND flags & 1",
                         "SELECT 1 FROM inodes WHERE ino = ? AND kind = 1"};
  for (int i = 0; i < 3; ++i) {
    if (i == 2 && places[i] == 0) continue;
    auto fine = exists(mend.db, good[i], places[i]);
    if (fine && !*fine) {
      auto gone = exists(mend.db, "SELECT 1 FROM inodes WHERE ino = ?", places[i]);
      if (!gone) return gone;
      if (!*gone && places[i] != 0) fine = restore_node(mend, places[i]);
    }
    if (!fine) return fine;
    if (*fine) continue;
    auto made =
        node_for_session(mend, i == 0 ? kResultsIno : kHistoriesIno, i == 1 ? id + ".md" : id,
                         at.id, i == 1 ? NodeKind::file : NodeKind::directory, uid);
    if (!made) return std::unexpected(std::move(made.error()));
    places[i] = *made;
  }
  auto done =
      execute(mend.db, "UPDATE sessions SET folder = ?, history = ?, messages = ? WHERE serial = ?",
              places[0], places[1], places[2], at.id);
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

constexpr const char* kNewestId =
    "(SELECT max(n) FROM (SELECT max(ino) n FROM inodes UNION ALL SELECT max(seq) FROM dentries "
    "UNION ALL SELECT max(key) >> 24 FROM chunks UNION ALL SELECT max(id) FROM evictions "
    "UNION ALL SELECT max(serial) FROM sessions UNION ALL SELECT max(id) FROM passes "
    "UNION ALL SELECT max(id) FROM sections UNION ALL SELECT max(id) FROM session_events "
    "UNION ALL SELECT 3))";

Result<bool> mend_counter(const Mend& mend, const Offender&) {
  static const std::string sql =
      fmt::format("INSERT INTO sqlite_sequence(name, seq) VALUES('inodes', {})", kNewestId);
  auto done = mend.db.exec("DELETE FROM sqlite_sequence WHERE name = 'inodes'");
  if (done) done = mend.db.exec(sql.c_str());
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

constexpr std::array kSessions = {
    Rule{.kind = "ids",
         .text = "the counter of numbers is behind: a new file could get the number of an old one",
         .select = "SELECT 1 WHERE ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'inodes'), "
                   "0) < (SELECT max(n) FROM (SELECT max(ino) n FROM inodes "
                   "UNION ALL SELECT max(seq) FROM dentries "
                   "UNION ALL SELECT max(key) >> 24 FROM chunks "
                   "UNION ALL SELECT max(id) FROM evictions UNION ALL SELECT max(serial) "
                   "FROM sessions UNION ALL SELECT max(id) FROM passes "
                   "UNION ALL SELECT max(id) FROM sections "
                   "UNION ALL SELECT max(id) FROM session_events)) "
                   "OR (SELECT count(*) FROM sqlite_sequence WHERE name = 'inodes') <> 1",
         .mend = mend_counter},
    Rule{.kind = "session",
         .text = "session {id} is not in the store, and others belong to it",
         .select =
             "SELECT n FROM (SELECT session n FROM inodes UNION SELECT session FROM evictions "
             "UNION SELECT session FROM sections UNION SELECT session FROM passes "
             "UNION SELECT parent FROM sessions UNION SELECT tree FROM sessions "
             "UNION SELECT tree FROM evictions UNION SELECT tree FROM contents "
             "UNION SELECT session FROM session_events) "
             "WHERE n <> 0 AND n NOT IN (SELECT serial FROM sessions)",
         .mend = mend_session},
    Rule{.kind = "session_places",
         .text = "session {a} has no folder, no history, or no folder of its messages",
         .select = "SELECT s.serial, 0, 0, NULL, s.id FROM sessions s "
                   "LEFT JOIN inodes f ON f.ino = s.folder AND f.kind = 1 "
                   "LEFT JOIN inodes h ON h.ino = s.history AND h.kind = 0 AND h.flags & 1 "
                   "LEFT JOIN inodes m ON m.ino = s.messages AND m.kind = 1 "
                   "WHERE f.ino IS NULL OR h.ino IS NULL OR (s.messages <> 0 AND m.ino IS NULL)",
         .mend = mend_places},
    Rule{.kind = "session_settings",
         .text = "setting {a} belongs to session {id}, which is not in the store",
         .select = "SELECT session, 0, 0, NULL, name FROM session_settings "
                   "WHERE session NOT IN (SELECT serial FROM sessions)",
         .mend_sql = "DELETE FROM session_settings WHERE session = ?1"},
    Rule{.kind = "session_closed",
         .text = "session {a} is closed, and its last event says that it is open",
         .select = "SELECT serial, 0, 0, NULL, id FROM sessions s WHERE closed_ns <> 0 AND "
                   "ifnull((SELECT closed FROM session_events e WHERE e.session = s.serial "
                   "ORDER BY id DESC LIMIT 1), 0) = 0",
         .mend_sql =
             "INSERT INTO session_events(id, session, closed, at_ns) SELECT "
             "ifnull(max(id), 0) + 1, ?1, 1, (SELECT closed_ns FROM sessions WHERE serial = "
             "?1) FROM session_events"},
    Rule{.kind = "session_open",
         .text = "session {a} is open, and its last event says that it was closed",
         .select = "SELECT serial, 0, 0, NULL, id FROM sessions s WHERE closed_ns = 0 AND "
                   "ifnull((SELECT closed FROM session_events e WHERE e.session = s.serial "
                   "ORDER BY id DESC LIMIT 1), 0) = 1",
         .mend_sql = "UPDATE sessions SET closed_ns = (SELECT max(at_ns, 1) FROM session_events "
                     "WHERE session = ?1 ORDER BY id DESC LIMIT 1) WHERE serial = ?1"},
};

// What the rows count up to, a row for each tree.
#define EBLA_REAL_USAGE                                                                       \
  "WITH trees(tree) AS (SELECT 0 UNION SELECT tree FROM sessions UNION SELECT tree FROM "     \
  "contents UNION SELECT tree FROM evictions UNION SELECT tree FROM usage), "                 \
  "n(tree, files, dirs, bytes) AS (SELECT ifnull(s.tree, 0), sum(kind <> 1), sum(kind = 1), " \
  "sum(size) FROM inodes i LEFT JOIN sessions s ON s.serial = i.session GROUP BY 1), "        \
  "c(tree, bytes) AS (SELECT tree, sum(size) FROM contents GROUP BY 1), "                     \
  "x(tree, bytes) AS (SELECT s.tree, sum(x.size) FROM sections x JOIN sessions s "            \
  "ON s.serial = x.session GROUP BY 1), "                                                     \
  "s(tree, count) AS (SELECT tree, count(*) FROM sessions GROUP BY 1), "                      \
  "e(tree, count) AS (SELECT tree, count(*) FROM evictions GROUP BY 1), "                     \
  "r AS (SELECT t.tree, ifnull(n.files, 0) files, ifnull(dirs, 0) directories, "              \
  "ifnull(n.bytes, 0) logical_bytes, ifnull(c.bytes, 0) + ifnull(x.bytes, 0) content_bytes, " \
  "ifnull(s.count, 0) sessions, ifnull(e.count, 0) evictions FROM trees t "                   \
  "LEFT JOIN n USING(tree) LEFT JOIN c USING(tree) LEFT JOIN x USING(tree) "                  \
  "LEFT JOIN s USING(tree) LEFT JOIN e USING(tree)) "

constexpr std::array kUsage = {
    Rule{.kind = "usage",
         .text =
             "the counters of session tree {id} are wrong: files, folders, bytes, stored bytes, "
             "sessions and decisions are {a}, said to be {b}",
         .select = EBLA_REAL_USAGE
         "SELECT r.tree, 0, 0, NULL, format('%d %d %d %d %d %d', r.files, r.directories, "
         "r.logical_bytes, r.content_bytes, r.sessions, r.evictions), format('%d %d %d %d %d %d', "
         "u.files, u.directories, u.logical_bytes, u.content_bytes, u.sessions, u.evictions) "
         "FROM r LEFT JOIN usage u USING(tree) WHERE "
         "(r.files, r.directories, r.logical_bytes, r.content_bytes, r.sessions, r.evictions) IS "
         "NOT "
         "(u.files, u.directories, u.logical_bytes, u.content_bytes, u.sessions, u.evictions) "
         "AND NOT (u.tree IS NULL AND r.files + r.directories + r.content_bytes + r.sessions + "
         "r.evictions = 0)",
         .mend_sql = EBLA_REAL_USAGE
         "INSERT INTO usage(tree, files, directories, logical_bytes, content_bytes, sessions, "
         "evictions) SELECT * FROM r WHERE tree = ?1 ON CONFLICT(tree) DO UPDATE SET "
         "files = excluded.files, directories = excluded.directories, "
         "logical_bytes = excluded.logical_bytes, content_bytes = excluded.content_bytes, "
         "sessions = excluded.sessions, evictions = excluded.evictions"},
};

}  // namespace

Group session_rules() {
  return kSessions;
}
Group usage_rules() {
  return kUsage;
}

}  // namespace ebla::sqlite::check
