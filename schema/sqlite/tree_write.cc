// Changes of nodes and names.
#include <fmt/format.h>

#include <span>

#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

// Nodes that one unit of reap() frees at most: a few milliseconds of the writer.
constexpr size_t kReapNodes = 256;
// An id is one of 2^63: some that nobody gets are no loss.
constexpr uint64_t kReservedIds = 1024;
constexpr uint64_t kReservedIdsLeast = 8;  // more than a small unit draws

}  // namespace

Result<void> touch_folder(Database& db, Ino folder, int entries, int links, int64_t now_ns,
                          ChangeSet& changes) {
  changes.attributes.push_back(folder);
  return execute(db,
                 "UPDATE inodes SET entries = entries + ?, nlink = nlink + ?, mtime_ns = ?, "
                 "ctime_ns = ?, change = change + 1 WHERE ino = ?",
                 entries, links, now_ns, now_ns, folder);
}

Result<void> touch_node(Database& db, Ino ino, int64_t now_ns, ChangeSet& changes) {
  changes.attributes.push_back(ino);
  return execute(db, "UPDATE inodes SET ctime_ns = ?, change = change + 1 WHERE ino = ?", now_ns,
                 ino);
}

namespace {

// The first of `count` ids that nothing else will have.
Result<uint64_t> draw_ids(Database& db, uint64_t count) {
  auto row = query(
      db, "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'inodes' RETURNING seq", count);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return fail(Code::corrupt, "the store has lost its counter of ids");
  return row->uint64(0) - count + 1;
}

}  // namespace

Result<uint64_t> next_id(Database& db) {
  ReservedIds& ids = db.reserved_ids();
  if (ids.next < ids.end) return ids.next++;
  return draw_ids(db, 1);
}

Result<void> reserve_ids(Database& db) {
  ReservedIds& ids = db.reserved_ids();
  if (ids.end - ids.next >= kReservedIdsLeast) return {};
  auto first = draw_ids(db, kReservedIds);
  if (!first) return std::unexpected(std::move(first.error()));
  ids = {.next = *first, .end = *first + kReservedIds};
  return {};
}

Result<void> insert_node(Database& db, Ino parent, uint64_t seq, const NewNode& node,
                         int64_t now_ns) {
  const HashBytes hash(node.hash.value_or(Hash128{}));
  auto row = db.prepare(
      "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, size, content, eviction, session, "
      "parent, seq, atime_ns, mtime_ns, ctime_ns, flags, rdev, hash, target) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?13, ?14, ?15, ?16, "
      "?17)");
  if (!row) return std::unexpected(std::move(row.error()));
  row->bind(node.ino).bind(static_cast<int>(node.kind)).bind(node.mode);
  row->bind(node.kind == NodeKind::directory ? 2 : 1);
  row->bind(node.uid).bind(node.gid).bind(node.size).bind(node.content).bind(node.eviction);
  row->bind(node.session).bind(parent).bind(seq).bind(now_ns).bind(node.flags).bind(node.rdev);
  if (node.hash) {
    row->bind_blob(hash.view());
  } else {
    row->bind_null();
  }
  if (node.kind == NodeKind::symlink) {
    row->bind_blob(node.target);
  } else {
    row->bind_null();
  }
  return row->run();
}

Result<Ino> make_node(Database& db, Ino parent, std::string_view name, const NewNode& node,
                      int64_t now_ns, ChangeSet& changes) {
  NewNode numbered = node;
  if (numbered.ino == 0) {
    auto id = next_id(db);
    if (!id) return id;
    numbered.ino = *id;
  }
  const Ino ino = numbered.ino;
  auto made = insert_node(db, parent, ino, numbered, now_ns);
  if (made) {
    made = execute(db, "INSERT INTO dentries(parent, seq, name, ino) VALUES(?, ?, ?, ?)", parent,
                   ino, name, ino);
  }
  const int links = node.kind == NodeKind::directory ? 1 : 0;
  if (made) made = touch_folder(db, parent, 1, links, now_ns, changes);
  if (!made) return std::unexpected(std::move(made.error()));
  changes.dentries.push_back({.parent = parent,
                              .name = std::string(name),
                              .child = ino,
                              .kind = DentryChange::Kind::added});
  return ino;
}

Result<bool> reap_node(Database& db, Ino ino) {
  uint64_t size = 0;
  ContentId content = 0;
  std::optional<Hash128> hash;
  SessionId tree = 0;
  bool folder = false;
  {
    auto row = query(db,
                     "SELECT i.size, i.content, i.hash, s.tree, i.kind FROM orphans o "
                     "JOIN inodes i ON i.ino = o.ino LEFT JOIN sessions s ON s.serial = i.session "
                     "WHERE o.ino = ?",
                     ino);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found || !*found) return found;
    size = row->uint64(0);
    content = row->uint64(1);
    if (!row->is_null(2)) hash = to_hash(row->bytes(2));
    tree = row->uint64(3);
    folder = row->int64(4) == static_cast<int64_t>(NodeKind::directory);
  }
  Result<void> done;
  for (const char* sql : {"DELETE FROM orphans WHERE ino = ?", "DELETE FROM xattrs WHERE ino = ?",
                          "DELETE FROM inodes WHERE ino = ?"}) {
    if (done) done = execute(db, sql, ino);
  }
  if (done) {
    done = add_usage(db, tree,
                     {.files = folder ? 0 : -1,
                      .directories = folder ? -1 : 0,
                      .logical_bytes = -static_cast<int64_t>(size)});
  }
  if (done && hash) {
    done = release_content(db, *hash, content);
  } else if (done && content != 0) {
    done = execute(db, "INSERT INTO freed(content) VALUES(?)", content);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

Result<void> add_usage(Database& db, SessionId tree, const UsageDelta& delta) {
  return execute(
      db,
      "INSERT INTO usage(tree, files, directories, logical_bytes, content_bytes, "
      "sessions, evictions) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(tree) DO UPDATE SET "
      "files = files + excluded.files, directories = directories + excluded.directories, "
      "logical_bytes = logical_bytes + excluded.logical_bytes, "
      "content_bytes = content_bytes + excluded.content_bytes, "
      "sessions = sessions + excluded.sessions, "
      "evictions = evictions + excluded.evictions",
      tree, delta.files, delta.directories, delta.logical_bytes, delta.content_bytes,
      delta.sessions, delta.evictions);
}

void SqliteStore::reap(std::vector<Ino> inos, ChangeOptions options, Completion<void> done) {
  // All but the last slice report to nobody: a node that one of them could not free is freed at the
  // next start, and a later slice that fails for the same reason says so.
  std::span<const Ino> left(inos);
  while (left.size() > kReapNodes) {
    reap_slice({left.begin(), left.begin() + kReapNodes}, options,
               [](Result<void>, const ChangeSet&) {});
    left = left.subspan(kReapNodes);
  }
  reap_slice({left.begin(), left.end()}, options, std::move(done));
}

void SqliteStore::reap_slice(std::vector<Ino> inos, ChangeOptions options, Completion<void> done) {
  auto freed = std::make_shared<std::vector<Ino>>();
  change(
      options, Growth::no, std::move(done),
      [inos = std::move(inos), freed](Database& db, ChangeSet&) -> Result<void> {
        freed->clear();
        for (const Ino ino : inos) {
          auto reaped = reap_node(db, ino);
          if (!reaped) return std::unexpected(std::move(reaped.error()));
          if (*reaped) freed->push_back(ino);
        }
        return {};
      },
      [this, freed] {
        for (const Ino ino : *freed) overlay_.forget(ino);
        write_behind_.room_made();
      });
}

}  // namespace ebla::sqlite
