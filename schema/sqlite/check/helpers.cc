#include "schema/sqlite/check/helpers.h"

#include <fmt/format.h>

#include "schema/sqlite/rows.h"

namespace ebla::sqlite::check {
namespace {

constexpr int kPathDepth = 64;

// Sorted before they are inserted: a table in the order of its key is built in one pass.
constexpr const char* kHelpers =
    "CREATE TEMP TABLE IF NOT EXISTS names(ino INTEGER, parent INTEGER, seq INTEGER, "
    "PRIMARY KEY(ino, parent, seq)) WITHOUT ROWID;"
    "CREATE TEMP TABLE IF NOT EXISTS counts(parent INTEGER PRIMARY KEY, entries INTEGER, "
    "folders INTEGER);"
    "CREATE TEMP TABLE IF NOT EXISTS reached(ino INTEGER PRIMARY KEY);"
    "CREATE TEMP TABLE IF NOT EXISTS uses(content INTEGER PRIMARY KEY, nodes INTEGER);"
    "CREATE TEMP TABLE IF NOT EXISTS owners(content INTEGER PRIMARY KEY, kind INTEGER, "
    "size INTEGER, hash BLOB, ino INTEGER);"
    "DELETE FROM temp.names; DELETE FROM temp.counts; DELETE FROM temp.reached;"
    "DELETE FROM temp.uses; DELETE FROM temp.owners;"
    "INSERT INTO temp.names SELECT ino, parent, seq FROM dentries ORDER BY 1, 2, 3;"
    "INSERT INTO temp.counts SELECT d.parent, count(*), ifnull(sum(i.kind = 1), 0) "
    "FROM dentries d LEFT JOIN inodes i ON i.ino = d.ino GROUP BY d.parent;"
    "INSERT INTO temp.reached WITH RECURSIVE below(ino) AS (VALUES(1) UNION SELECT d.ino "
    "FROM below b JOIN dentries d ON d.parent = b.ino JOIN inodes i ON i.ino = d.ino "
    "WHERE i.kind = 1) SELECT ino FROM below;"
    "INSERT INTO temp.uses SELECT content, count(*) FROM inodes WHERE content <> 0 AND "
    "content <> session GROUP BY content;"
    "INSERT OR IGNORE INTO temp.owners SELECT content, 0, size, hash, 0 FROM contents;"
    "INSERT OR IGNORE INTO temp.owners SELECT content, 1, sum(size), NULL, 0 FROM sections "
    "GROUP BY content;"
    "INSERT OR IGNORE INTO temp.owners SELECT content, 2, size, NULL, ino FROM inodes "
    "WHERE hash IS NULL AND content NOT IN (0, session);"
    "INSERT OR IGNORE INTO temp.owners SELECT content, 3, size, NULL, 0 FROM staged;"
    "INSERT OR IGNORE INTO temp.owners SELECT content, 4, 0, NULL, 0 FROM freed;";

struct Step {
  int64_t parent = 0;
  std::string name;
};

// The entry that names the node: that of its row, else any.
std::optional<Step> step_up(Database& db, int64_t ino) {
  for (const char* sql :
       {"SELECT d.parent, d.name FROM inodes i JOIN dentries d ON d.parent = i.parent "
        "AND d.seq = i.seq AND d.ino = i.ino WHERE i.ino = ?",
        "SELECT d.parent, d.name FROM temp.names n JOIN dentries d ON d.parent = n.parent "
        "AND d.seq = n.seq AND d.ino = n.ino WHERE n.ino = ? LIMIT 1"}) {
    auto row = query(db, sql, ino);
    if (row && row->step().value_or(false)) return Step{row->int64(0), row->string(1)};
  }
  return std::nullopt;
}

}  // namespace

Result<void> refresh_helpers(Database& db) {
  return db.exec(kHelpers);
}

std::string path_of(Database& db, int64_t ino) {
  if (ino == 0) return "";
  if (ino == kRootIno) return "/";
  std::string path;
  int64_t at = ino;
  for (int depth = 0; at != kRootIno; ++depth) {
    auto step = step_up(db, at);
    if (!step)
      return path.empty() ? fmt::format("node {}", ino) : fmt::format("node {}{}", at, path);
    if (depth == kPathDepth) return "…" + path;
    path.insert(0, "/" + step->name);
    at = step->parent;
  }
  return path;
}

}  // namespace ebla::sqlite::check
