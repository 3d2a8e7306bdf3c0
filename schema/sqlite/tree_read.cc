// Reads of nodes and names.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/history.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

std::string utc_text(int64_t wall_ns) {
  const auto seconds = static_cast<time_t>(wall_ns / 1'000'000'000);
  std::tm parts{};
  (void)gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Result<Attr> attr_of_row(Result<Statement> row, Error none) {
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::unexpected(std::move(none));
  return to_attr(*row);
}

}  // namespace

Error no_such_node(Ino ino) {
  return {Code::file_not_found, fmt::format("node {} does not exist any more", ino)};
}

Result<Attr> node_attr(Database& db, Ino ino) {
  return attr_of_row(query(db, "SELECT " EBLA_ATTR_COLUMNS " FROM inodes i WHERE i.ino = ?", ino),
                     no_such_node(ino));
}

Result<Attr> folder_attr(Database& db, Ino ino) {
  auto attr = node_attr(db, ino);
  if (attr && attr->kind != NodeKind::directory) {
    return fail(Code::not_directory, fmt::format("node {} is not a directory", ino));
  }
  return attr;
}

Result<Attr> find_entry(Database& db, Ino parent, std::string_view name) {
  if (name.size() <= limits::kNameBytes) {
    auto attr = attr_of_row(
        query(db,
              "SELECT " EBLA_ATTR_COLUMNS " FROM dentries d JOIN inodes i ON i.ino = d.ino "
              "WHERE d.parent = ? AND d.name = ?",
              parent, name),
        {Code::file_not_found, "no such file or folder"});
    if (attr || attr.error().code != Code::file_not_found) return attr;
    if (auto folder = folder_attr(db, parent); !folder) return folder;
    return attr;
  }
  if (auto folder = folder_attr(db, parent); !folder) return folder;
  return fail(Code::name_too_long, fmt::format("a name has at most {} bytes, this one {}",
                                               limits::kNameBytes, name.size()));
}

Result<bool> name_exists(Database& db, Ino parent, std::string_view name) {
  return exists(db, "SELECT 1 FROM dentries WHERE parent = ? AND name = ?", parent, name);
}

Result<bool> name_taken(Database& db, Ino parent, std::string_view name) {
  auto there = name_exists(db, parent, name);
  if (!there || *there) return there;
  return exists(db, "SELECT 1 FROM removed WHERE parent = ? AND name = ? AND reserved", parent,
                name);
}

Result<std::string> node_path(Database& db, Ino ino) {
  if (ino == kRootIno) return std::string("/");
  std::string path;
  for (Ino at = ino; at != kRootIno;) {
    auto row = query(db,
                     "SELECT d.name, d.parent FROM inodes i "
                     "JOIN dentries d ON d.parent = i.parent AND d.seq = i.seq WHERE i.ino = ?",
                     at);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) {
      if (auto attr = node_attr(db, at); !attr) return std::unexpected(std::move(attr.error()));
      return fail(Code::file_not_found, fmt::format("node {} has no name any more", at));
    }
    path = fmt::format("/{}{}", row->bytes(0), path);
    at = row->uint64(1);
  }
  return path;
}

Result<Attr> SqliteStore::getattr(Ino ino) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  for (;;) {
    const Overlay::Glance glance = overlay_.at(ino);
    auto attr = node_attr(**reader, ino);
    if (!attr || overlay_.amend(glance, *attr)) return attr;
  }
}

// What a row said that was read after the glance, or what is there now.
Result<Attr> SqliteStore::getattr_after(const Overlay::Glance& glance, Attr attr) {
  if (overlay_.amend(glance, attr)) return attr;
  return getattr(attr.ino);
}

Completion<Attr> SqliteStore::amended(Completion<Attr> done) {
  return [this, done = std::move(done)](Result<Attr> attr, const ChangeSet& changes) mutable {
    if (attr) overlay_.amend_now(*attr);
    done(std::move(attr), changes);
  };
}

Result<Attr> SqliteStore::lookup(Ino parent, std::string_view name) {
  const Overlay::Glance glance = overlay_.at_any();
  Result<Attr> attr;
  {
    auto reader = readers_.take();
    if (!reader) return std::unexpected(std::move(reader.error()));
    attr = find_entry(**reader, parent, name);
  }
  return attr ? getattr_after(glance, *attr) : attr;
}

Result<std::vector<DirEntry>> SqliteStore::readdir(Ino dir, uint64_t after_cookie, size_t limit) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const Overlay::Glance glance = overlay_.at_any();
  std::vector<DirEntry> entries;
  {
    auto rows = query(**reader,
                      "SELECT " EBLA_ATTR_COLUMNS
                      ", d.seq, d.name FROM dentries d JOIN inodes i ON i.ino = d.ino "
                      "WHERE d.parent = ? AND d.seq > ? ORDER BY d.seq LIMIT ?",
                      dir, std::min(after_cookie, kMax), std::min<uint64_t>(limit, kMax));
    if (!rows) return std::unexpected(std::move(rows.error()));
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) break;
      entries.push_back({.cookie = rows->uint64(kAttrColumns),
                         .name = rows->string(kAttrColumns + 1),
                         .attr = to_attr(*rows)});
    }
  }
  if (entries.empty()) {
    if (auto folder = folder_attr(**reader, dir); !folder) {
      return std::unexpected(std::move(folder.error()));
    }
  }
  for (DirEntry& entry : entries) {
    // A node that has gone meanwhile is told as it was.
    if (auto attr = getattr_after(glance, entry.attr)) entry.attr = *attr;
  }
  return entries;
}

Result<uint64_t> SqliteStore::entry_count(Ino dir) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto row = query(**reader, "SELECT kind, entries FROM inodes WHERE ino = ?", dir);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::unexpected(no_such_node(dir));
  if (row->int64(0) != static_cast<int64_t>(NodeKind::directory)) {
    return fail(Code::not_directory, fmt::format("node {} is not a directory", dir));
  }
  return row->uint64(1);
}

Result<std::string> SqliteStore::readlink(Ino ino) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto row = query(**reader, "SELECT target FROM inodes WHERE ino = ?", ino);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::unexpected(no_such_node(ino));
  if (row->is_null(0)) {
    return fail(Code::invalid_params, fmt::format("node {} is not a symbolic link", ino));
  }
  return row->string(0);
}

Result<std::vector<Xattr>> SqliteStore::xattrs(Ino ino) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  std::vector<Xattr> out;
  auto add = [&out](const char* name, std::string value) {
    if (!value.empty()) out.push_back({name, std::move(value)});
  };
  {
    auto row = query(**reader,
                     "SELECT i.hash, s.id, i.ino = s.history, s.created_ns, e.created_ns, e.kind, "
                     "e.tokens, e.tool, e.call_id, i.flags FROM inodes i "
                     "LEFT JOIN sessions s ON s.serial = i.session "
                     "LEFT JOIN evictions e ON e.id = i.eviction WHERE i.ino = ?",
                     ino);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) return std::unexpected(no_such_node(ino));
    const bool put_away = !row->is_null(4);
    const bool history = !row->is_null(2) && row->int64(2) != 0;
    if (put_away || history) add("user.ebla.created", utc_text(row->int64(put_away ? 4 : 3)));
    if (put_away) {
      const auto kind = static_cast<ArtifactKind>(row->int64(5));
      add("user.ebla.kind", std::string(artifact_kind_name(kind)));
    } else if (history) {
      add("user.ebla.kind", "history");
    }
    // Media belong to no session: not the call of whoever came first. A client's own node counts
    // for a session, but is none of its.
    const bool media = put_away && row->int64(5) == static_cast<int64_t>(ArtifactKind::media);
    const bool own = (row->int64(9) & (kNodeProtected | kNodeFixed)) == 0;
    if (!row->is_null(1) && !own) add("user.ebla.session", row->string(1));
    if (put_away) add("user.ebla.tokens", std::to_string(row->int64(6)));
    if (put_away && !media) {
      add("user.ebla.tool", row->string(7));
      add("user.ebla.tool_call_id", row->string(8));
    }
    if (!row->is_null(0)) add("user.ebla.xxh3", to_hash(row->bytes(0)).hex());
  }
  auto rows = query(**reader, "SELECT name, value FROM xattrs WHERE ino = ?", ino);
  if (!rows) return std::unexpected(std::move(rows.error()));
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    out.push_back({rows->string(0), rows->string(1)});
  }
  std::ranges::sort(out, {}, &Xattr::name);
  return out;
}

Result<std::string> SqliteStore::path_of(Ino ino) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto snapshot = Snapshot::begin(**reader);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  return node_path(**reader, ino);
}

Result<std::optional<Tombstone>> SqliteStore::tombstone(Ino parent, std::string_view name) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto row = query(**reader,
                   "SELECT path, removed_ns, uid, reason, size FROM removed "
                   "WHERE parent = ? AND name = ?",
                   parent, name);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  return Tombstone{.path = row->string(0),
                   .removed_ns = row->int64(1),
                   .uid = static_cast<uint32_t>(row->int64(2)),
                   .reason = row->string(3),
                   .size = row->uint64(4)};
}

}  // namespace ebla::sqlite
