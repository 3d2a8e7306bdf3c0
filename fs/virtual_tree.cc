#include "fs/virtual_tree.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ebla::fs {
namespace {

struct Row {
  uint64_t nodeid;
  std::string_view name;
  NodeKind kind;
  uint32_t mode;
};

// All that lies in the folder, in the order of its listing.
constexpr std::array kRows = {
    Row{VirtualTree::kSocket, "socket", NodeKind::symlink, 0777},
    Row{VirtualTree::kVersion, "version", NodeKind::file, 0444},
};

}  // namespace

VirtualTree::VirtualTree(std::string socket_path, std::string_view version, int64_t born_ns)
    : socket_path_(std::move(socket_path)), version_(version), born_ns_(born_ns) {
  version_ += '\n';
}

std::optional<Attr> VirtualTree::getattr(uint64_t nodeid) const {
  Attr attr;
  attr.ino = nodeid;
  attr.nlink = 1;
  attr.atime_ns = attr.mtime_ns = attr.ctime_ns = born_ns_;
  attr.flags = kNodeProtected | kNodeImmutable;
  if (nodeid == kFolder) {
    attr.kind = NodeKind::directory;
    attr.mode = 0555;
    attr.nlink = 2;
    attr.flags = kNodeProtected | kNodeFixed;
    return attr;
  }
  const auto* row = std::ranges::find(kRows, nodeid, &Row::nodeid);
  if (row == kRows.end()) return std::nullopt;
  attr.kind = row->kind;
  attr.mode = row->mode;
  attr.size = nodeid == kSocket ? socket_path_.size() : version_.size();
  return attr;
}

std::optional<Attr> VirtualTree::lookup(uint64_t folder, std::string_view name) const {
  if (folder != kFolder) return std::nullopt;
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  return row == kRows.end() ? std::nullopt : getattr(row->nodeid);
}

std::vector<DirEntry> VirtualTree::list(uint64_t folder, uint64_t after_cookie,
                                        size_t limit) const {
  std::vector<DirEntry> out;
  if (folder != kFolder) return out;
  for (size_t i = after_cookie; i < kRows.size() && out.size() < limit; ++i) {
    out.push_back({i + 1, std::string(kRows[i].name), *getattr(kRows[i].nodeid)});
  }
  return out;
}

std::optional<std::string> VirtualTree::readlink(uint64_t nodeid) const {
  return nodeid == kSocket ? std::optional(socket_path_) : std::nullopt;
}

size_t VirtualTree::read(uint64_t nodeid, uint64_t offset, std::span<char> out) const {
  if (nodeid != kVersion || offset >= version_.size()) return 0;
  const size_t n = std::min<uint64_t>(out.size(), version_.size() - offset);
  std::memcpy(out.data(), version_.data() + offset, n);
  return n;
}

}  // namespace ebla::fs
