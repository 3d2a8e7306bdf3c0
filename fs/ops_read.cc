#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

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

// Opening to read keeps no state, so that nothing is to be done at the close. The kernel's pages
// stay: whatever changes a file also says which of them to drop.
void open(Request& request, fuse_ino_t node, fuse_file_info* info) {
  if ((info->flags & O_ACCMODE) != O_RDONLY) {
    return request.error(request.served().view.refusal(node, Change::content));
  }
  info->fh = 0;
  info->keep_cache = 1;
  info->noflush = 1;
  request.open(*info);
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

void flush(Request& request, fuse_ino_t, fuse_file_info*) {
  request.ok();
}
void release(Request& request, fuse_ino_t, fuse_file_info*) {
  request.ok();
}

void fsync(Request& request, fuse_ino_t, int, fuse_file_info*) {
  const Served& served = request.served();
  served.view.sync(served.id, [request = std::move(request)](const Result<void>& result,
                                                             const ChangeSet&) mutable {
    if (!result) return request.error(result.error());
    request.ok();
  });
}

}  // namespace ebla::fs::ops
