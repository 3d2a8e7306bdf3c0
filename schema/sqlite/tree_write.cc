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

// An entry came or went: `entries` and, for folders, `links` say by how many.
Result<void> touch_folder(Database& db, Ino folder, int entries, int links, int64_t now_ns,
                          ChangeSet& changes) {
  changes.attributes.push_back(folder);
  return execute(db,
                 "UPDATE inodes SET entries = entries + ?, nlink = nlink + ?, mtime_ns = ?, "
                 "ctime_ns = ?, change = change + 1 WHERE ino = ?",
                 entries, links, now_ns, now_ns, folder);
}

// What an entry names, as far as removing it needs.
struct Named {
  Attr attr;
  uint64_t seq = 0;
  uint64_t eviction = 0;
};

Result<Named> find_named(Database& db, Ino parent, std::string_view name) {
  auto attr = find_entry(db, parent, name);
  if (!attr) return std::unexpected(std::move(attr.error()));
  auto row = query(db,
                   "SELECT d.seq, i.eviction FROM dentries d JOIN inodes i ON i.ino = d.ino "
                   "WHERE d.parent = ? AND d.name = ?",
                   parent, name);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  return Named{.attr = *attr, .seq = row->uint64(0), .eviction = row->uint64(1)};
}

Result<void> bury(Database& db, const RemovePlan& plan, const std::string& path, const Named& named,
                  int64_t now_ns) {
  return execute(db,
                 "INSERT INTO removed(parent, name, reserved, path, removed_ns, uid, reason, size) "
                 "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(parent, name) DO UPDATE SET "
                 "reserved = max(reserved, excluded.reserved), path = excluded.path, "
                 "removed_ns = excluded.removed_ns, uid = excluded.uid, reason = excluded.reason, "
                 "size = excluded.size",
                 plan.parent, plan.name, named.eviction != 0, path, now_ns, plan.uid, plan.reason,
                 named.attr.size);
}

Result<void> forget_file(Database& db, uint64_t eviction, Ino ino) {
  if (auto kept =
          execute(db, "UPDATE evictions SET ino = 0 WHERE id = ? AND ino = ?", eviction, ino);
      !kept) {
    return kept;
  }
  return execute(db,
                 "DELETE FROM eviction_keys WHERE (tree, hash, key, eviction) IN "
                 "(SELECT tree, hash, 1, id FROM evictions WHERE id = ? AND ino = 0)",
                 eviction);
}

}  // namespace

Result<uint64_t> next_id(Database& db) {
  auto row =
      query(db, "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'inodes' RETURNING seq");
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return fail(Code::corrupt, "the store has lost its counter of ids");
  return row->uint64(0);
}

Result<Ino> make_node(Database& db, Ino parent, std::string_view name, const NewNode& node,
                      int64_t now_ns, ChangeSet& changes) {
  Ino ino = node.ino;
  if (ino == 0) {
    auto id = next_id(db);
    if (!id) return id;
    ino = *id;
  }
  const bool folder = node.kind == NodeKind::directory;
  const HashBytes hash(node.hash.value_or(Hash128{}));
  {
    auto row = db.prepare(
        "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, size, content, eviction, session, "
        "parent, seq, atime_ns, mtime_ns, ctime_ns, flags, hash) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?1, ?12, ?12, ?12, ?13, ?14)");
    if (!row) return std::unexpected(std::move(row.error()));
    row->bind(ino).bind(static_cast<int>(node.kind)).bind(node.mode).bind(folder ? 2 : 1);
    row->bind(node.uid).bind(node.gid).bind(node.size).bind(node.content).bind(node.eviction);
    row->bind(node.session).bind(parent).bind(now_ns).bind(node.flags);
    if (node.hash) {
      row->bind_blob(hash.view());
    } else {
      row->bind_null();
    }
    if (auto made = row->run(); !made) return std::unexpected(std::move(made.error()));
  }
  if (auto entry = execute(db, "INSERT INTO dentries(parent, seq, name, ino) VALUES(?, ?, ?, ?)",
                           parent, ino, name, ino);
      !entry) {
    return std::unexpected(std::move(entry.error()));
  }
  if (auto touched = touch_folder(db, parent, 1, folder ? 1 : 0, now_ns, changes); !touched) {
    return std::unexpected(std::move(touched.error()));
  }
  changes.dentries.push_back({.parent = parent,
                              .name = std::string(name),
                              .child = ino,
                              .kind = DentryChange::Kind::added});
  return ino;
}

Result<void> remove_entry(Database& db, const RemovePlan& plan, int64_t now_ns,
                          ChangeSet& changes) {
  auto named = find_named(db, plan.parent, plan.name);
  if (!named) return std::unexpected(std::move(named.error()));
  auto path = node_path(db, named->attr.ino);
  if (!path) return std::unexpected(std::move(path.error()));
  if (named->attr.kind == NodeKind::directory) {
    return fail(Code::is_directory, fmt::format("{} is a folder", *path));
  }
  const uint32_t flags = named->attr.flags;
  if ((flags & kNodeProtected) != 0 && (flags & kNodeRemovable) == 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("{} is protected: it cannot be removed", *path));
  }
  const Ino ino = named->attr.ino;
  if (auto done =
          execute(db, "DELETE FROM dentries WHERE parent = ? AND seq = ?", plan.parent, named->seq);
      !done) {
    return done;
  }
  if (auto done = execute(db,
                          "UPDATE inodes SET nlink = 0, parent = 0, seq = 0, ctime_ns = ?, "
                          "change = change + 1 WHERE ino = ?",
                          now_ns, ino);
      !done) {
    return done;
  }
  if (auto done = touch_folder(db, plan.parent, -1, 0, now_ns, changes); !done) return done;
  if (auto done = execute(db, "INSERT INTO orphans(ino) VALUES(?)", ino); !done) return done;
  if (auto done = bury(db, plan, *path, *named, now_ns); !done) return done;
  if (named->eviction != 0) {
    if (auto done = forget_file(db, named->eviction, ino); !done) return done;
  }
  changes.attributes.push_back(ino);
  changes.dentries.push_back({.parent = plan.parent,
                              .name = plan.name,
                              .child = ino,
                              .kind = DentryChange::Kind::removed});
  changes.orphaned.push_back(ino);
  return {};
}

Result<void> reap_node(Database& db, Ino ino) {
  uint64_t size = 0;
  ContentId content = 0;
  std::optional<Hash128> hash;
  SessionId tree = 0;
  {
    auto row = query(db,
                     "SELECT i.size, i.content, i.hash, s.tree FROM orphans o "
                     "JOIN inodes i ON i.ino = o.ino LEFT JOIN sessions s ON s.serial = i.session "
                     "WHERE o.ino = ?",
                     ino);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) return {};  // named, or gone already
    size = row->uint64(0);
    content = row->uint64(1);
    if (!row->is_null(2)) hash = to_hash(row->bytes(2));
    tree = row->uint64(3);
  }
  for (const char* sql : {"DELETE FROM orphans WHERE ino = ?", "DELETE FROM xattrs WHERE ino = ?",
                          "DELETE FROM inodes WHERE ino = ?"}) {
    if (auto done = execute(db, sql, ino); !done) return done;
  }
  if (auto counted =
          add_usage(db, tree, {.files = -1, .logical_bytes = -static_cast<int64_t>(size)});
      !counted) {
    return counted;
  }
  if (content == 0) return {};
  if (hash) return release_content(db, *hash, content);
  return execute(db, "INSERT INTO freed(content) VALUES(?)", content);
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

void SqliteStore::remove(RemovePlan plan, ChangeOptions options, Completion<void> done) {
  change(options, Growth::no, std::move(done),
         [this, plan = std::move(plan)](Database& db, ChangeSet& changes) {
           return remove_entry(db, plan, now_ns(), changes);
         });
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
  change(options, Growth::no, std::move(done),
         [inos = std::move(inos)](Database& db, ChangeSet&) -> Result<void> {
           for (const Ino ino : inos) {
             if (auto reaped = reap_node(db, ino); !reaped) return reaped;
           }
           return {};
         });
}

}  // namespace ebla::sqlite
