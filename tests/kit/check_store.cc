#include "tests/kit/check_store.h"

#include <fmt/format.h>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/rows.h"

namespace ebla::kit {
namespace {

using sqlite::Database;

struct Rule {
  const char* breach;
  const char* sql;  // selects the offenders: one column
};

constexpr Rule kRules[] = {
    {"entry names no node", "SELECT seq FROM dentries WHERE ino NOT IN (SELECT ino FROM inodes)"},
    {"entry lies in no folder",
     "SELECT seq FROM dentries WHERE parent NOT IN (SELECT ino FROM inodes WHERE kind = 1)"},
    {"node has neither a name nor a row in orphans",
     "SELECT ino FROM inodes WHERE ino <> 1 AND ino NOT IN (SELECT ino FROM dentries) "
     "AND ino NOT IN (SELECT ino FROM orphans)"},
    {"node has a name and a row in orphans",
     "SELECT ino FROM orphans WHERE ino IN (SELECT ino FROM dentries)"},
    {"orphan is no node", "SELECT ino FROM orphans WHERE ino NOT IN (SELECT ino FROM inodes)"},
    {"entry is known to its node by no row or by two",
     "SELECT d.ino FROM dentries d JOIN inodes i ON i.ino = d.ino WHERE 1 <> "
     "(i.parent = d.parent AND i.seq = d.seq) + EXISTS (SELECT 1 FROM links l "
     "WHERE l.ino = d.ino AND l.parent = d.parent AND l.seq = d.seq)"},
    {"link is no entry",
     "SELECT ino FROM links l WHERE NOT EXISTS (SELECT 1 FROM dentries d "
     "WHERE d.parent = l.parent AND d.seq = l.seq AND d.ino = l.ino)"},
    {"node knows an entry that is none",
     "SELECT ino FROM inodes i WHERE parent <> 0 AND NOT EXISTS (SELECT 1 FROM dentries d "
     "WHERE d.parent = i.parent AND d.seq = i.seq AND d.ino = i.ino)"},
    {"nlink of a file",
     "SELECT ino FROM inodes i WHERE kind <> 1 "
     "AND nlink <> (SELECT count(*) FROM dentries d WHERE d.ino = i.ino)"},
    {"nlink of a folder",
     "SELECT ino FROM inodes i WHERE kind = 1 AND nlink <> (CASE WHEN ino IN "
     "(SELECT ino FROM orphans) THEN 0 ELSE 2 END) + (SELECT count(*) FROM dentries d "
     "JOIN inodes c ON c.ino = d.ino WHERE d.parent = i.ino AND c.kind = 1)"},
    {"folder without a name has entries",
     "SELECT parent FROM dentries WHERE parent IN (SELECT ino FROM orphans)"},
    {"folder lies in itself or in none",
     "WITH RECURSIVE below(ino) AS (VALUES(1) UNION SELECT d.ino FROM below b "
     "JOIN dentries d ON d.parent = b.ino) SELECT ino FROM inodes "
     "WHERE ino NOT IN (SELECT ino FROM below) AND ino NOT IN (SELECT ino FROM orphans)"},
    {"target of what is no symlink, or none of one",
     "SELECT ino FROM inodes WHERE (kind = 2) <> (target IS NOT NULL) "
     "OR (kind = 2 AND size <> length(target))"},
    {"attributes of no node", "SELECT ino FROM xattrs WHERE ino NOT IN (SELECT ino FROM inodes)"},
    {"raw of a client's file",
     "SELECT ino FROM inodes i WHERE flags & 1 = 0 AND raw <> (SELECT ifnull(sum(length(bytes)), "
     "0) "
     "FROM chunks WHERE key BETWEEN i.content << 24 AND (i.content << 24) + 0xffffff)"},
    {"chunk beyond the end of a client's file",
     "SELECT ino FROM inodes i JOIN chunks c ON c.key BETWEEN i.content << 24 AND "
     "(i.content << 24) + 0xffffff WHERE flags & 1 = 0 AND content <> 0 AND "
     "((key & 0xffffff) * 131072 >= size OR length(bytes) NOT BETWEEN 1 AND 131072)"},
    {"bytes beyond the end of a client's file",
     "SELECT ino FROM inodes i JOIN chunks c ON c.key = (i.content << 24) + (size - 1) / 131072 "
     "WHERE flags & 1 = 0 AND content <> 0 AND size > 0 AND "
     "length(bytes) > (size - 1) % 131072 + 1 AND substr(bytes, (size - 1) % 131072 + 2) <> "
     "zeroblob(length(bytes) - (size - 1) % 131072 - 1)"},
    {"entries of a node",
     "SELECT ino FROM inodes i WHERE entries <> (SELECT count(*) FROM dentries d "
     "WHERE d.parent = i.ino)"},
    {"node's content, hash and size are no row of contents",
     "SELECT ino FROM inodes i WHERE hash IS NOT NULL AND NOT EXISTS (SELECT 1 FROM contents c "
     "WHERE c.hash = i.hash AND c.content = i.content AND c.size = i.size)"},
    {"immutable node without a hash, or a hash without the flag",
     "SELECT ino FROM inodes WHERE (flags & 4 <> 0) <> (hash IS NOT NULL)"},
    {"refs of a content",
     "SELECT content FROM contents c WHERE refs <> (SELECT count(*) FROM inodes i "
     "WHERE i.content = c.content) OR refs < 1"},
    {"content is listed in two ways",
     "SELECT content FROM (SELECT content FROM contents UNION ALL SELECT content FROM staged "
     "UNION ALL SELECT content FROM freed UNION ALL SELECT DISTINCT content FROM sections "
     "UNION ALL SELECT content FROM inodes WHERE hash IS NULL AND content NOT IN (0, session)) "
     "GROUP BY content HAVING count(*) > 1"},
    {"chunk belongs to no content",
     "SELECT DISTINCT key >> 24 FROM chunks WHERE key >> 24 NOT IN (SELECT content FROM contents "
     "UNION ALL SELECT content FROM staged UNION ALL SELECT content FROM freed "
     "UNION ALL SELECT content FROM sections "
     "UNION ALL SELECT content FROM inodes WHERE hash IS NULL AND content <> session)"},
    {"file of a decision is not at its place",
     "SELECT id FROM evictions e WHERE ino <> 0 AND NOT EXISTS (SELECT 1 FROM dentries d "
     "JOIN inodes i ON i.ino = d.ino WHERE d.parent = e.dir AND d.name = e.name "
     "AND d.ino = e.ino AND (i.eviction = e.id OR e.kind = 4 AND i.session = 0) "
     "AND i.content = e.content AND i.hash = e.hash AND i.size = e.size)"},
    {"medium belongs to a session, or has no decision",
     "SELECT i.ino FROM inodes i JOIN evictions e ON e.id = i.eviction WHERE e.kind = 4 "
     "AND (i.session <> 0 OR e.ino <> i.ino)"},
    {"bytes of a medium are held by two files",
     "SELECT min(ino) FROM evictions WHERE kind = 4 AND ino <> 0 GROUP BY content "
     "HAVING count(DISTINCT ino) > 1"},
    {"removed file of a decision has no reserved name",
     "SELECT id FROM evictions e WHERE ino = 0 AND NOT EXISTS (SELECT 1 FROM removed r "
     "WHERE r.parent = e.dir AND r.name = e.name AND r.reserved = 1)"},
    {"decision is not found by content and replacement",
     "SELECT id FROM evictions e WHERE 2 <> (SELECT count(*) FROM eviction_keys k "
     "WHERE k.eviction = e.id AND k.tree = e.tree AND k.key <> 1 "
     "AND k.hash = CASE WHEN k.key = 0 THEN e.replacement_hash ELSE e.hash END)"},
    {"decision's key of its file",
     "SELECT id FROM evictions e WHERE (ino <> 0) <> EXISTS (SELECT 1 FROM eviction_keys k "
     "WHERE k.eviction = e.id AND k.tree = e.tree AND k.key = 1 AND k.hash = e.hash)"},
    {"key finds no decision",
     "SELECT eviction FROM eviction_keys WHERE eviction NOT IN (SELECT id FROM evictions)"},
    {"session without folder or history",
     "SELECT serial FROM sessions WHERE folder NOT IN (SELECT ino FROM inodes WHERE kind = 1) "
     "OR history NOT IN (SELECT ino FROM inodes WHERE kind = 0) "
     "OR tree NOT IN (SELECT serial FROM sessions)"},
    {"section does not follow the one before",
     "SELECT id FROM (SELECT id, at, sections, lag(at + size, 1, 0) OVER w AS end_before, "
     "lag(sections, 1, 0) OVER w AS before, lines < lag(lines, 1, 0) OVER w "
     "OR messages < lag(messages, 1, 0) OVER w AS shrinks FROM sections "
     "WINDOW w AS (PARTITION BY session ORDER BY at)) "
     "WHERE at <> end_before OR sections <> before + 1 OR shrinks"},
    {"section comes before one with a smaller number",
     "SELECT id FROM (SELECT id, lag(id, 1, 0) OVER (PARTITION BY session ORDER BY at) AS before "
     "FROM sections) WHERE id <= before"},
    {"history does not end with its last section",
     "SELECT s.serial FROM sessions s JOIN inodes i ON i.ino = s.history WHERE "
     "i.size <> ifnull((SELECT max(at + size) FROM sections x WHERE x.session = s.serial), 0) "
     "OR i.content <> (i.size > 0) * s.serial OR i.session <> s.serial"},
    {"section of no session",
     "SELECT id FROM sections WHERE session NOT IN "
     "(SELECT serial FROM sessions)"},
    {"messages of a history",
     "SELECT s.serial FROM sessions s WHERE "
     "(SELECT count(*) FROM section_keys k WHERE k.session = s.serial) <> "
     "ifnull((SELECT max(messages) FROM sections x WHERE x.session = s.serial), 0)"},
    {"pass without a section of its session",
     "SELECT id FROM passes p WHERE NOT EXISTS (SELECT 1 FROM sections x WHERE x.id = p.id "
     "AND x.session = p.session) OR tree <> (SELECT tree FROM sessions WHERE serial = p.session) "
     "OR length(prefix) <> 16 OR length(message_identity) <> 16 OR length(pinned) % 8 <> 0"},
    {"session is closed or open against its last event",
     "SELECT serial FROM sessions s WHERE (closed_ns <> 0) <> ifnull((SELECT closed FROM "
     "session_events e WHERE e.session = s.serial ORDER BY id DESC LIMIT 1), 0)"},
    {"usage of a tree",
     "WITH t(tree, files, dirs, bytes) AS (SELECT ifnull(s.tree, 0), sum(kind <> 1), "
     "sum(kind = 1), sum(size) FROM inodes i LEFT JOIN sessions s ON s.serial = i.session "
     "GROUP BY 1) SELECT u.tree FROM usage u LEFT JOIN t ON t.tree = u.tree WHERE "
     "u.files <> ifnull(t.files, 0) OR directories <> ifnull(dirs, 0) "
     "OR logical_bytes <> ifnull(bytes, 0) "
     "OR content_bytes <> (SELECT ifnull(sum(size), 0) FROM contents c WHERE c.tree = u.tree) + "
     "(SELECT ifnull(sum(x.size), 0) FROM sections x JOIN sessions s ON s.serial = x.session "
     "WHERE s.tree = u.tree) "
     "OR sessions <> (SELECT count(*) FROM sessions s WHERE s.tree = u.tree) "
     "OR evictions <> (SELECT count(*) FROM evictions e WHERE e.tree = u.tree)"},
    {"tree is not counted",
     "SELECT tree FROM (SELECT tree FROM contents UNION SELECT tree FROM evictions "
     "UNION SELECT tree FROM sessions) WHERE tree NOT IN (SELECT tree FROM usage)"},
};

void check_rule(Database& db, const Rule& rule, std::vector<std::string>& breaches) {
  auto rows = db.prepare(rule.sql);
  if (!rows) {
    breaches.push_back(fmt::format("{}: {}", rule.breach, rows.error().text));
    return;
  }
  for (int count = 0; count < 20; ++count) {
    const auto row = rows->step();
    if (!row) breaches.push_back(fmt::format("{}: {}", rule.breach, row.error().text));
    if (!row || !*row) return;
    breaches.push_back(fmt::format("{}: {}", rule.breach, rows->int64(0)));
  }
}

// Chunks of one content: all there, each as its sum says, all together as the hash says.
void check_content(Database& db, uint64_t content, uint64_t size, Hash128 hash,
                   std::vector<std::string>& breaches) {
  auto rows = db.prepare("SELECT key & 0xffffff, sum, bytes FROM chunks WHERE key BETWEEN ? AND ?");
  if (!rows) return breaches.push_back(rows.error().text);
  rows->bind(content << 24).bind((content << 24) | 0xffffff);
  Hasher128 all;
  uint64_t at = 0;
  for (uint64_t index = 0;; ++index) {
    const auto row = rows->step();
    if (!row) return breaches.push_back(fmt::format("content {}: {}", content, row.error().text));
    if (!*row) break;
    const std::string_view bytes = rows->bytes(2);
    if (rows->uint64(0) != index || (at % limits::kChunkBytes) != 0) {
      breaches.push_back(fmt::format("content {}: chunk {} is missing or short", content, index));
    }
    if (xxh3_64(bytes) != rows->uint64(1)) {
      breaches.push_back(fmt::format("content {}: sum of chunk {}", content, index));
    }
    all.update(bytes);
    at += bytes.size();
  }
  if (at != size) breaches.push_back(fmt::format("content {}: {} bytes of {}", content, at, size));
  if (all.digest() != hash) breaches.push_back(fmt::format("content {}: hash", content));
}

// The bytes of each section are where it says, and have its hash.
void check_sections(Database& db, std::vector<std::string>& breaches) {
  auto sections = db.prepare("SELECT id, content, start, size, hash FROM sections");
  if (!sections) return breaches.push_back(sections.error().text);
  while (true) {
    const auto row = sections->step();
    if (!row) breaches.push_back(row.error().text);
    if (!row || !*row) return;
    std::string bytes(sections->uint64(3), '\0');
    const auto read = sqlite::read_content(db, sections->uint64(1), sections->uint64(2), bytes);
    if (!read || !*read || sqlite::HashBytes(xxh3_128(bytes)).view() != sections->bytes(4)) {
      breaches.push_back(
          fmt::format("section {}: bytes are not those of its hash", sections->uint64(0)));
    }
  }
}

// Every chunk of a section's content is used by some section, whole.
void check_section_contents(Database& db, std::vector<std::string>& breaches) {
  auto rows = db.prepare(
      "SELECT content, sum(size), (SELECT sum(length(bytes)) FROM chunks WHERE key BETWEEN "
      "content << 24 AND (content << 24) + 0xffffff) FROM sections GROUP BY content");
  if (!rows) return breaches.push_back(rows.error().text);
  while (true) {
    const auto row = rows->step();
    if (!row) breaches.push_back(row.error().text);
    if (!row || !*row) return;
    if (rows->uint64(1) != rows->uint64(2)) {
      breaches.push_back(fmt::format("content {} has {} bytes, its sections {}", rows->uint64(0),
                                     rows->uint64(2), rows->uint64(1)));
    }
  }
}

// Chunks of clients' files: each as its sum says.
void check_files(Database& db, std::vector<std::string>& breaches) {
  auto rows = db.prepare(
      "SELECT i.ino, c.sum, c.bytes FROM inodes i JOIN chunks c ON c.key BETWEEN i.content << 24 "
      "AND (i.content << 24) + 0xffffff WHERE i.hash IS NULL AND i.content NOT IN (0, i.session)");
  if (!rows) return breaches.push_back(rows.error().text);
  while (true) {
    const auto row = rows->step();
    if (!row) return breaches.push_back(row.error().text);
    if (!*row) return;
    if (xxh3_64(rows->bytes(2)) == rows->uint64(1)) continue;
    breaches.push_back(fmt::format("node {}: sum of a chunk", rows->int64(0)));
  }
}

}  // namespace

std::vector<std::string> check_store(const std::string& path) {
  std::vector<std::string> breaches;
  auto db = Database::open(path, Database::Mode::read_only);
  if (!db) return {db.error().text};
  {
    auto rows = db->prepare("PRAGMA integrity_check(20)");
    if (!rows) return {rows.error().text};
    while (true) {
      const auto row = rows->step();
      if (!row) breaches.push_back(row.error().text);
      if (!row || !*row) break;
      if (rows->bytes(0) != "ok") breaches.push_back(rows->string(0));
    }
  }
  for (const Rule& rule : kRules) check_rule(*db, rule, breaches);
  check_sections(*db, breaches);
  check_section_contents(*db, breaches);
  check_files(*db, breaches);
  auto contents = db->prepare("SELECT content, size, hash FROM contents");
  if (!contents) return {contents.error().text};
  while (true) {
    const auto row = contents->step();
    if (!row) breaches.push_back(row.error().text);
    if (!row || !*row) return breaches;
    const std::string hash = contents->string(2);
    check_content(*db, contents->uint64(0), contents->uint64(1),
                  Hash128::from_bytes(reinterpret_cast<const uint8_t*>(hash.data())), breaches);
  }
}

}  // namespace ebla::kit
