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
  // writes: clients change files of their own. reads: they may remove put-away results, no more.
  enum class Access : uint8_t { writes, reads };

  // `store` and `virtual_tree` must outlive the view.
  View(Store& store, Ino root, const VirtualTree& virtual_tree, std::optional<Owner> owner,
       Access access);

  uint64_t nodeid_of(Ino ino) const;
  Ino ino_of(uint64_t nodeid) const;

  // As this mount shows it.
  Node shown(Attr attr) const;

  Result<Node> lookup(uint64_t parent, std::string_view name) const;
  Result<Node> getattr(uint64_t nodeid) const;
  Result<std::string> readlink(uint64_t nodeid) const;
  // Entries after a cookie of the store; "." and ".." are the caller's.
  Result<std::vector<DirEntry>> list(uint64_t nodeid, uint64_t after_cookie, size_t limit) const;
  Result<size_t> read(uint64_t nodeid, uint64_t offset, std::span<char> out) const;
  Result<uint64_t> seek(uint64_t nodeid, uint64_t offset, SeekTo to) const;
  Result<std::vector<Xattr>> xattrs(uint64_t nodeid) const;
  Usage usage() const { return store_.usage(); }

  // Whether a client may change something here, and which node of the store that is. Refused:
  // operation_not_permitted for what is protected, read_only for what this mount only reads. What
  // is given away here may still be refused by the store, which looks at more.
  Result<Ino> may_change(uint64_t nodeid, Change change) const;
  // Asked once for each open file: nodes that are protected are refused here.
  Result<Ino> may_write(uint64_t nodeid) const;
  // A new name in a folder; the folder.
  Result<Ino> may_create(uint64_t parent, std::string_view name) const;
  // A name that is renamed or replaced, or of a folder that is removed; the folder around it.
  Result<Ino> may_change_name(uint64_t parent, std::string_view name) const;
  Result<Ino> may_unlink(uint64_t parent, std::string_view name) const;

 private:
  bool writable(uint64_t nodeid) const;
  // Of the names of this tree, not of the virtual one.
  bool writable(uint64_t parent, std::string_view name) const;
  // Why not. Never success.
  Error refusal(uint64_t nodeid, Change change) const;

  Store& store_;
  Ino root_;
  const VirtualTree& virtual_;
  std::optional<Owner> owner_;
  Access access_;
};

}  // namespace ebla::fs
