// Names: removing, linking, renaming. A node's row knows one of its entries; the table links has
// the others of those few that have several.
#include <fmt/format.h>

#include <optional>

#include "schema/base/limits.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

// An entry and what it names.
struct Named {
  Ino parent = 0;
  uint64_t seq = 0;
  Attr attr;
  uint64_t eviction = 0;

  bool folder() const { return attr.kind == NodeKind::directory; }
};

Result<std::optional<Named>> find_named(Database& db, Ino parent, std::string_view name) {
  auto row = query(db,
                   "SELECT " EBLA_ATTR_COLUMNS
                   ", d.seq, i.eviction FROM dentries d JOIN inodes i ON i.ino = d.ino "
                   "WHERE d.parent = ? AND d.name = ?",
                   parent, name);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  return Named{.parent = parent,
               .seq = row->uint64(kAttrColumns),
               .attr = to_attr(*row),
               .eviction = row->uint64(kAttrColumns + 1)};
}

// The same, with an error when there is none.
Result<Named> get_named(Database& db, Ino parent, std::string_view name) {
  if (auto attr = find_entry(db, parent, name); !attr) {
    return std::unexpected(std::move(attr.error()));
  }
  auto named = find_named(db, parent, name);
  if (!named) return std::unexpected(std::move(named.error()));
  return std::move(**named);
}

// The node's entry is now another one.
Result<void> move_reference(Database& db, const Named& from, Ino parent, uint64_t seq) {
  const Ino ino = from.attr.ino;
  auto done = execute(db,
                      "UPDATE inodes SET parent = ?, seq = ? WHERE ino = ? AND parent = ? AND "
                      "seq = ?",
                      parent, seq, ino, from.parent, from.seq);
  if (!done || db.changes() != 0) return done;
  return execute(db,
                 "UPDATE links SET parent = ?, seq = ? WHERE ino = ? AND parent = ? AND seq = ?",
                 parent, seq, ino, from.parent, from.seq);
}

// The node loses this entry, which is gone: the first of the others takes its place.
Result<void> drop_reference(Database& db, const Named& named) {
  const Ino ino = named.attr.ino;
  auto done = execute(db, "DELETE FROM links WHERE ino = ? AND parent = ? AND seq = ?", ino,
                      named.parent, named.seq);
  if (!done || db.changes() != 0) return done;
  done = execute(db,
                 "UPDATE inodes SET (parent, seq) = (SELECT ifnull(max(parent), 0), "
                 "ifnull(max(seq), 0) FROM (SELECT parent, seq FROM links WHERE ino = ?1 LIMIT 1)) "
                 "WHERE ino = ?1",
                 ino);
  if (!done || named.attr.nlink <= 1) return done;
  return execute(db,
                 "DELETE FROM links WHERE (ino, parent, seq) IN "
                 "(SELECT ino, parent, seq FROM inodes WHERE ino = ?)",
                 ino);
}

// The node has lost an entry: one name less, or none and a row in orphans.
Result<void> lose_name(Database& db, const Named& named, int64_t now_ns, ChangeSet& changes) {
  const Ino ino = named.attr.ino;
  if (auto done = drop_reference(db, named); !done) return done;
  const uint32_t left = named.folder() ? 0 : named.attr.nlink - 1;
  if (auto done = execute(db, "UPDATE inodes SET nlink = ? WHERE ino = ?", left, ino); !done) {
    return done;
  }
  if (auto done = touch_node(db, ino, now_ns, changes); !done || left != 0) return done;
  changes.orphaned.push_back(ino);
  return execute(db, "INSERT INTO orphans(ino) VALUES(?)", ino);
}

Result<void> delete_dentry(Database& db, const Named& named) {
  return execute(db, "DELETE FROM dentries WHERE parent = ? AND seq = ?", named.parent, named.seq);
}

Result<void> bury(Database& db, const RemovePlan& plan, const std::string& path, const Named& named,
                  int64_t now_ns) {
  return execute(db,
                 "INSERT INTO removed(parent, name, reserved, path, removed_ns, uid, reason, size) "
                 "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(parent, name) DO UPDATE SET "
                 "reserved = max(reserved, excluded.reserved), path = excluded.path, "
                 "removed_ns = excluded.removed_ns, uid = excluded.uid, reason = excluded.reason, "
                 "size = excluded.size",
                 plan.parent, plan.name, true, path, now_ns, plan.uid, plan.reason,
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

// What removing a file and a folder have in common, once it is known to be allowed.
Result<void> take_away(Database& db, const RemovePlan& plan, const Named& named, int64_t now_ns,
                       ChangeSet& changes) {
  auto done = delete_dentry(db, named);
  if (done) done = touch_folder(db, plan.parent, -1, named.folder() ? -1 : 0, now_ns, changes);
  if (done) done = lose_name(db, named, now_ns, changes);
  if (done) done = name_session(db, named.attr.ino, changes);
  changes.dentries.push_back({.parent = plan.parent,
                              .name = plan.name,
                              .child = named.attr.ino,
                              .kind = DentryChange::Kind::removed});
  return done;
}

// Whether `folder` is `above` or lies in it.
Result<bool> lies_in(Database& db, Ino folder, Ino above) {
  for (Ino at = folder; at != 0;) {
    if (at == above) return true;
    auto row = query(db, "SELECT parent FROM inodes WHERE ino = ?", at);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return found;
    at = *found ? row->uint64(0) : 0;
  }
  return false;
}

Result<void> check_unguarded(const Named& named) {
  if ((named.attr.flags & (kNodeProtected | kNodeFixed)) == 0) return {};
  const bool top = (named.attr.flags & kNodeFixed) != 0 && named.parent == kRootIno;
  return fail(top ? Code::busy : Code::operation_not_permitted,
              fmt::format("node {} is protected: its name stays", named.attr.ino));
}

Result<void> check_into_itself(Database& db, const Named& named, Ino new_parent) {
  if (!named.folder()) return {};
  auto inside = lies_in(db, new_parent, named.attr.ino);
  if (!inside) return std::unexpected(std::move(inside.error()));
  if (!*inside) return {};
  return fail(Code::invalid_path, "a folder cannot be moved into itself");
}

Result<void> check_over(Database& db, const Named& source, const Named& target) {
  if (target.folder() && !source.folder()) {
    return fail(Code::is_directory, "a folder has the new name");
  }
  if (!target.folder() && source.folder()) {
    return fail(Code::not_directory, "what has the new name is no folder");
  }
  if (!target.folder()) return {};
  auto full = exists(db, "SELECT 1 FROM dentries WHERE parent = ?", target.attr.ino);
  if (!full) return std::unexpected(std::move(full.error()));
  if (!*full) return {};
  return fail(Code::not_empty, "the folder that has the new name is not empty");
}

Result<void> check_rename(Database& db, const RenamePlan& plan, const Named& source,
                          const std::optional<Named>& target) {
  const bool exchange = plan.mode == RenamePlan::Mode::exchange;
  if (exchange && !target) return fail(Code::file_not_found, "nothing has the new name");
  if (plan.mode == RenamePlan::Mode::keep && target) {
    return fail(Code::already_exists, "the new name is taken");
  }
  if (target && target->attr.ino == source.attr.ino) return {};
  if (auto good = check_unguarded(source); !good) return good;
  if (target) {
    if (auto good = check_unguarded(*target); !good) return good;
  }
  if (auto good = check_into_itself(db, source, plan.new_parent); !good) return good;
  if (!target) return check_unreserved(db, plan.new_parent, plan.new_name);
  if (exchange) return check_into_itself(db, *target, plan.parent);
  return check_over(db, source, *target);
}

void note_entry(Ino parent, const std::string& name, Ino child, DentryChange::Kind kind,
                ChangeSet& changes) {
  changes.dentries.push_back({.parent = parent, .name = name, .child = child, .kind = kind});
}

// Both entries stay and name the other's node.
Result<void> exchange_entries(Database& db, const RenamePlan& plan, const Named& source,
                              const Named& target, int64_t now_ns, ChangeSet& changes) {
  const char* point = "UPDATE dentries SET ino = ? WHERE parent = ? AND seq = ?";
  auto done = execute(db, point, target.attr.ino, source.parent, source.seq);
  if (done) done = execute(db, point, source.attr.ino, target.parent, target.seq);
  if (done) done = move_reference(db, source, target.parent, target.seq);
  if (done) done = move_reference(db, target, source.parent, source.seq);
  const int links = static_cast<int>(target.folder()) - static_cast<int>(source.folder());
  const bool one_folder = source.parent == target.parent;
  if (done) {
    done = touch_folder(db, source.parent, 0, one_folder ? 0 : links, now_ns, changes);
  }
  if (done && !one_folder) done = touch_folder(db, target.parent, 0, -links, now_ns, changes);
  if (done) done = touch_node(db, source.attr.ino, now_ns, changes);
  if (done) done = touch_node(db, target.attr.ino, now_ns, changes);
  using Kind = DentryChange::Kind;
  note_entry(plan.parent, plan.name, target.attr.ino, Kind::replaced, changes);
  note_entry(plan.new_parent, plan.new_name, source.attr.ino, Kind::replaced, changes);
  return done;
}

// The entry keeps its place in the listing as long as its name or its folder is the same.
Result<uint64_t> new_place(Database& db, const RenamePlan& plan, const Named& source,
                           const std::optional<Named>& target) {
  if (target) return target->seq;
  if (plan.parent == plan.new_parent) return source.seq;
  return next_id(db);
}

Result<void> replace_entry(Database& db, const RenamePlan& plan, const Named& source,
                           const std::optional<Named>& target, int64_t now_ns, ChangeSet& changes) {
  auto seq = new_place(db, plan, source, target);
  if (!seq) return std::unexpected(std::move(seq.error()));
  auto done = delete_dentry(db, source);
  if (done && target) done = delete_dentry(db, *target);
  if (done && target) done = lose_name(db, *target, now_ns, changes);
  if (done) {
    done = execute(db, "INSERT INTO dentries(parent, seq, name, ino) VALUES(?, ?, ?, ?)",
                   plan.new_parent, *seq, plan.new_name, source.attr.ino);
  }
  if (done) done = move_reference(db, source, plan.new_parent, *seq);
  const int lost_links = target && target->folder() ? 1 : 0;
  const int links = source.folder() ? 1 : 0;
  if (done && plan.parent == plan.new_parent) {
    done = touch_folder(db, plan.parent, target ? -1 : 0, -lost_links, now_ns, changes);
  } else if (done) {
    done = touch_folder(db, plan.parent, -1, -links, now_ns, changes);
    if (done) {
      done = touch_folder(db, plan.new_parent, target ? 0 : 1, links - lost_links, now_ns, changes);
    }
  }
  if (done) done = touch_node(db, source.attr.ino, now_ns, changes);
  using Kind = DentryChange::Kind;
  note_entry(plan.parent, plan.name, source.attr.ino, Kind::removed, changes);
  note_entry(plan.new_parent, plan.new_name, source.attr.ino, target ? Kind::replaced : Kind::added,
             changes);
  return done;
}

}  // namespace

Result<void> check_new_entry(Database& db, Ino parent, std::string_view name) {
  auto folder = folder_attr(db, parent);
  if (!folder) return std::unexpected(std::move(folder.error()));
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos) {
    return fail(Code::invalid_path,
                "a name is not empty, \".\" or \"..\" and holds neither '/' nor NUL");
  }
  if (name.size() > limits::kNameBytes) {
    return fail(Code::name_too_long, fmt::format("a name has at most {} bytes, this one {}",
                                                 limits::kNameBytes, name.size()));
  }
  if (folder->nlink != 0) return {};
  return fail(Code::file_not_found, "the folder has been removed");
}

Result<void> check_unreserved(Database& db, Ino parent, std::string_view name) {
  auto reserved =
      exists(db, "SELECT 1 FROM removed WHERE parent = ? AND name = ? AND reserved", parent, name);
  if (!reserved) return std::unexpected(std::move(reserved.error()));
  if (!*reserved) return {};
  return fail(Code::operation_not_permitted,
              "a removed result had this name, which stays its own: choose another one");
}

Result<uint64_t> entry_place(Database& db, Ino parent, std::string_view name) {
  auto named = get_named(db, parent, name);
  if (!named) return std::unexpected(std::move(named.error()));
  return named->seq;
}

Result<void> retarget_entry(Database& db, Ino parent, std::string_view name, Ino ino,
                            int64_t now_ns, ChangeSet& changes) {
  auto named = get_named(db, parent, name);
  if (!named) return std::unexpected(std::move(named.error()));
  auto done = execute(db, "UPDATE dentries SET ino = ? WHERE parent = ? AND seq = ?", ino, parent,
                      named->seq);
  if (done) done = lose_name(db, *named, now_ns, changes);
  if (done) done = touch_folder(db, parent, 0, 0, now_ns, changes);
  note_entry(parent, std::string(name), ino, DentryChange::Kind::replaced, changes);
  return done;
}

Result<void> name_session(Database& db, Ino ino, ChangeSet& changes) {
  auto row = query(db,
                   "SELECT s.serial, s.tree FROM inodes i JOIN sessions s ON s.serial = i.session "
                   "WHERE i.ino = ?",
                   ino);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return {};
  changes.session = row->uint64(0);
  changes.tree = row->uint64(1);
  return {};
}

Result<void> remove_entry(Database& db, const RemovePlan& plan, int64_t now_ns,
                          ChangeSet& changes) {
  auto named = get_named(db, plan.parent, plan.name);
  if (!named) return std::unexpected(std::move(named.error()));
  if (named->folder()) return fail(Code::is_directory, fmt::format("{} is a folder", plan.name));
  const uint32_t flags = named->attr.flags;
  if ((flags & kNodeProtected) != 0 && (flags & kNodeRemovable) == 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("{} is protected: it cannot be removed", plan.name));
  }
  if (named->eviction != 0) {
    auto path = node_path(db, named->attr.ino);
    if (!path) return std::unexpected(std::move(path.error()));
    if (auto done = bury(db, plan, *path, *named, now_ns); !done) return done;
    if (auto done = forget_file(db, named->eviction, named->attr.ino); !done) return done;
  }
  return take_away(db, plan, *named, now_ns, changes);
}

Result<void> remove_folder(Database& db, const RemovePlan& plan, int64_t now_ns,
                           ChangeSet& changes) {
  auto named = get_named(db, plan.parent, plan.name);
  if (!named) return std::unexpected(std::move(named.error()));
  if (!named->folder()) {
    return fail(Code::not_directory, fmt::format("{} is not a directory", plan.name));
  }
  if (auto good = check_unguarded(*named); !good) return good;
  auto full = exists(db, "SELECT 1 FROM dentries WHERE parent = ?", named->attr.ino);
  if (!full) return std::unexpected(std::move(full.error()));
  if (*full) return fail(Code::not_empty, fmt::format("{} is not empty", plan.name));
  return take_away(db, plan, *named, now_ns, changes);
}

Result<void> link_node(Database& db, const LinkPlan& plan, int64_t now_ns, ChangeSet& changes) {
  if (auto good = check_new_entry(db, plan.parent, plan.name); !good) return good;
  auto attr = node_attr(db, plan.ino);
  if (!attr) return std::unexpected(std::move(attr.error()));
  if (attr->nlink == 0) return std::unexpected(no_such_node(plan.ino));
  if (attr->kind == NodeKind::directory || (attr->flags & (kNodeProtected | kNodeFixed)) != 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("node {} is protected or a folder: it has one name", plan.ino));
  }
  auto taken = name_exists(db, plan.parent, plan.name);
  if (!taken) return std::unexpected(std::move(taken.error()));
  if (*taken) return fail(Code::already_exists, fmt::format("{} exists", plan.name));
  if (auto good = check_unreserved(db, plan.parent, plan.name); !good) return good;
  if (attr->nlink >= limits::kLinks) {
    return fail(Code::too_many_links, fmt::format("a file has at most {} names", limits::kLinks));
  }
  auto seq = next_id(db);
  if (!seq) return std::unexpected(std::move(seq.error()));
  auto done = execute(db, "INSERT INTO dentries(parent, seq, name, ino) VALUES(?, ?, ?, ?)",
                      plan.parent, *seq, plan.name, plan.ino);
  if (done) {
    done = execute(db, "INSERT INTO links(ino, parent, seq) VALUES(?, ?, ?)", plan.ino, plan.parent,
                   *seq);
  }
  if (done) done = execute(db, "UPDATE inodes SET nlink = nlink + 1 WHERE ino = ?", plan.ino);
  if (done) done = touch_node(db, plan.ino, now_ns, changes);
  if (done) done = touch_folder(db, plan.parent, 1, 0, now_ns, changes);
  if (done) done = name_session(db, plan.ino, changes);
  note_entry(plan.parent, plan.name, plan.ino, DentryChange::Kind::added, changes);
  return done;
}

Result<void> rename_entry(Database& db, const RenamePlan& plan, int64_t now_ns,
                          ChangeSet& changes) {
  auto source = get_named(db, plan.parent, plan.name);
  if (!source) return std::unexpected(std::move(source.error()));
  if (auto good = check_new_entry(db, plan.new_parent, plan.new_name); !good) return good;
  auto target = find_named(db, plan.new_parent, plan.new_name);
  if (!target) return std::unexpected(std::move(target.error()));
  if (auto good = check_rename(db, plan, *source, *target); !good) return good;
  if (*target && (*target)->attr.ino == source->attr.ino) return {};
  if (auto named = name_session(db, source->attr.ino, changes); !named) return named;
  if (plan.mode == RenamePlan::Mode::exchange) {
    return exchange_entries(db, plan, *source, **target, now_ns, changes);
  }
  return replace_entry(db, plan, *source, *target, now_ns, changes);
}

}  // namespace ebla::sqlite
