#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "fs/ops.h"

namespace ebla::fs::ops {
namespace {

// Offsets that the kernel sees: 1 after ".", 2 after "..", then the store's cookie plus these two.
constexpr uint64_t kDots = 2;
constexpr size_t kReplyBytes = size_t{1} << 20;
constexpr size_t kBatchLeast = 128;
constexpr size_t kBatchMost = 4096;
constexpr int kAttempts = 2;

// One reply to READDIR or READDIRPLUS, filled from a cursor.
class Listing {
 public:
  Listing(Request& request, fuse_ino_t node, std::span<char> out, bool plus)
      : request_(request), served_(request.served()), node_(node), out_(out), plus_(plus) {}

  // True: all entries of the reply that the kernel will hold are registered and current.
  Result<bool> fill(DirCursor& cursor, uint64_t offset, bool give_nodes);
  void undo();
  std::span<const char> bytes() const { return out_.first(used_); }

 private:
  bool add_dot(const char* name, uint64_t number, off_t offset);
  bool add(const DirEntry& entry, bool give_node);
  Result<bool> refill(DirCursor& cursor);

  Request& request_;
  Served& served_;
  fuse_ino_t node_;
  std::span<char> out_;
  bool plus_;
  size_t used_ = 0;
  std::vector<uint64_t> given_;
};

bool Listing::add_dot(const char* name, uint64_t number, off_t offset) {
  fuse_entry_param entry = {};  // node id 0: the kernel keeps nothing of it
  entry.attr.st_ino = number;
  entry.attr.st_mode = S_IFDIR;
  char* at = out_.data() + used_;
  const size_t room = out_.size() - used_;
  const size_t need = plus_
                          ? fuse_add_direntry_plus(request_.raw(), at, room, name, &entry, offset)
                          : fuse_add_direntry(request_.raw(), at, room, name, &entry.attr, offset);
  if (need > room) return false;
  used_ += need;
  return true;
}

bool Listing::add(const DirEntry& entry, bool give_node) {
  const Node node{served_.view.nodeid_of(entry.attr.ino), entry.attr};
  const auto offset = static_cast<off_t>(entry.cookie + kDots);
  char* at = out_.data() + used_;
  const size_t room = out_.size() - used_;
  size_t need = 0;
  if (plus_) {
    fuse_entry_param param = to_entry(node);
    if (!give_node) param.ino = 0;
    need = fuse_add_direntry_plus(request_.raw(), at, room, entry.name.c_str(), &param, offset);
  } else {
    const struct stat attr = to_stat(entry.attr);
    need = fuse_add_direntry(request_.raw(), at, room, entry.name.c_str(), &attr, offset);
  }
  if (need > room) return false;
  used_ += need;
  if (plus_ && give_node) {
    served_.nodes.remember(node.nodeid, node_);
    if (node_ == kRootNode) served_.given_at_root(entry.name);
    given_.push_back(node.nodeid);
  }
  return true;
}

void Listing::undo() {
  for (const uint64_t nodeid : given_) served_.release(nodeid, 1);
  given_.clear();
  used_ = 0;
}

Result<bool> Listing::refill(DirCursor& cursor) {
  if (cursor.next < cursor.batch.size()) return true;
  const size_t entry_bytes = plus_ ? 160 : 32;
  const size_t limit = std::clamp(out_.size() / entry_bytes, kBatchLeast, kBatchMost);
  // The older epoch stays when a reply takes from two batches.
  if (used_ == 0 || given_.empty()) cursor.epoch = served_.shared.epoch.load();
  auto batch = served_.view.list(node_, cursor.after, limit);
  if (!batch) return std::unexpected(std::move(batch.error()));
  cursor.batch = std::move(*batch);
  cursor.next = 0;
  return !cursor.batch.empty();
}

Result<bool> Listing::fill(DirCursor& cursor, uint64_t offset, bool give_nodes) {
  const uint64_t after = offset > kDots ? offset - kDots : 0;
  if (cursor.after != after || cursor.epoch != served_.shared.epoch.load()) {
    cursor.batch.clear();
    cursor.next = 0;
    cursor.after = after;
  }
  const uint64_t own = served_.view.ino_of(node_);
  if (offset < 1 && !add_dot(".", own, 1)) return true;
  if (offset < kDots) {
    const uint64_t parent = served_.nodes.parent_of(node_);
    if (!add_dot("..", parent == 0 ? own : served_.view.ino_of(parent), kDots)) return true;
  }
  for (;;) {
    const auto more = refill(cursor);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    const DirEntry& entry = cursor.batch[cursor.next];
    const bool hidden = node_ == kRootNode && entry.name == VirtualTree::kName;
    if (!hidden && !add(entry, give_nodes)) break;
    cursor.after = entry.cookie;
    ++cursor.next;
  }
  return given_.empty() || cursor.epoch == served_.shared.epoch.load();
}

void list(Request& request, fuse_ino_t node, size_t size, off_t offset, uint64_t handle,
          bool plus) {
  thread_local const auto reply = std::make_unique_for_overwrite<char[]>(kReplyBytes);
  const auto cursor = request.served().cursor(handle);
  if (!cursor || offset < 0) return request.error(EBADF);
  Listing listing(request, node, {reply.get(), std::min(size, kReplyBytes)}, plus);
  const std::lock_guard lock(cursor->mutex);
  for (int attempt = 1;; ++attempt) {
    // While the store changes without pause, names alone go out: their nodes are looked up.
    const bool give_nodes = attempt <= kAttempts;
    const auto current = listing.fill(*cursor, static_cast<uint64_t>(offset), give_nodes);
    if (!current) {
      listing.undo();
      return request.error(current.error());
    }
    if (*current) break;
    listing.undo();
  }
  if (!request.bytes(listing.bytes())) listing.undo();
}

}  // namespace

void opendir(Request& request, fuse_ino_t, fuse_file_info* info) {
  info->fh = request.served().open_cursor();
  request.open(*info);
}

void readdir(Request& request, fuse_ino_t node, size_t size, off_t offset, fuse_file_info* info) {
  list(request, node, size, offset, info->fh, false);
}

void readdirplus(Request& request, fuse_ino_t node, size_t size, off_t offset,
                 fuse_file_info* info) {
  list(request, node, size, offset, info->fh, true);
}

void releasedir(Request& request, fuse_ino_t, fuse_file_info* info) {
  request.served().close_cursor(info->fh);
  request.ok();
}

}  // namespace ebla::fs::ops
