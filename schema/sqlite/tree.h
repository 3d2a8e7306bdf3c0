// Nodes and names, on one connection: what the families of units share. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/hash.h"
#include "schema/change_set.h"
#include "schema/file_plans.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/quota.h"

namespace ebla::sqlite {

Error no_such_node(Ino ino);

// ---- Reads.
Result<Attr> node_attr(Database& db, Ino ino);
// file_not_found, not_directory.
Result<Attr> folder_attr(Database& db, Ino ino);
Result<Attr> find_entry(Database& db, Ino parent, std::string_view name);
Result<bool> name_exists(Database& db, Ino parent, std::string_view name);
// An entry has the name, or a put-away file had it.
Result<bool> name_taken(Database& db, Ino parent, std::string_view name);
// file_not_found for a node without a name.
Result<std::string> node_path(Database& db, Ino ino);

// ---- Changes: within a unit of the writer.
struct NewNode {
  Ino ino = 0;  // from next_id(); 0: draws one
  NodeKind kind = NodeKind::file;
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t flags = 0;
  uint64_t rdev = 0;
  uint64_t size = 0;
  ContentId content = 0;
  std::optional<Hash128> hash = std::nullopt;
  uint64_t eviction = 0;
  SessionId session = 0;
  std::string_view target = {};  // of a symbolic link
};

// A number for a node, content, decision or session that none ever had.
Result<uint64_t> next_id(Database& db);
// At the beginning of a transaction, outside its savepoints: draws ids ahead when few are left, so
// that the page that counts them is not written by each unit. Whoever rolls the transaction back
// forgets those that the connection holds.
Result<void> reserve_ids(Database& db);
// The node alone, for an entry that is or will be there.
Result<void> insert_node(Database& db, Ino parent, uint64_t seq, const NewNode& node,
                         int64_t now_ns);
// Makes node and entry and touches the folder. The name must be free. Usage is the caller's.
Result<Ino> make_node(Database& db, Ino parent, std::string_view name, const NewNode& node,
                      int64_t now_ns, ChangeSet& changes);
// An entry came or went: `entries` and, for folders, `links` say by how many.
Result<void> touch_folder(Database& db, Ino folder, int entries, int links, int64_t now_ns,
                          ChangeSet& changes);
// ctime and the change counter.
Result<void> touch_node(Database& db, Ino ino, int64_t now_ns, ChangeSet& changes);
// Frees the node when nothing names it; its content goes to the list of the freed. False: something
// does, or it is gone already.
Result<bool> reap_node(Database& db, Ino ino);

// Names (dentry_units.cc). The errors are those of Store.
Result<void> remove_entry(Database& db, const RemovePlan& plan, int64_t now_ns, ChangeSet& changes);
Result<void> remove_folder(Database& db, const RemovePlan& plan, int64_t now_ns,
                           ChangeSet& changes);
Result<void> link_node(Database& db, const LinkPlan& plan, int64_t now_ns, ChangeSet& changes);
Result<void> rename_entry(Database& db, const RenamePlan& plan, int64_t now_ns, ChangeSet& changes);
// Whether a client may give the name in this folder: it is one, the folder is there, and no removed
// result had it. Whether something has it now is not asked.
Result<void> check_new_entry(Database& db, Ino parent, std::string_view name);
Result<void> check_unreserved(Database& db, Ino parent, std::string_view name);
// The entry names another node, whose row knows it; what it named loses the name. The place of the
// entry.
Result<uint64_t> entry_place(Database& db, Ino parent, std::string_view name);
Result<void> retarget_entry(Database& db, Ino parent, std::string_view name, Ino ino,
                            int64_t now_ns, ChangeSet& changes);
// Tells the session that the node counts for.
Result<void> name_session(Database& db, Ino ino, ChangeSet& changes);

// Nodes and attributes of clients (file_units.cc).
Result<Attr> create_node(Database& db, const CreatePlan& plan, int64_t now_ns, ChangeSet& changes);
// What a client's new node takes from its folder: session, and with setgid the group. The tree that
// it counts for.
Result<SessionId> inherit(Database& db, Ino parent, NewNode& node);
// `sums` are those of bytes that are given in the plan.
Result<Attr> replace_file(Database& db, const ReplacePlan& plan, const std::vector<uint64_t>& sums,
                          const Quotas& quotas, int64_t now_ns, ChangeSet& changes);
Result<Attr> change_attributes(Database& db, const SetAttrPlan& plan, int64_t now_ns,
                               ChangeSet& changes);
Result<void> set_xattr(Database& db, const XattrPlan& plan, int64_t now_ns, ChangeSet& changes);
Result<void> remove_xattr(Database& db, Ino ino, std::string_view name, int64_t now_ns,
                          ChangeSet& changes);

// What a unit adds to the counters of a session tree.
struct UsageDelta {
  int64_t files = 0;
  int64_t directories = 0;
  int64_t logical_bytes = 0;
  int64_t content_bytes = 0;
  int64_t sessions = 0;
  int64_t evictions = 0;
};
Result<void> add_usage(Database& db, SessionId tree, const UsageDelta& delta);

}  // namespace ebla::sqlite
