#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "fs/ops.h"

namespace ebla::fs::ops {
namespace {

// Offsets that the kernel sees: 1 after ".", 2 after "..", 3 at the end, and after any other entry
// the store's cookie plus these three. Nothing is kept between two requests: the offset says where
// to go on.
//
// The end has one offset, whichever entry is the last: a kernel that was given a folder whole, but
// never asked whether that was all, keeps waiting at the offset that it got last, and keeps no
// listing of the folder until one ends there.
constexpr uint64_t kDots = 2;
constexpr uint64_t kEnd = 3;
constexpr size_t kReplyBytes = size_t{1} << 20;
constexpr size_t kBatchMost = 4096;
// What an entry with a name of few bytes takes of a reply.
constexpr size_t kEntryBytes = 32;
constexpr size_t kEntryPlusBytes = 160;
constexpr int kAttempts = 2;

// One reply to READDIR or READDIRPLUS.
class Listing {
 public:
  Listing(Request& request, fuse_ino_t node, std::span<char> out, bool plus)
      : request_(request), served_(request.served()), node_(node), out_(out), plus_(plus) {}

  // True: all entries of the reply that the kernel will hold are registered and current.
  Result<bool> fill(uint64_t offset, bool give_nodes);
  void undo();
  std::span<const char> bytes() const { return out_.first(used_); }

 private:
  bool add_dots(uint64_t offset);
  bool add_dot(const char* name, uint64_t number, off_t offset);
  bool add(const DirEntry& entry, uint64_t next, bool give_node);
  Result<void> add_entries(uint64_t after, bool give_nodes);

  Request& request_;
  Served& served_;
  fuse_ino_t node_;
  std::span<char> out_;
  bool plus_;
  size_t used_ = 0;
  std::vector<uint64_t> given_;
};

bool Listing::add_dots(uint64_t offset) {
  const uint64_t own = served_.view.ino_of(node_);
  if (offset < 1 && !add_dot(".", own, 1)) return false;
  if (offset >= kDots) return true;
  const uint64_t parent = served_.nodes.parent_of(node_);
  return add_dot("..", parent == 0 ? own : served_.view.ino_of(parent), kDots);
}

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

bool Listing::add(const DirEntry& entry, uint64_t next, bool give_node) {
  const Node node{served_.view.nodeid_of(entry.attr.ino), entry.attr};
  const auto offset = static_cast<off_t>(next);
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

// As many as fit, or all that are left.
Result<void> Listing::add_entries(uint64_t after, bool give_nodes) {
  for (;;) {
    const size_t room = (out_.size() - used_) / (plus_ ? kEntryPlusBytes : kEntryBytes);
    const size_t limit = std::min(room, kBatchMost);
    if (limit == 0) return {};
    const auto batch = served_.view.list(node_, after, limit);
    if (!batch) return std::unexpected(batch.error());
    const bool all = batch->size() < limit;
    for (const DirEntry& entry : *batch) {
      const bool hidden = node_ == kRootNode && entry.name == VirtualTree::kName;
      const bool last = all && &entry == &batch->back();
      const uint64_t next = last ? kEnd : entry.cookie + kEnd;
      if (!hidden && !add(entry, next, give_nodes)) return {};
    }
    if (all) return {};
    after = batch->back().cookie;
  }
}

Result<bool> Listing::fill(uint64_t offset, bool give_nodes) {
  const uint64_t epoch = served_.shared.epoch.load();
  if (offset == kEnd || !add_dots(offset)) return true;
  if (auto done = add_entries(offset > kEnd ? offset - kEnd : 0, give_nodes); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return given_.empty() || epoch == served_.shared.epoch.load();
}

void list(Request& request, fuse_ino_t node, size_t size, off_t offset, bool plus) {
  thread_local const auto reply = std::make_unique_for_overwrite<char[]>(kReplyBytes);
  if (offset < 0) return request.error(EINVAL);
  Listing listing(request, node, {reply.get(), std::min(size, kReplyBytes)}, plus);
  for (int attempt = 1;; ++attempt) {
    // While the store changes without pause, names alone go out: their nodes are looked up.
    const bool give_nodes = attempt <= kAttempts;
    const auto current = listing.fill(static_cast<uint64_t>(offset), give_nodes);
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

// A kernel that is told once that there is no OPENDIR lists without, keeps whole listings as long
// as nobody says that they are old, and asks for nothing while it has one. An older kernel is told
// so for each folder.
void opendir(Request& request, fuse_ino_t, fuse_file_info* info) {
  if (request.served().lists_without_opendir) return request.error(ENOSYS);
  info->cache_readdir = 1;
  info->keep_cache = 1;
  request.open(*info);
}

void readdir(Request& request, fuse_ino_t node, size_t size, off_t offset, fuse_file_info*) {
  list(request, node, size, offset, false);
}

void readdirplus(Request& request, fuse_ino_t node, size_t size, off_t offset, fuse_file_info*) {
  list(request, node, size, offset, true);
}

void releasedir(Request& request, fuse_ino_t, fuse_file_info*) {
  request.ok();
}

}  // namespace ebla::fs::ops
