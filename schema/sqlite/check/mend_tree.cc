#include <fmt/format.h>

#include "schema/model.h"
#include "schema/path.h"
#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite::check {
namespace {

constexpr int kNameTries = 10'000;

struct Home {
  int64_t folder = 0;
  std::string name;
};

// Where sessions, decisions and the store itself say that the node lies.
Result<std::optional<Home>> home_of(Database& db, int64_t ino) {
  auto row = query(
      db,
      "SELECT 1, CAST('large_tool_results' AS BLOB) WHERE ?1 = 2 UNION ALL "
      "SELECT 1, CAST('conversation_history' AS BLOB) WHERE ?1 = 3 UNION ALL "
      "SELECT 2, id FROM sessions WHERE folder = ?1 AND ?1 <> 2 UNION ALL "
      "SELECT 3, CAST(id || '.md' AS BLOB) FROM sessions WHERE history = ?1 UNION ALL "
      "SELECT 3, id FROM sessions WHERE messages = ?1 UNION ALL "
      "SELECT dir, name FROM evictions WHERE id = (SELECT eviction FROM inodes WHERE ino = ?1) "
      "AND ino = ?1 UNION ALL "
      "SELECT 3, CAST('media' AS BLOB) FROM inodes WHERE ino = ?1 AND kind = 1 AND session = 0 "
      "AND flags & 8 LIMIT 1",
      ino);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  Home home{row->int64(0), row->string(1)};
  auto folder = exists(db, "SELECT 1 FROM inodes WHERE ino = ? AND kind = 1", home.folder);
  if (!folder) return std::unexpected(std::move(folder.error()));
  if (!*folder || home.name.empty()) return std::nullopt;
  return home;
}

Result<bool> insert_node(const Mend& mend, int64_t ino, const char* select) {
  auto done = execute(mend.db, select, ino, mend.now_ns);
  if (!done) return std::unexpected(std::move(done.error()));
  return mend.db.changes() > 0;
}

}  // namespace

Result<int64_t> lost_folder(const Mend& mend) {
  std::string name(kLostFolder);
  for (int i = 2; i < kNameTries; ++i) {
    auto row = query(mend.db,
                     "SELECT i.ino, i.kind, i.flags FROM dentries d JOIN inodes i ON i.ino = d.ino "
                     "WHERE d.parent = ? AND d.name = ?",
                     kRootIno, name);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) break;
    if (row->int64(1) == 1 && row->int64(2) == 0) return row->int64(0);
    name = fmt::format("{}.{}", kLostFolder, i);
  }
  auto root = node_attr(mend.db, kRootIno);
  if (!root) return std::unexpected(std::move(root.error()));
  ChangeSet unseen;
  auto made =
      make_node(mend.db, kRootIno, name,
                {.kind = NodeKind::directory, .mode = 0700, .uid = root->uid, .gid = root->gid},
                mend.now_ns, unseen);
  if (!made) return std::unexpected(std::move(made.error()));
  return static_cast<int64_t>(*made);
}

Result<void> enter(const Mend& mend, int64_t folder, const std::string& name, int64_t ino) {
  std::string free = name;
  for (int i = 2; i < kNameTries; ++i) {
    auto taken = name_exists(mend.db, static_cast<Ino>(folder), free);
    if (!taken) return std::unexpected(std::move(taken.error()));
    if (!*taken) break;
    free = fmt::format("{}.{}", name, i);
  }
  auto seq = next_id(mend.db);
  if (!seq) return std::unexpected(std::move(seq.error()));
  auto done = execute(mend.db, "INSERT INTO dentries(parent, seq, name, ino) VALUES(?, ?, ?, ?)",
                      folder, *seq, free, ino);
  if (done) {
    done = execute(mend.db,
                   "UPDATE inodes SET parent = ?, seq = ?, nlink = max(nlink, 1), "
                   "change = change + 1 WHERE ino = ?",
                   folder, *seq, ino);
  }
  if (done) {
    done = execute(mend.db, "UPDATE inodes SET entries = entries + 1 WHERE ino = ?", folder);
  }
  return done;
}

Result<bool> restore_node(const Mend& mend, int64_t ino) {
  // From the surest witness on. Names and counts follow by the rules for them.
  for (const char* select :
       {// The two folders of the store itself.
        "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, atime_ns, mtime_ns, ctime_ns, flags) "
        "SELECT ?1, 1, 448, 2, uid, gid, ?2, ?2, ?2, 8 FROM inodes WHERE ino = 1 AND ?1 IN (2, 3)",
        // Folders of sessions, and histories.
        "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, session, atime_ns, mtime_ns, "
        "ctime_ns, flags) SELECT ?1, 1, 448, 2, s.uid, r.gid, serial, ?2, ?2, ?2, 8 "
        "FROM sessions s JOIN inodes r ON r.ino = 1 WHERE folder = ?1 OR messages = ?1 LIMIT 1",
        "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, session, atime_ns, mtime_ns, "
        "ctime_ns, flags) SELECT ?1, 0, 256, 1, s.uid, r.gid, serial, ?2, ?2, ?2, 1 "
        "FROM sessions s JOIN inodes r ON r.ino = 1 WHERE history = ?1 LIMIT 1",
        // Put-away files whose bytes are there. A node has the number of its decision, but for one
        // that was put away again.
        "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, size, content, hash, eviction, "
        "session, atime_ns, mtime_ns, ctime_ns, flags) SELECT ?1, 0, 256, 1, e.uid, r.gid, e.size, "
        "e.content, e.hash, e.id, CASE e.kind WHEN 4 THEN 0 ELSE e.session END, e.created_ns, "
        "e.created_ns, e.created_ns, CASE WHEN e.kind IN (1, 4) THEN 5 ELSE 7 END "
        "FROM evictions e JOIN inodes r ON r.ino = 1 WHERE e.ino = ?1 AND ?2 AND (e.size = 0 OR "
        "EXISTS "
        "(SELECT 1 FROM chunks WHERE key BETWEEN e.content << 24 AND (e.content << 24) + "
        "0xffffff)) ORDER BY e.id LIMIT 1",
        // Whatever has entries was a folder.
        "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, atime_ns, mtime_ns, ctime_ns) "
        "SELECT ?1, 1, 448, 2, r.uid, r.gid, ?2, ?2, ?2 FROM inodes r WHERE r.ino = 1 AND EXISTS "
        "(SELECT 1 FROM dentries WHERE parent = ?1)"}) {
    auto made = insert_node(mend, ino, select);
    if (!made || *made) return made;
  }
  return false;
}

Result<bool> give_name(const Mend& mend, int64_t ino) {
  auto home = home_of(mend.db, ino);
  if (!home) return std::unexpected(std::move(home.error()));
  if (*home) {
    auto in = enter(mend, (*home)->folder, (*home)->name, ino);
    if (!in) return std::unexpected(std::move(in.error()));
    return true;
  }
  auto empty = exists(mend.db,
                      "SELECT 1 FROM inodes WHERE ino = ?1 AND (kind = 0 AND size = 0 AND raw = 0 "
                      "OR kind = 1 AND NOT EXISTS (SELECT 1 FROM dentries WHERE parent = ?1))",
                      ino);
  if (!empty) return empty;
  Result<void> done;
  if (*empty) {
    done = execute(mend.db, "INSERT OR IGNORE INTO orphans(ino) VALUES(?)", ino);
    if (done) {
      done =
          execute(mend.db, "UPDATE inodes SET nlink = 0, parent = 0, seq = 0 WHERE ino = ?", ino);
    }
  } else {
    auto lost = lost_folder(mend);
    if (!lost) return std::unexpected(std::move(lost.error()));
    done = enter(mend, *lost, fmt::format("node-{}", ino), ino);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

Result<bool> adopt_content(const Mend& mend, int64_t content) {
  auto lost = lost_folder(mend);
  if (!lost) return std::unexpected(std::move(lost.error()));
  auto root = node_attr(mend.db, kRootIno);
  if (!root) return std::unexpected(std::move(root.error()));
  auto ino = next_id(mend.db);
  if (!ino) return std::unexpected(std::move(ino.error()));
  for (const char* sql :
       {"DELETE FROM contents WHERE content = ?", "DELETE FROM staged WHERE content = ?"}) {
    if (auto done = execute(mend.db, sql, content); !done) {
      return std::unexpected(std::move(done.error()));
    }
  }
  auto made = execute(mend.db,
                      "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, content, atime_ns, "
                      "mtime_ns, ctime_ns) VALUES(?1, 0, 384, 1, ?2, ?3, ?4, ?5, ?5, ?5)",
                      *ino, root->uid, root->gid, content, mend.now_ns);
  if (made) {
    made = enter(mend, *lost, fmt::format("content-{}", content), static_cast<int64_t>(*ino));
  }
  if (!made) return std::unexpected(std::move(made.error()));
  return settle_file(mend, static_cast<int64_t>(*ino));
}

}  // namespace ebla::sqlite::check
