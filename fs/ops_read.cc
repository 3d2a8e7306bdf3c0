#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "fs/change.h"
#include "fs/ops.h"

namespace ebla::fs::ops {
namespace {

// More than the kernel asks for at once.
constexpr size_t kReadBytes = size_t{1} << 20;
// The kernel takes an answer over page by page. Where ours begin with its own, it looks up one of
// them for each, not two.
constexpr std::align_val_t kPageAlignment{4096};

struct PageDelete {
  void operator()(char* bytes) const { ::operator delete[](bytes, kPageAlignment); }
};
using PageBuffer = std::unique_ptr<char[], PageDelete>;

}  // namespace

// For a reader nothing is kept, nor to be done at the close. The kernel's pages stay: whatever
// changes a file also says which of them to drop.
void open(Request& request, fuse_ino_t node, fuse_file_info* info) {
  const bool writes = (info->flags & O_ACCMODE) != O_RDONLY;
  info->fh = 0;
  info->keep_cache = 1;
  info->noflush = writes ? 0 : 1;
  if (!writes) {
    request.open(*info);
    return;
  }
  Served& served = request.served();
  const auto ino = served.view.may_write(node);
  if (!ino) return request.error(ino.error());
  as_writer(request, *ino, [info = *info, ino = *ino](Request& ready) {
    Served& by = ready.served();
    if (!ready.open(info)) by.shared.growing.close(by.id, ino);
  });
}

void read(Request& request, fuse_ino_t node, size_t size, off_t offset, fuse_file_info*) {
  thread_local const PageBuffer buffer(
      static_cast<char*>(::operator new[](kReadBytes, kPageAlignment)));
  if (offset < 0) return request.error(EINVAL);
  const std::span<char> out(buffer.get(), std::min(size, kReadBytes));
  const auto n = request.served().view.read(node, static_cast<uint64_t>(offset), out);
  if (!n) return request.error(n.error());
  request.bytes(out.first(*n));
}

// What the kernel asks for of lseek(2): the next data or hole.
void lseek(Request& request, fuse_ino_t node, off_t offset, int whence, fuse_file_info*) {
  if (whence != SEEK_DATA && whence != SEEK_HOLE) return request.error(EINVAL);
  if (offset < 0) return request.error(ENXIO);
  const auto at = request.served().view.seek(node, static_cast<uint64_t>(offset),
                                             whence == SEEK_DATA ? SeekTo::data : SeekTo::hole);
  if (!at) return request.error(at.error());
  request.offset(static_cast<off_t>(*at));
}

}  // namespace ebla::fs::ops
