// Clients' nodes and their attributes; every change of theirs as a unit.
#include <fmt/format.h>

#include <utility>

#include "schema/base/limits.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

constexpr uint32_t kSetuid = 04000;
constexpr uint32_t kSetgid = 02000;
constexpr uint32_t kGroupExecute = 010;
constexpr uint32_t kModeBits = 07777;

Result<Attr> open_attr(Database& db, Ino ino) {
  auto attr = node_attr(db, ino);
  if (attr && (attr->flags & (kNodeProtected | kNodeFixed)) != 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("node {} is protected: its attributes stay", ino));
  }
  return attr;
}

Result<void> check_create(Database& db, const CreatePlan& plan) {
  if (auto good = check_new_entry(db, plan.parent, plan.name); !good) return good;
  if ((plan.kind == NodeKind::symlink) == plan.target.empty()) {
    return fail(Code::invalid_params, "a symbolic link has a target, and nothing else has");
  }
  if (plan.target.size() > limits::kLinkTargetBytes) {
    return fail(Code::name_too_long,
                fmt::format("the target of a link has at most {} bytes", limits::kLinkTargetBytes));
  }
  auto taken = name_exists(db, plan.parent, plan.name);
  if (!taken) return std::unexpected(std::move(taken.error()));
  if (*taken) return fail(Code::already_exists, fmt::format("{} exists", plan.name));
  return check_unreserved(db, plan.parent, plan.name);
}

Result<void> check_xattr_name(std::string_view name) {
  if (!name.starts_with("user.") || name == "user.") {
    return fail(Code::not_supported, "only attributes whose name begins with user. are kept");
  }
  // Not "not permitted": programs that copy all attributes along pass over what is not supported.
  if (name.starts_with("user.ebla.")) {
    return fail(Code::not_supported, "attributes named user.ebla. are computed");
  }
  if (name.size() <= limits::kNameBytes) return {};
  return fail(Code::name_too_long,
              fmt::format("the name of an attribute has at most {} bytes", limits::kNameBytes));
}

uint32_t new_mode(const Attr& attr, const SetAttrPlan& plan) {
  if (plan.mode) return *plan.mode & kModeBits;
  const bool new_owner = plan.uid.has_value() || plan.gid.has_value();
  if (!new_owner || attr.kind == NodeKind::directory) return attr.mode;
  return attr.mode & ~(kSetuid | ((attr.mode & kGroupExecute) != 0 ? kSetgid : 0));
}

}  // namespace

Result<SessionId> inherit(Database& db, Ino parent, NewNode& node) {
  auto row = query(db,
                   "SELECT i.mode, i.gid, i.session, ifnull(s.tree, 0) FROM inodes i "
                   "LEFT JOIN sessions s ON s.serial = i.session WHERE i.ino = ?",
                   parent);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if ((row->int64(0) & kSetgid) != 0) {
    node.gid = static_cast<uint32_t>(row->int64(1));
    if (node.kind == NodeKind::directory) node.mode |= kSetgid;
  }
  node.session = row->uint64(2);
  return row->uint64(3);
}

Result<Attr> create_node(Database& db, const CreatePlan& plan, int64_t now_ns, ChangeSet& changes) {
  if (auto good = check_create(db, plan); !good) return std::unexpected(std::move(good.error()));
  NewNode node;
  node.kind = plan.kind;
  node.mode = plan.kind == NodeKind::symlink ? 0777 : plan.mode & kModeBits;
  node.uid = plan.uid;
  node.gid = plan.gid;
  node.rdev = plan.rdev;
  node.size = plan.target.size();
  node.target = plan.target;
  auto tree = inherit(db, plan.parent, node);
  if (!tree) return std::unexpected(std::move(tree.error()));
  auto ino = make_node(db, plan.parent, plan.name, node, now_ns, changes);
  if (!ino) return std::unexpected(std::move(ino.error()));
  changes.session = node.session;
  changes.tree = *tree;
  const bool folder = plan.kind == NodeKind::directory;
  auto counted = add_usage(db, *tree,
                           {.files = folder ? 0 : 1,
                            .directories = folder ? 1 : 0,
                            .logical_bytes = static_cast<int64_t>(node.size)});
  if (!counted) return std::unexpected(std::move(counted.error()));
  return node_attr(db, *ino);
}

Result<Attr> change_attributes(Database& db, const SetAttrPlan& plan, int64_t now_ns,
                               ChangeSet& changes) {
  auto attr = open_attr(db, plan.ino);
  if (!attr) return attr;
  const auto time = [now_ns](const std::optional<TimeValue>& value, int64_t before) {
    return value ? value->ns.value_or(now_ns) : before;
  };
  auto done =
      execute(db,
              "UPDATE inodes SET mode = ?, uid = ?, gid = ?, atime_ns = ?, mtime_ns = ?, "
              "ctime_ns = ?, change = change + 1 WHERE ino = ?",
              new_mode(*attr, plan), plan.uid.value_or(attr->uid), plan.gid.value_or(attr->gid),
              time(plan.atime, attr->atime_ns), time(plan.mtime, attr->mtime_ns), now_ns, plan.ino);
  if (done) done = name_session(db, plan.ino, changes);
  if (!done) return std::unexpected(std::move(done.error()));
  changes.attributes.push_back(plan.ino);
  return node_attr(db, plan.ino);
}

Result<void> set_xattr(Database& db, const XattrPlan& plan, int64_t now_ns, ChangeSet& changes) {
  if (auto attr = open_attr(db, plan.ino); !attr) return std::unexpected(std::move(attr.error()));
  if (auto good = check_xattr_name(plan.name); !good) return good;
  if (plan.value.size() > limits::kXattrBytes) {
    return fail(Code::too_large,
                fmt::format("an attribute has at most {} bytes", limits::kXattrBytes));
  }
  auto there = exists(db, "SELECT 1 FROM xattrs WHERE ino = ? AND name = ?", plan.ino, plan.name);
  if (!there) return std::unexpected(std::move(there.error()));
  if (*there && plan.mode == XattrPlan::Mode::create) {
    return fail(Code::already_exists, fmt::format("the attribute {} exists", plan.name));
  }
  if (!*there && plan.mode == XattrPlan::Mode::replace) {
    return fail(Code::no_attribute, fmt::format("there is no attribute {}", plan.name));
  }
  if (!*there) {
    auto row =
        query(db, "SELECT ifnull(sum(length(name) + 1), 0) FROM xattrs WHERE ino = ?", plan.ino);
    if (!row) return std::unexpected(std::move(row.error()));
    if (auto found = row->step(); !found) return std::unexpected(std::move(found.error()));
    if (row->uint64(0) + plan.name.size() + 1 > limits::kXattrListBytes) {
      return fail(Code::no_space, "the node has too many attributes: remove some");
    }
  }
  auto done = execute(db,
                      "INSERT INTO xattrs(ino, name, value) VALUES(?, ?, ?) "
                      "ON CONFLICT(ino, name) DO UPDATE SET value = excluded.value",
                      plan.ino, plan.name, plan.value);
  if (done) done = touch_node(db, plan.ino, now_ns, changes);
  if (done) done = name_session(db, plan.ino, changes);
  return done;
}

Result<void> remove_xattr(Database& db, Ino ino, std::string_view name, int64_t now_ns,
                          ChangeSet& changes) {
  if (auto attr = open_attr(db, ino); !attr) return std::unexpected(std::move(attr.error()));
  if (auto good = check_xattr_name(name); !good) return good;
  auto done = execute(db, "DELETE FROM xattrs WHERE ino = ? AND name = ?", ino, name);
  if (done && db.changes() == 0) {
    return fail(Code::no_attribute, fmt::format("there is no attribute {}", name));
  }
  if (done) done = touch_node(db, ino, now_ns, changes);
  if (done) done = name_session(db, ino, changes);
  return done;
}

void SqliteStore::remove(RemovePlan plan, ChangeOptions options, Completion<void> done) {
  change(options, Growth::no, std::move(done),
         [this, plan = std::move(plan)](Database& db, ChangeSet& changes) {
           return remove_entry(db, plan, now_ns(), changes);
         });
}

void SqliteStore::remove_folder(RemovePlan plan, ChangeOptions options, Completion<void> done) {
  change(options, Growth::no, std::move(done),
         [this, plan = std::move(plan)](Database& db, ChangeSet& changes) {
           return sqlite::remove_folder(db, plan, now_ns(), changes);
         });
}

void SqliteStore::create(CreatePlan plan, ChangeOptions options, Completion<Attr> done) {
  change(options, Growth::yes, std::move(done),
         [this, plan = std::move(plan)](Database& db, ChangeSet& changes) {
           return create_node(db, plan, now_ns(), changes);
         });
}

// A name that is on disk names bytes that are, too.
void SqliteStore::link(LinkPlan plan, ChangeOptions options, Completion<Attr> done) {
  change_file(options, Growth::yes, amended(std::move(done)),
              [this, plan = std::move(plan)](Database& db, ChangeSet& changes,
                                             Carried& carried) -> Result<Attr> {
                auto linked = link_node(db, plan, now_ns(), changes);
                if (linked) linked = carried.write(db, plan.ino, changes);
                if (!linked) return std::unexpected(std::move(linked.error()));
                return node_attr(db, plan.ino);
              });
}

void SqliteStore::rename(RenamePlan plan, ChangeOptions options, Completion<void> done) {
  change_file(options, Growth::admitted, std::move(done),
              [this, plan = std::move(plan)](Database& db, ChangeSet& changes,
                                             Carried& carried) -> Result<void> {
                if (auto source = find_entry(db, plan.parent, plan.name); source) {
                  if (auto kept = carried.write(db, source->ino, changes); !kept) return kept;
                }
                return rename_entry(db, plan, now_ns(), changes);
              });
}

void SqliteStore::setattr(SetAttrPlan plan, ChangeOptions options, Completion<Attr> done) {
  std::optional<RangeChange> range;
  if (plan.size) {
    auto before = write_behind_.resize(plan);
    if (!before) return done(std::unexpected(std::move(before.error())), {});
    range = {.ino = plan.ino, .offset = std::min(*before, *plan.size), .length = 0};
  }
  change_file(
      options, Growth::admitted, amended(std::move(done)),
      [this, plan, range](Database& db, ChangeSet& changes, Carried& carried) -> Result<Attr> {
        if (auto kept = carried.write(db, plan.ino, changes); !kept) {
          return std::unexpected(std::move(kept.error()));
        }
        if (range) changes.ranges.push_back(*range);
        return change_attributes(db, plan, now_ns(), changes);
      });
}

void SqliteStore::set_xattr(XattrPlan plan, ChangeOptions options, Completion<void> done) {
  change_file(options, Growth::yes, std::move(done),
              [this, plan = std::move(plan)](Database& db, ChangeSet& changes,
                                             Carried& carried) -> Result<void> {
                if (auto kept = carried.write(db, plan.ino, changes); !kept) return kept;
                return sqlite::set_xattr(db, plan, now_ns(), changes);
              });
}

void SqliteStore::remove_xattr(Ino ino, std::string name, ChangeOptions options,
                               Completion<void> done) {
  change_file(options, Growth::admitted, std::move(done),
              [this, ino, name = std::move(name)](Database& db, ChangeSet& changes,
                                                  Carried& carried) -> Result<void> {
                if (auto kept = carried.write(db, ino, changes); !kept) return kept;
                return sqlite::remove_xattr(db, ino, name, now_ns(), changes);
              });
}

}  // namespace ebla::sqlite
