// Decisions: their files, and the keys by which they are found.
#include <array>

#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/check/rule.h"
#include "schema/sqlite/eviction_job.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sessions.h"

namespace ebla::sqlite::check {
namespace {

struct Row {
  int64_t tree = 0;
  int64_t kind = 0;
  std::string call_id;
  std::string hash;
  std::string replacement_hash;
  int64_t dir = 0;
  std::string name;
  int64_t ino = 0;
  int64_t size = 0;
  std::string session;
};

Result<std::optional<Row>> decision(Database& db, int64_t id) {
  auto row = query(db,
                   "SELECT e.tree, e.kind, e.call_id, e.hash, e.replacement_hash, e.dir, e.name, "
                   "e.ino, e.size, s.id FROM evictions e LEFT JOIN sessions s "
                   "ON s.serial = e.session WHERE e.id = ?",
                   id);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  return Row{row->int64(0), row->int64(1),  row->string(2), row->string(3), row->string(4),
             row->int64(5), row->string(6), row->int64(7),  row->int64(8),  row->string(9)};
}

Result<void> drop_keys(Database& db, int64_t id, int64_t tree, const std::string& hash) {
  return execute(db, "DELETE FROM eviction_keys WHERE tree = ? AND hash = ? AND eviction = ?", tree,
                 hash, id);
}

// The file is gone for good: as if it had been removed.
Result<bool> forget_file(const Mend& mend, int64_t id, const Row& row) {
  const std::string path =
      artifact_path(static_cast<ArtifactKind>(row.kind), row.session, row.name);
  auto done = execute(mend.db, "UPDATE evictions SET ino = 0 WHERE id = ?", id);
  if (done) {
    done =
        execute(mend.db,
                "INSERT INTO removed(parent, name, reserved, path, removed_ns, uid, reason, "
                "size) VALUES(?, ?, 1, ?, ?, 0, CAST('lost when the store was damaged' AS BLOB), "
                "?) ON CONFLICT(parent, name) DO UPDATE SET reserved = 1",
                row.dir, row.name, path, mend.now_ns, row.size);
  }
  if (done) done = write_keys(mend, id);
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

Result<bool> mend_file(const Mend& mend, const Offender& at) {
  auto row = decision(mend.db, at.id);
  if (!row) return std::unexpected(std::move(row.error()));
  if (!*row) return true;
  Row& e = **row;
  if (e.ino == 0) {
    // Perhaps only the number was lost, and the file lies in its place.
    auto there = query(mend.db,
                       "SELECT i.ino FROM dentries d JOIN inodes i ON i.ino = d.ino "
                       "WHERE d.parent = ? AND d.name = ? AND i.hash = ?",
                       e.dir, e.name, e.hash);
    if (!there) return std::unexpected(std::move(there.error()));
    auto found = there->step();
    if (!found) return found;
    if (!*found) return forget_file(mend, at.id, e);
    e.ino = there->int64(0);
  }
  auto sound = exists(mend.db,
                      "SELECT 1 FROM inodes i JOIN dentries d ON d.parent = i.parent "
                      "AND d.seq = i.seq AND d.ino = i.ino WHERE i.ino = ? AND i.hash IS NOT NULL",
                      e.ino);
  if (!sound) return sound;
  if (!*sound) return forget_file(mend, at.id, e);
  // The file is what can be read: the decision follows it.
  auto done = drop_keys(mend.db, at.id, e.tree, e.hash);
  if (done) {
    done = execute(mend.db,
                   "UPDATE evictions SET (ino, dir, name, content, hash, size) = (SELECT i.ino, "
                   "d.parent, d.name, i.content, i.hash, i.size FROM inodes i JOIN dentries d "
                   "ON d.parent = i.parent AND d.seq = i.seq WHERE i.ino = ?2) WHERE id = ?1",
                   at.id, e.ino);
  }
  if (done) {
    done = execute(mend.db,
                   "UPDATE inodes SET eviction = CASE WHEN session = 0 AND eviction IN (SELECT id "
                   "FROM evictions WHERE kind = 4) THEN eviction ELSE ?1 END WHERE ino = ?2",
                   at.id, e.ino);
  }
  if (done) done = write_keys(mend, at.id);
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

Result<bool> mend_keys(const Mend& mend, const Offender& at) {
  auto done = write_keys(mend, at.id);
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

constexpr std::array kDecisions = {
    Rule{.kind = "decision_file",
         .text = "the put-away file {a} is not where its decision says, or is another",
         .select =
             "SELECT id, 0, 0, NULL, name FROM evictions e WHERE ino <> 0 AND NOT EXISTS "
             "(SELECT 1 FROM dentries d JOIN inodes i ON i.ino = d.ino WHERE d.parent = e.dir "
             "AND d.name = e.name AND d.ino = e.ino AND (i.eviction = e.id OR e.kind = 4 "
             "AND i.session = 0) AND i.content = e.content AND i.hash = e.hash "
             "AND i.size = e.size)",
         .mend = mend_file},
    Rule{.kind = "decision_removed",
         .text = "the put-away file {a} is gone and nothing says why",
         .select = "SELECT id, 0, 0, NULL, name FROM evictions e WHERE ino = 0 AND NOT EXISTS "
                   "(SELECT 1 FROM removed r WHERE r.parent = e.dir AND r.name = e.name "
                   "AND r.reserved = 1)",
         .mend = mend_file},
    Rule{.kind = "decision_gone",
         .text = "{path} was put away by a decision that is not in the store",
         .select =
             "SELECT i.ino, 0, i.ino FROM inodes i LEFT JOIN evictions e ON e.id = i.eviction "
             "WHERE i.eviction <> 0 AND e.id IS NULL",
         .mend_sql = "UPDATE inodes SET eviction = 0 WHERE ino = ?1"},
    Rule{.kind = "medium_session",
         .text = "the medium {path} belongs to one session and is everybody's",
         .select = "SELECT i.ino, 0, i.ino FROM inodes i JOIN evictions e ON e.id = i.eviction "
                   "WHERE e.kind = 4 AND e.ino = i.ino AND i.session <> 0",
         .mend_sql = "UPDATE inodes SET session = 0 WHERE ino = ?1"},
    Rule{.kind = "medium_twice",
         .text = "{path} is a second file of one medium",
         .select = "SELECT content, 0, max(ino) FROM evictions WHERE kind = 4 AND ino <> 0 "
                   "GROUP BY content HAVING count(DISTINCT ino) > 1",
         .mend_sql = "UPDATE evictions SET (ino, dir, name) = (SELECT f.ino, f.dir, f.name FROM "
                     "evictions f WHERE f.kind = 4 AND f.ino <> 0 AND f.content = ?1 "
                     "ORDER BY f.ino LIMIT 1) WHERE kind = 4 AND ino <> 0 AND content = ?1"},
    Rule{.kind = "medium_decision",
         .text = "the medium {path} is not the file of its decision",
         .select = "SELECT i.ino, 0, i.ino FROM inodes i JOIN evictions e ON e.id = i.eviction "
                   "WHERE e.kind = 4 AND e.ino <> i.ino",
         .mend_sql = "UPDATE inodes SET eviction = 0, session = 0 WHERE ino = ?1"},
    Rule{.kind = "decision_keys",
         .text = "the decision about {a} is not found by its content or replacement",
         .select = "SELECT id, 0, 0, NULL, name FROM evictions e WHERE 2 <> (SELECT count(*) FROM "
                   "eviction_keys k WHERE k.tree = e.tree AND k.hash = e.hash AND k.key > 1 "
                   "AND k.eviction = e.id) + (SELECT count(*) FROM eviction_keys k WHERE "
                   "k.tree = e.tree AND k.hash = e.replacement_hash AND k.key = 0 "
                   "AND k.eviction = e.id) + (SELECT count(*) FROM eviction_keys k WHERE "
                   "k.tree = e.tree AND k.hash = e.hash AND k.key < 0 AND k.eviction = e.id)",
         .mend = mend_keys},
    Rule{.kind = "decision_file_key",
         .text = "the decision about {a} has a file and is not found by it, or the other way round",
         .select = "SELECT id, 0, 0, NULL, name FROM evictions e WHERE (ino <> 0) <> EXISTS "
                   "(SELECT 1 FROM eviction_keys k WHERE k.tree = e.tree AND k.hash = e.hash "
                   "AND k.key = 1 AND k.eviction = e.id)",
         .mend = mend_keys},
    Rule{.kind = "key",
         .text = "a key finds decision {id}, which is not in the store or is another",
         .select = "SELECT DISTINCT k.eviction FROM eviction_keys k LEFT JOIN evictions e "
                   "ON e.id = k.eviction WHERE e.id IS NULL OR k.tree <> e.tree OR k.hash <> "
                   "CASE k.key WHEN 0 THEN e.replacement_hash ELSE e.hash END",
         .mend_sql =
             "DELETE FROM eviction_keys WHERE (tree, hash, key, eviction) IN (SELECT k.tree, "
             "k.hash, k.key, k.eviction FROM eviction_keys k LEFT JOIN evictions e "
             "ON e.id = k.eviction WHERE e.id IS NULL OR k.tree <> e.tree OR k.hash <> "
             "CASE k.key WHEN 0 THEN e.replacement_hash ELSE e.hash END)",
         .at_once = true},
};

}  // namespace

Result<void> write_keys(const Mend& mend, int64_t eviction) {
  auto row = decision(mend.db, eviction);
  if (!row) return std::unexpected(std::move(row.error()));
  if (!*row) return {};
  const Row& e = **row;
  auto done = drop_keys(mend.db, eviction, e.tree, e.hash);
  if (done) done = drop_keys(mend.db, eviction, e.tree, e.replacement_hash);
  if (done) {
    done = execute(mend.db,
                   "INSERT INTO eviction_keys(tree, hash, key, eviction) VALUES(?1, ?2, ?3, ?5), "
                   "(?1, ?4, 0, ?5)",
                   e.tree, e.hash, eviction_key(static_cast<ArtifactKind>(e.kind), e.call_id),
                   e.replacement_hash, eviction);
  }
  if (done && e.ino != 0) {
    done =
        execute(mend.db, "INSERT INTO eviction_keys(tree, hash, key, eviction) VALUES(?, ?, 1, ?)",
                e.tree, e.hash, eviction);
  }
  return done;
}

Group decision_rules() {
  return kDecisions;
}

}  // namespace ebla::sqlite::check
