#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "fs/ops.h"
#include "schema/base/limits.h"

namespace ebla::fs::ops {
namespace {

constexpr uint64_t kBlockBytes = 4096;
constexpr std::string_view kUser = "user.";

// Answers a getxattr or listxattr of `size` bytes of room; 0 asks for the length.
void answer(Request& request, std::string_view value, size_t size) {
  if (size == 0) return request.size(value.size());
  if (size < value.size()) return request.error(ERANGE);
  request.bytes(value);
}

}  // namespace

// Only asked where the kernel does not check modes itself.
void access(Request& request, fuse_ino_t node, int mask) {
  const auto found = request.served().view.getattr(node);
  if (!found) return request.error(found.error());
  if ((mask & W_OK) != 0 && found->attr.kind != NodeKind::directory) return request.error(EROFS);
  const uint32_t uid = request.uid();
  if (uid == 0) return request.ok();
  const uint32_t bits = uid == found->attr.uid ? found->attr.mode >> 6 : found->attr.mode;
  const auto wanted = static_cast<uint32_t>(mask & (R_OK | W_OK | X_OK));
  if ((bits & wanted) != wanted) return request.error(EACCES);
  request.ok();
}

void statfs(Request& request, fuse_ino_t) {
  const Usage usage = request.served().view.usage();
  struct statvfs out = {};
  out.f_bsize = kBlockBytes;
  out.f_frsize = kBlockBytes;
  out.f_bfree = (usage.free_bytes + usage.host_free_bytes) / kBlockBytes;
  out.f_bavail = out.f_bfree;
  out.f_blocks = (usage.database_bytes + usage.host_free_bytes) / kBlockBytes;
  out.f_files = usage.files + usage.directories + out.f_bfree;
  out.f_ffree = out.f_bfree;
  out.f_favail = out.f_bfree;
  out.f_namemax = limits::kNameBytes;
  request.statfs(out);
}

// The other classes of names are asked for all the time (capabilities, access lists) and never
// there; "not supported" lets most programs stop asking.
void getxattr(Request& request, fuse_ino_t node, const char* name, size_t size) {
  if (!std::string_view(name).starts_with(kUser)) return request.error(EOPNOTSUPP);
  const auto all = request.served().view.xattrs(node);
  if (!all) return request.error(all.error());
  const auto found = std::ranges::find(*all, name, &Xattr::name);
  if (found == all->end()) return request.error(ENODATA);
  answer(request, found->value, size);
}

void listxattr(Request& request, fuse_ino_t node, size_t size) {
  const auto all = request.served().view.xattrs(node);
  if (!all) return request.error(all.error());
  std::string names;
  for (const Xattr& one : *all) {
    names += one.name;
    names += '\0';
  }
  answer(request, names, size);
}

}  // namespace ebla::fs::ops
