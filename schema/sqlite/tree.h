// Nodes and names, on one connection: what the families of units share. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/base/hash.h"
#include "schema/change_set.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"

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
  uint64_t size = 0;
  ContentId content = 0;
  std::optional<Hash128> hash = std::nullopt;
  uint64_t eviction = 0;
  SessionId session = 0;
};

// A number for a node, content, decision or session that none ever had.
Result<uint64_t> next_id(Database& db);
// Makes node and entry and touches the folder. The name must be free. Usage is the caller's.
Result<Ino> make_node(Database& db, Ino parent, std::string_view name, const NewNode& node,
                      int64_t now_ns, ChangeSet& changes);
Result<void> remove_entry(Database& db, const RemovePlan& plan, int64_t now_ns, ChangeSet& changes);
// Frees the node when nothing names it; its content goes to the list of the freed.
Result<void> reap_node(Database& db, Ino ino);

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
