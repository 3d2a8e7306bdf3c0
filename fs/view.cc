#include "fs/view.h"

#include "schema/base/limits.h"

namespace ebla::fs {
namespace {

// Node id 1 is taken by the root of the mount; a store node that happens to be number 1 and lies
// below another root stands under this one.
constexpr uint64_t kStandsForOne = VirtualTree::kBit | 1;

std::unexpected<Error> absent() {
  return fail(Code::file_not_found, "no such file or folder");
}

}  // namespace

View::View(Store& store, Ino root, const VirtualTree& virtual_tree, std::optional<Owner> owner,
           Access access)
    : store_(store), root_(root), virtual_(virtual_tree), owner_(owner), access_(access) {}

uint64_t View::nodeid_of(Ino ino) const {
  if (ino == root_) return kRootNode;
  return ino == kRootNode ? kStandsForOne : ino;
}

Ino View::ino_of(uint64_t nodeid) const {
  if (nodeid == kRootNode) return root_;
  return nodeid == kStandsForOne ? kRootNode : nodeid;
}

Node View::shown(Attr attr) const {
  if (owner_) {
    attr.uid = owner_->uid;
    attr.gid = owner_->gid;
  }
  const uint64_t nodeid = nodeid_of(attr.ino);
  return {nodeid, attr};
}

Result<Node> View::lookup(uint64_t parent, std::string_view name) const {
  if (name.empty() || name == "." || name == "..") {
    return fail(Code::invalid_params, "not a name of an entry");
  }
  if (name.size() > limits::kNameBytes) return fail(Code::name_too_long, "name over 255 bytes");
  if (parent == kRootNode && name == VirtualTree::kName) return getattr(VirtualTree::kFolder);
  const Ino folder = ino_of(parent);
  if (VirtualTree::owns(folder)) {
    const auto attr = virtual_.lookup(folder, name);
    if (!attr) return absent();
    return shown(*attr);
  }
  auto attr = store_.lookup(folder, name);
  if (!attr) return std::unexpected(std::move(attr.error()));
  return shown(*attr);
}

Result<Node> View::getattr(uint64_t nodeid) const {
  const Ino ino = ino_of(nodeid);
  if (VirtualTree::owns(ino)) {
    const auto attr = virtual_.getattr(ino);
    if (!attr) return absent();
    return shown(*attr);
  }
  auto attr = store_.getattr(ino);
  if (!attr) return std::unexpected(std::move(attr.error()));
  return shown(*attr);
}

Result<std::string> View::readlink(uint64_t nodeid) const {
  const Ino ino = ino_of(nodeid);
  if (!VirtualTree::owns(ino)) return store_.readlink(ino);
  auto target = virtual_.readlink(ino);
  if (!target) return fail(Code::invalid_params, "not a symbolic link");
  return std::move(*target);
}

Result<std::vector<DirEntry>> View::list(uint64_t nodeid, uint64_t after_cookie,
                                         size_t limit) const {
  const Ino ino = ino_of(nodeid);
  auto entries = VirtualTree::owns(ino) ? virtual_.list(ino, after_cookie, limit)
                                        : store_.readdir(ino, after_cookie, limit);
  if (entries && owner_) {
    for (DirEntry& entry : *entries) {
      entry.attr.uid = owner_->uid;
      entry.attr.gid = owner_->gid;
    }
  }
  return entries;
}

Result<size_t> View::read(uint64_t nodeid, uint64_t offset, std::span<char> out) const {
  const Ino ino = ino_of(nodeid);
  if (VirtualTree::owns(ino)) return virtual_.read(ino, offset, out);
  return store_.read(ino, offset, out);
}

Result<uint64_t> View::seek(uint64_t nodeid, uint64_t offset, SeekTo to) const {
  const Ino ino = ino_of(nodeid);
  if (!VirtualTree::owns(ino)) return store_.seek(ino, offset, to);
  const auto attr = virtual_.getattr(ino);
  if (!attr || offset >= attr->size) return fail(Code::no_data, "beyond the end");
  return to == SeekTo::data ? offset : attr->size;
}

Result<std::vector<Xattr>> View::xattrs(uint64_t nodeid) const {
  const Ino ino = ino_of(nodeid);
  if (VirtualTree::owns(ino)) return std::vector<Xattr>{};
  return store_.xattrs(ino);
}

Error View::refusal(uint64_t nodeid, Change change) const {
  const auto node = getattr(nodeid);
  if (!node) return node.error();
  const uint32_t flags = node->attr.flags;
  const bool folder = node->attr.kind == NodeKind::directory;
  const bool denied = change != Change::create &&
                      (flags & (folder ? kNodeFixed | kNodeProtected : kNodeProtected)) != 0;
  if (denied) return {Code::operation_not_permitted, "Ebla made it: nobody changes it"};
  return {Code::read_only, "this tree is only read"};
}

bool View::writable(uint64_t nodeid) const {
  return access_ == Access::writes && !VirtualTree::owns(ino_of(nodeid));
}

bool View::writable(uint64_t parent, std::string_view name) const {
  return writable(parent) && !(parent == kRootNode && name == VirtualTree::kName);
}

Result<Ino> View::may_change(uint64_t nodeid, Change change) const {
  if (!writable(nodeid)) return std::unexpected(refusal(nodeid, change));
  return ino_of(nodeid);
}

Result<Ino> View::may_write(uint64_t nodeid) const {
  auto ino = may_change(nodeid, Change::content);
  if (!ino) return ino;
  const auto attr = store_.getattr(*ino);
  if (!attr) return std::unexpected(attr.error());
  if ((attr->flags & kNodeProtected) != 0) {
    return std::unexpected(refusal(nodeid, Change::content));
  }
  return ino;
}

Result<Ino> View::may_create(uint64_t parent, std::string_view name) const {
  if (writable(parent, name)) return ino_of(parent);
  return std::unexpected(refusal(parent, Change::create));
}

Result<Ino> View::may_change_name(uint64_t parent, std::string_view name) const {
  if (writable(parent, name)) return ino_of(parent);
  const auto node = lookup(parent, name);
  if (!node) return std::unexpected(node.error());
  if (node->attr.kind == NodeKind::directory && (node->attr.flags & kNodeFixed) != 0) {
    return fail(Code::busy, "a folder of Ebla's stays where it is");
  }
  return std::unexpected(refusal(node->nodeid, Change::attributes));
}

Result<Ino> View::may_unlink(uint64_t parent, std::string_view name) const {
  if (writable(parent, name)) return ino_of(parent);
  const auto node = lookup(parent, name);
  if (!node) return std::unexpected(node.error());
  const Attr& attr = node->attr;
  if (attr.kind == NodeKind::directory) return fail(Code::is_directory, "a folder");
  if ((attr.flags & kNodeProtected) == 0) return fail(Code::read_only, "this tree is only read");
  if ((attr.flags & kNodeRemovable) == 0) {
    return fail(Code::operation_not_permitted, "Ebla made it: rm does not remove it");
  }
  return ino_of(parent);
}

}  // namespace ebla::fs
