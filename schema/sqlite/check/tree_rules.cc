// Nodes, names and folders.
#include <array>

#include "schema/sqlite/check/helpers.h"
#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/check/rule.h"
#include "schema/sqlite/rows.h"

namespace ebla::sqlite::check {
namespace {

Result<bool> mend_root(const Mend& mend, const Offender&) {
  auto made = execute(mend.db,
                      "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, atime_ns, mtime_ns, "
                      "ctime_ns) VALUES(1, 1, 448, 2, ifnull((SELECT uid FROM inodes WHERE ino = "
                      "2), 0), ifnull((SELECT gid FROM inodes WHERE ino = 2), 0), ?1, ?1, ?1) "
                      "ON CONFLICT(ino) DO UPDATE SET kind = 1, content = 0, hash = NULL",
                      mend.now_ns);
  if (!made) return std::unexpected(std::move(made.error()));
  return true;
}

Result<bool> mend_entry(const Mend& mend, const Offender& at) {
  auto row =
      query(mend.db, "SELECT ino FROM dentries WHERE parent = ? AND seq = ?", at.id, at.second);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return found;
  if (!*found) return true;
  auto restored = restore_node(mend, row->int64(0));
  if (!restored || *restored) return restored;
  auto gone =
      execute(mend.db, "DELETE FROM dentries WHERE parent = ? AND seq = ?", at.id, at.second);
  if (!gone) return std::unexpected(std::move(gone.error()));
  return true;
}

// Entries of a folder that is gone get it back; those of something else go to the lost folder.
Result<bool> mend_folder(const Mend& mend, const Offender& at) {
  auto there = exists(mend.db, "SELECT 1 FROM inodes WHERE ino = ?", at.id);
  if (!there) return there;
  if (!*there) return restore_node(mend, at.id);
  for (;;) {
    auto row =
        query(mend.db, "SELECT seq, name, ino FROM dentries WHERE parent = ? LIMIT 1", at.id);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return found;
    if (!*found) return true;
    const int64_t seq = row->int64(0);
    const std::string name = row->string(1);
    const int64_t ino = row->int64(2);
    auto gone = execute(mend.db, "DELETE FROM dentries WHERE parent = ? AND seq = ?", at.id, seq);
    if (!gone) return std::unexpected(std::move(gone.error()));
    auto lost = lost_folder(mend);
    if (!lost) return std::unexpected(std::move(lost.error()));
    if (auto in = enter(mend, *lost, name, ino); !in) return std::unexpected(std::move(in.error()));
  }
}

Result<bool> mend_nameless(const Mend& mend, const Offender& at) {
  return give_name(mend, at.id);
}

Result<bool> mend_full_orphan(const Mend& mend, const Offender& at) {
  auto gone = execute(mend.db, "DELETE FROM orphans WHERE ino = ?", at.id);
  if (!gone) return std::unexpected(std::move(gone.error()));
  return give_name(mend, at.id);
}

Result<bool> mend_name(const Mend& mend, const Offender& at) {
  auto row = query(mend.db, "DELETE FROM dentries WHERE parent = ? AND seq = ? RETURNING ino",
                   at.id, at.second);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return found;
  if (!*found) return true;
  const int64_t ino = row->int64(0);
  if (auto rest = row->run(); !rest) return std::unexpected(std::move(rest.error()));
  auto in = enter(mend, at.id, "unreadable-name-" + std::to_string(ino), ino);
  if (!in) return std::unexpected(std::move(in.error()));
  return true;
}

// Whether the root is above the folder now, after what was mended before it.
Result<bool> below_root(Database& db, int64_t ino) {
  auto row = query(db,
                   "WITH RECURSIVE above(ino) AS (VALUES(?) UNION SELECT i.parent FROM above a "
                   "JOIN inodes i ON i.ino = a.ino WHERE i.parent <> 0) "
                   "SELECT 1 FROM above WHERE ino = 1",
                   ino);
  if (!row) return std::unexpected(std::move(row.error()));
  return row->step();
}

Result<bool> mend_loop(const Mend& mend, const Offender& at) {
  auto below = below_root(mend.db, at.id);
  if (!below || *below) return below;
  // Only one that lies in itself is the start of a loop; the others hang below it.
  auto own = exists(mend.db,
                    "WITH RECURSIVE above(ino) AS (SELECT parent FROM inodes WHERE ino = ?1 UNION "
                    "SELECT i.parent FROM above a JOIN inodes i ON i.ino = a.ino "
                    "WHERE i.parent <> 0) SELECT 1 FROM above WHERE ino = ?1",
                    at.id);
  if (!own) return own;
  if (!*own) return true;
  auto gone = execute(mend.db,
                      "DELETE FROM dentries WHERE (parent, seq) = (SELECT parent, seq FROM inodes "
                      "WHERE ino = ?1) AND ino = ?1",
                      at.id);
  if (!gone) return std::unexpected(std::move(gone.error()));
  auto lost = lost_folder(mend);
  if (!lost) return std::unexpected(std::move(lost.error()));
  auto in = enter(mend, *lost, "node-" + std::to_string(at.id), at.id);
  if (!in) return std::unexpected(std::move(in.error()));
  return true;
}

constexpr std::array kExistence = {
    Rule{.kind = "root",
         .text = "the root folder is missing",
         .select = "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM inodes WHERE ino = 1 AND kind = 1)",
         .mend = mend_root},
    Rule{.kind = "entry",
         .text = "{path} is a name of a file that is not in the store",
         .select = "SELECT d.parent, d.seq, d.parent, d.name FROM dentries d "
                   "LEFT JOIN inodes i ON i.ino = d.ino WHERE i.ino IS NULL",
         .mend = mend_entry},
    Rule{.kind = "parent",
         .text = "{a} names lie in node {id}, which is no folder",
         .select = "SELECT d.parent, 0, 0, NULL, count(*) FROM dentries d "
                   "LEFT JOIN inodes i ON i.ino = d.parent AND i.kind = 1 "
                   "WHERE i.ino IS NULL GROUP BY d.parent",
         .mend = mend_folder},
};

constexpr std::array kNames = {
    Rule{.kind = "orphan_gone",
         .text = "node {id} is listed as open without a name, and is not in the store",
         .select = "SELECT o.ino FROM orphans o LEFT JOIN inodes i ON i.ino = o.ino "
                   "WHERE i.ino IS NULL",
         .mend_sql = "DELETE FROM orphans WHERE ino = ?1"},
    Rule{.kind = "orphan_named",
         .text = "{path} has a name and is listed as having none",
         .select = "SELECT DISTINCT o.ino, 0, o.ino FROM orphans o JOIN temp.names n "
                   "ON n.ino = o.ino",
         .mend_sql = "DELETE FROM orphans WHERE ino = ?1"},
    Rule{.kind = "no_name",
         .text = "node {id} ({a}, {b} bytes) has no name",
         .select = "SELECT i.ino, 0, 0, NULL, CASE i.kind WHEN 0 THEN 'file' WHEN 1 THEN 'folder' "
                   "WHEN 2 THEN 'symbolic link' ELSE 'special file' END, i.size FROM inodes i "
                   "LEFT JOIN temp.names n ON n.ino = i.ino LEFT JOIN orphans o ON o.ino = i.ino "
                   "WHERE i.ino <> 1 AND n.ino IS NULL AND o.ino IS NULL",
         .mend = mend_nameless},
    Rule{.kind = "orphan_full",
         .text = "folder {id} has no name and has entries",
         .select = "SELECT o.ino FROM orphans o JOIN temp.counts c ON c.parent = o.ino "
                   "WHERE c.entries > 0",
         .mend = mend_full_orphan},
    Rule{.kind = "root_named",
         .text = "the root folder has the name {path}",
         .select = "SELECT n.parent, n.seq, n.parent, d.name FROM temp.names n JOIN dentries d "
                   "ON d.parent = n.parent AND d.seq = n.seq WHERE n.ino = 1",
         .mend_sql = "DELETE FROM dentries WHERE parent = ?1 AND seq = ?2"},
    Rule{.kind = "folder_names",
         .text = "{path} is a second name of a folder",
         .select = "SELECT n.parent, n.seq, n.parent, d.name FROM temp.names n "
                   "JOIN inodes i ON i.ino = n.ino AND i.kind = 1 "
                   "JOIN dentries d ON d.parent = n.parent AND d.seq = n.seq WHERE EXISTS "
                   "(SELECT 1 FROM temp.names m WHERE m.ino = n.ino "
                   "AND (m.parent, m.seq) <> (n.parent, n.seq) "
                   "AND ((m.parent, m.seq) = (i.parent, i.seq) OR (m.parent, m.seq) < "
                   "(n.parent, n.seq) AND (n.parent, n.seq) <> (i.parent, i.seq)))",
         .mend_sql = "DELETE FROM dentries WHERE parent = ?1 AND seq = ?2"},
    Rule{.kind = "name",
         .text = "{path} is no name that a file can have",
         .select = "SELECT parent, seq, parent, name FROM dentries WHERE length(name) NOT BETWEEN "
                   "1 AND 255 OR instr(name, x'2f') OR instr(name, x'00') "
                   "OR name IN (x'2e', x'2e2e')",
         .mend = mend_name},
};

constexpr std::array kShape = {
    Rule{.kind = "own_entry",
         .text = "{path} does not know its own name",
         .select = "SELECT i.ino, 0, i.ino FROM inodes i LEFT JOIN dentries d "
                   "ON d.parent = i.parent AND d.seq = i.seq AND d.ino = i.ino WHERE d.ino IS NULL "
                   "AND (i.parent <> 0 OR i.seq <> 0 OR EXISTS "
                   "(SELECT 1 FROM temp.names n WHERE n.ino = i.ino))",
         .mend_sql = "UPDATE inodes SET (parent, seq) = (SELECT ifnull(max(parent), 0), "
                     "ifnull(max(seq), 0) FROM (SELECT parent, seq FROM temp.names "
                     "WHERE ino = ?1 LIMIT 1)) WHERE ino = ?1"},
    Rule{.kind = "loop",
         .text = "{path} lies in itself, or in a folder that does",
         .select = "SELECT i.ino, 0, i.ino FROM inodes i LEFT JOIN temp.reached r ON r.ino = i.ino "
                   "LEFT JOIN orphans o ON o.ino = i.ino "
                   "WHERE i.kind = 1 AND r.ino IS NULL AND o.ino IS NULL",
         .mend = mend_loop},
};

constexpr std::array kCounts = {
    Rule{.kind = "link_extra",
         .text = "the list of further names has one that {path} does not have",
         .select = "SELECT l.ino, l.seq, l.ino FROM links l LEFT JOIN dentries d "
                   "ON d.parent = l.parent AND d.seq = l.seq AND d.ino = l.ino "
                   "LEFT JOIN inodes i ON i.ino = l.ino AND i.parent = l.parent AND i.seq = l.seq "
                   "WHERE d.ino IS NULL OR i.ino IS NOT NULL",
         .mend_sql = "DELETE FROM links WHERE ino = ?1 AND seq = ?2 AND (NOT EXISTS (SELECT 1 FROM "
                     "dentries d WHERE d.parent = links.parent AND d.seq = links.seq "
                     "AND d.ino = ?1) OR EXISTS (SELECT 1 FROM inodes i WHERE i.ino = ?1 "
                     "AND i.parent = links.parent AND i.seq = links.seq))"},
    Rule{.kind = "link_missing",
         .text = "{path} is missing in the list of further names of its file",
         .select = "SELECT n.ino, n.seq, n.parent, d.name FROM temp.names n "
                   "JOIN inodes i ON i.ino = n.ino JOIN dentries d ON d.parent = n.parent "
                   "AND d.seq = n.seq LEFT JOIN links l ON l.ino = n.ino AND l.parent = n.parent "
                   "AND l.seq = n.seq WHERE l.ino IS NULL "
                   "AND (n.parent, n.seq) <> (i.parent, i.seq)",
         .mend_sql = "INSERT OR IGNORE INTO links SELECT ino, parent, seq FROM temp.names "
                     "WHERE ino = ?1 AND seq = ?2"},
    Rule{.kind = "nlink",
         .text = "{path} has {a} names and is said to have {b}",
         .select = "SELECT * FROM (SELECT i.ino, 0, i.ino AS node, NULL, (SELECT count(*) FROM "
                   "temp.names n WHERE n.ino = i.ino) AS real, i.nlink FROM inodes i "
                   "WHERE i.kind <> 1) WHERE real <> nlink",
         .mend_sql = "UPDATE inodes SET nlink = (SELECT count(*) FROM temp.names WHERE ino = ?1) "
                     "WHERE ino = ?1"},
    Rule{.kind = "folder_nlink",
         .text = "folder {path} should have {a} links and is said to have {b}",
         .select = "SELECT * FROM (SELECT i.ino, 0, i.ino AS node, NULL, CASE WHEN EXISTS "
                   "(SELECT 1 FROM orphans o WHERE o.ino = i.ino) THEN 0 ELSE 2 END + "
                   "ifnull((SELECT folders FROM temp.counts c WHERE c.parent = i.ino), 0) AS real, "
                   "i.nlink FROM inodes i WHERE i.kind = 1) WHERE real <> nlink",
         .mend_sql = "UPDATE inodes SET nlink = CASE WHEN ino IN (SELECT ino FROM orphans) THEN 0 "
                     "ELSE 2 END + ifnull((SELECT folders FROM temp.counts WHERE parent = ?1), 0) "
                     "WHERE ino = ?1"},
    Rule{.kind = "entries",
         .text = "folder {path} has {a} entries and is said to have {b}",
         .select = "SELECT * FROM (SELECT i.ino, 0, i.ino AS node, NULL, ifnull(c.entries, 0) AS "
                   "real, i.entries AS said FROM inodes i LEFT JOIN temp.counts c "
                   "ON c.parent = i.ino) WHERE real <> said",
         .mend_sql = "UPDATE inodes SET entries = ifnull((SELECT entries FROM temp.counts "
                     "WHERE parent = ?1), 0) WHERE ino = ?1"},
    Rule{.kind = "target",
         .text = "{path} has no proper target of a symbolic link",
         .select = "SELECT ino, 0, ino FROM inodes WHERE (kind = 2) <> (target IS NOT NULL) "
                   "OR (kind = 2 AND size <> length(target))",
         .mend_sql = "UPDATE inodes SET target = CASE kind WHEN 2 THEN ifnull(target, x'3f') END, "
                     "size = CASE kind WHEN 2 THEN length(ifnull(target, x'3f')) ELSE size END "
                     "WHERE ino = ?1"},
    Rule{.kind = "kind",
         .text = "{path} is of the unknown kind {a}",
         .select = "SELECT ino, 0, ino, NULL, kind FROM inodes WHERE kind NOT BETWEEN 0 AND 6",
         .mend_sql = "UPDATE inodes SET kind = 0 WHERE ino = ?1"},
    Rule{.kind = "folder_size",
         .text = "folder {path} is said to have {a} bytes",
         .select = "SELECT ino, 0, ino, NULL, size FROM inodes WHERE kind = 1 AND size <> 0",
         .mend_sql = "UPDATE inodes SET size = 0 WHERE ino = ?1"},
    Rule{.kind = "xattr",
         .text = "attribute {a} belongs to node {id}, which is not in the store",
         .select = "SELECT x.ino, 0, 0, NULL, x.name FROM xattrs x LEFT JOIN inodes i "
                   "ON i.ino = x.ino WHERE i.ino IS NULL",
         .mend_sql = "DELETE FROM xattrs WHERE ino = ?1"},
};

}  // namespace

Group existence_rules() {
  return kExistence;
}
Group name_rules() {
  return kNames;
}
Group shape_rules() {
  return kShape;
}
Group count_rules() {
  return kCounts;
}

}  // namespace ebla::sqlite::check
