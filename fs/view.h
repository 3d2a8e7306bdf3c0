// One subtree of a store as one mount shows it, in the numbers of that mount. Knows no libfuse.
//
// Numbers: node id 1 is the root of the mount; every other node has the id of the store, so that it
// is the same in all mounts; bit 62 marks what no store knows (VirtualTree). Attr.ino is always the
// number that stat(2) shows.
//
// Thread safe: it holds nothing that changes. Reads are plain calls of the store.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/virtual_tree.h"
#include "schema/base/result.h"
#include "schema/model.h"
#include "schema/store.h"

namespace ebla::fs {

inline constexpr uint64_t kRootNode = 1;

struct Node {
  uint64_t nodeid = 0;
  Attr attr;
};

// What a request wants to change; decides which refusal it gets.
enum class Change : uint8_t {
  content,     // open for writing, truncate, write
  attributes,  // chmod, chown, utimens, xattrs
  create,      // a new name in a folder
};

// Every node as owned by one user: what a mount of an ordinary user shows.
struct Owner {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

class View {
 public:
  // `store` and `virtual_tree` must outlive the view.
  View(Store& store, Ino root, const VirtualTree& virtual_tree, std::optional<Owner> owner);

  uint64_t nodeid_of(Ino ino) const;
  Ino ino_of(uint64_t nodeid) const;

  Result<Node> lookup(uint64_t parent, std::string_view name) const;
  Result<Node> getattr(uint64_t nodeid) const;
  Result<std::string> readlink(uint64_t nodeid) const;
  // Entries after a cookie of the store; "." and ".." are the caller's.
  Result<std::vector<DirEntry>> list(uint64_t nodeid, uint64_t after_cookie, size_t limit) const;
  Result<size_t> read(uint64_t nodeid, uint64_t offset, std::span<char> out) const;
  Result<std::vector<Xattr>> xattrs(uint64_t nodeid) const;
  Usage usage() const { return store_.usage(); }

  // Why a change of this node is refused: operation_not_permitted for what is protected, read_only
  // for all else. Never success.
  Error refusal(uint64_t nodeid, Change change) const;
  // The same for a name in a folder, which is to be renamed, linked or (a folder) removed.
  Error name_refusal(uint64_t parent, std::string_view name) const;
  // Whether `name` may be unlinked; the store decides again.
  Result<void> may_unlink(uint64_t parent, std::string_view name) const;
  void unlink(uint64_t parent, std::string_view name, uint32_t uid, MountId origin,
              Completion<void> done) const;
  void sync(MountId origin, Completion<void> done) const;

 private:
  Node shown(Attr attr) const;

  Store& store_;
  Ino root_;
  const VirtualTree& virtual_;
  std::optional<Owner> owner_;
};

}  // namespace ebla::fs
