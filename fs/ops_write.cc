// What a file's content becomes, and when it is committed.
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "fs/change.h"
#include "fs/ops.h"

namespace ebla::fs::ops {
namespace {

// fallocate(2) has these combinations, with and without FALLOC_FL_KEEP_SIZE.
std::optional<AllocatePlan::Mode> allocate_mode(int mode) {
  using Mode = AllocatePlan::Mode;
  switch (mode) {
    case 0:
      return Mode::reserve;
    case FALLOC_FL_KEEP_SIZE:
      return Mode::reserve_beyond;
    case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
      return Mode::punch;
    case FALLOC_FL_ZERO_RANGE:
      return Mode::zero;
    case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
      return Mode::zero_beyond;
    default:
      return std::nullopt;
  }
}

// Commits what was written to the node.
void commit(Request& request, fuse_ino_t node, Durability durability) {
  Served& served = request.served();
  const Ino ino = served.view.ino_of(node);
  if (VirtualTree::owns(ino)) return request.ok();
  served.shared.store.flush(ino, {.durability = durability, .origin = served.id, .here = true},
                            answered(request));
}

}  // namespace

// The kernel says where, for O_APPEND too: nobody but it writes this file.
void write(Request& request, fuse_ino_t node, const char* bytes, size_t size, off_t offset,
           fuse_file_info*) {
  Served& served = request.served();
  const auto ino = served.view.may_change(node, Change::content);
  if (!ino) return request.error(ino.error());
  if (offset < 0) return request.error(EINVAL);
  served.shared.store.write(
      {.ino = *ino, .offset = static_cast<uint64_t>(offset)}, {bytes, size}, ordered(served),
      answered<WriteOutcome>(request, [](Request& done, const WriteOutcome& outcome) {
        done.written(outcome.count);
      }));
}

// A close reports what went wrong with the bytes before it.
void flush(Request& request, fuse_ino_t node, fuse_file_info*) {
  commit(request, node, Durability::ordered);
}

void release(Request& request, fuse_ino_t node, fuse_file_info* info) {
  Served& served = request.served();
  if ((info->flags & O_ACCMODE) != O_RDONLY) {
    served.shared.growing.close(served.id, served.view.ino_of(node));
  }
  request.ok();
}

void fsync(Request& request, fuse_ino_t node, int, fuse_file_info*) {
  commit(request, node, Durability::durable);
}

// It is one log: whatever was committed before is on disk with it, every entry included.
void fsyncdir(Request& request, fuse_ino_t node, int, fuse_file_info*) {
  commit(request, node, Durability::durable);
}

void fallocate(Request& request, fuse_ino_t node, int mode, off_t offset, off_t length,
               fuse_file_info*) {
  Served& served = request.served();
  const auto ino = served.view.may_change(node, Change::content);
  if (!ino) return request.error(ino.error());
  const auto how = allocate_mode(mode);
  if (!how) return request.error(EOPNOTSUPP);
  if (offset < 0 || length <= 0) return request.error(EINVAL);
  served.shared.store.allocate({.ino = *ino,
                                .offset = static_cast<uint64_t>(offset),
                                .length = static_cast<uint64_t>(length),
                                .mode = *how},
                               ordered(served), answered(request));
}

void copy_file_range(Request& request, fuse_ino_t from, off_t from_offset, fuse_file_info*,
                     fuse_ino_t to, off_t to_offset, fuse_file_info*, size_t size, int) {
  Served& served = request.served();
  const auto target = served.view.may_change(to, Change::content);
  if (!target) return request.error(target.error());
  const Ino source = served.view.ino_of(from);
  // The kernel copies those of /.ebla by itself.
  if (VirtualTree::owns(source)) return request.error(EXDEV);
  if (from_offset < 0 || to_offset < 0) return request.error(EINVAL);
  served.shared.store.copy_range(
      {.from = source,
       .from_offset = static_cast<uint64_t>(from_offset),
       .to = *target,
       .to_offset = static_cast<uint64_t>(to_offset),
       .length = size},
      ordered(served),
      answered<uint64_t>(request, [](Request& done, uint64_t copied) { done.written(copied); }));
}

}  // namespace ebla::fs::ops
