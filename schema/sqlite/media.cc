#include "schema/sqlite/media.h"

#include <fmt/format.h>

#include "schema/path.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {

Result<std::optional<Attr>> find_media_folder(Database& db) {
  auto row = query(db,
                   "SELECT " EBLA_ATTR_COLUMNS
                   ", i.session FROM dentries d JOIN inodes i ON i.ino = d.ino "
                   "WHERE d.parent = ? AND d.name = ?",
                   kHistoriesIno, kMediaName);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  // Only the daemon makes such folders, and those of human messages have a session.
  if ((row->int64(12) & kNodeFixed) == 0 || row->uint64(kAttrColumns) != 0) {
    return fail(Code::conflict,
                fmt::format("the folder for media cannot be made: {}/{} is something else; rename "
                            "or remove it",
                            kHistoryFolder, kMediaName));
  }
  return to_attr(*row);
}

Result<Attr> make_media_folder(Database& db, int64_t now_ns, ChangeSet& changes) {
  const auto owner = node_attr(db, kHistoriesIno);
  if (!owner) return owner;
  auto folder = make_node(db, kHistoriesIno, kMediaName,
                          {.kind = NodeKind::directory,
                           .mode = 0700,
                           .uid = owner->uid,
                           .gid = owner->gid,
                           .flags = kNodeFixed},
                          now_ns, changes);
  if (!folder) return std::unexpected(std::move(folder.error()));
  if (auto counted = add_usage(db, 0, {.directories = 1}); !counted) {
    return std::unexpected(std::move(counted.error()));
  }
  return node_attr(db, *folder);
}

Result<std::optional<MediaFile>> find_media(Database& db, Ino folder, Hash128 hash,
                                            ContentId content) {
  const std::string first = hash.hex();
  const std::string last = first + '\xff';
  auto row = query(db,
                   "SELECT i.ino, d.name FROM dentries d JOIN inodes i ON i.ino = d.ino "
                   "WHERE d.parent = ? AND d.name >= ? AND d.name < ? AND i.content = ?",
                   folder, first, last, content);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  return MediaFile{.ino = row->uint64(0), .name = row->string(1)};
}

}  // namespace ebla::sqlite
