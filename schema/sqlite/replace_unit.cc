// A file written as a whole: a new node with the new content takes the name.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

Error not_expected(const ReplacePlan& plan) {
  return {Code::conflict,
          fmt::format("{} has changed meanwhile: read it again and decide anew", plan.name)};
}

// What has the name, if it may be replaced.
Result<std::optional<Attr>> find_old(Database& db, const ReplacePlan& plan) {
  if (auto good = check_new_entry(db, plan.parent, plan.name); !good) {
    return std::unexpected(std::move(good.error()));
  }
  auto attr = find_entry(db, plan.parent, plan.name);
  if (!attr) {
    if (attr.error().code != Code::file_not_found) return std::unexpected(std::move(attr.error()));
    if (plan.expected != 0) return std::unexpected(not_expected(plan));
    if (auto free = check_unreserved(db, plan.parent, plan.name); !free) {
      return std::unexpected(std::move(free.error()));
    }
    return std::nullopt;
  }
  if (attr->kind == NodeKind::directory) {
    return fail(Code::is_directory, fmt::format("{} is a folder", plan.name));
  }
  if ((attr->flags & (kNodeProtected | kNodeFixed)) != 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("{} is protected: its content stays", plan.name));
  }
  if (attr->kind != NodeKind::file) {
    return fail(Code::invalid_params, fmt::format("{} is no file", plan.name));
  }
  const bool changed = plan.change && attr->change != *plan.change;
  if (attr->ino != plan.expected || changed) return std::unexpected(not_expected(plan));
  return *attr;
}

Result<uint64_t> size_of(Database& db, const ContentRef& content) {
  if (content.staged != 0) return staged_size(db, content.staged);
  if (content.bytes.size() <= limits::kInlineContentBytes) return content.bytes.size();
  return fail(Code::too_large, fmt::format("contents over {} bytes must be staged in slices",
                                           limits::kInlineContentBytes));
}

// The chunks become a file's own; its number.
Result<ContentId> take_content(Database& db, const ContentRef& content,
                               const std::vector<uint64_t>& sums) {
  if (content.staged != 0) {
    auto taken = unstage(db, content.staged);
    if (!taken) return std::unexpected(std::move(taken.error()));
    return content.staged;
  }
  if (content.bytes.empty()) return ContentId{0};
  auto id = next_id(db);
  if (!id) return id;
  auto stored = insert_chunks(db, *id, 0, content.bytes, sums);
  if (!stored) return std::unexpected(std::move(stored.error()));
  return id;
}

Result<Ino> put_new(Database& db, const ReplacePlan& plan, NewNode node, int64_t now_ns,
                    ChangeSet& changes) {
  node.mode = plan.mode & 07777;
  node.uid = plan.uid;
  node.gid = plan.gid;
  if (auto tree = inherit(db, plan.parent, node); !tree) {
    return std::unexpected(std::move(tree.error()));
  }
  return make_node(db, plan.parent, plan.name, node, now_ns, changes);
}

Result<Ino> put_over(Database& db, const ReplacePlan& plan, NewNode node, const Attr& old,
                     int64_t now_ns, ChangeSet& changes) {
  auto id = next_id(db);
  if (!id) return id;
  node.ino = *id;
  node.mode = old.mode;
  if (plan.drop_privileges) node.mode &= (old.mode & 010) != 0 ? ~06000u : ~04000u;
  node.uid = old.uid;
  node.gid = old.gid;
  auto place = entry_place(db, plan.parent, plan.name);
  if (!place) return std::unexpected(std::move(place.error()));
  auto done = insert_node(db, plan.parent, *place, node, now_ns);
  if (done) done = retarget_entry(db, plan.parent, plan.name, node.ino, now_ns, changes);
  if (done) {
    done = execute(db,
                   "UPDATE inodes SET (atime_ns, session) = "
                   "(SELECT atime_ns, session FROM inodes WHERE ino = ?1) WHERE ino = ?2",
                   old.ino, node.ino);
  }
  if (done) {
    done = execute(db,
                   "INSERT INTO xattrs(ino, name, value) "
                   "SELECT ?2, name, value FROM xattrs WHERE ino = ?1",
                   old.ino, node.ino);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return node.ino;
}

}  // namespace

Result<Attr> replace_file(Database& db, const ReplacePlan& plan, const std::vector<uint64_t>& sums,
                          const Quotas& quotas, int64_t now_ns, ChangeSet& changes) {
  auto old = find_old(db, plan);
  if (!old) return std::unexpected(std::move(old.error()));
  auto size = size_of(db, plan.content);
  if (!size) return std::unexpected(std::move(size.error()));
  const uint64_t before = *old ? (*old)->size : 0;
  if (auto fits = check_growth(before, *size, quotas, *size); !fits) {
    return std::unexpected(std::move(fits.error()));
  }
  auto content = take_content(db, plan.content, sums);
  if (!content) return std::unexpected(std::move(content.error()));
  const NewNode node{.size = *size, .content = *content};
  auto ino = *old ? put_over(db, plan, node, **old, now_ns, changes)
                  : put_new(db, plan, node, now_ns, changes);
  if (!ino) return std::unexpected(std::move(ino.error()));
  auto done = execute(db, "UPDATE inodes SET raw = ? WHERE ino = ?", *size, *ino);
  if (done) done = name_session(db, *ino, changes);
  if (done) {
    done = add_usage(db, changes.tree, {.files = 1, .logical_bytes = static_cast<int64_t>(*size)});
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return node_attr(db, *ino);
}

// Bytes that were written to the old file and are not committed count as a change of it.
void SqliteStore::replace(ReplacePlan plan, ChangeOptions options, Completion<Attr> done) {
  std::vector<uint64_t> sums = chunk_sums(plan.content.bytes);  // not on the writer's time
  change_file(options, Growth::yes, std::move(done),
              [this, plan = std::move(plan), sums = std::move(sums)](
                  Database& db, ChangeSet& changes, Carried& carried) -> Result<Attr> {
                if (plan.change) {
                  auto kept = carried.write(db, plan.expected, changes);
                  if (!kept) return std::unexpected(std::move(kept.error()));
                }
                return replace_file(db, plan, sums, quotas_, now_ns(), changes);
              });
}

}  // namespace ebla::sqlite
