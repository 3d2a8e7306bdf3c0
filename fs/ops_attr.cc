#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fs/change.h"
#include "fs/ops.h"
#include "schema/base/limits.h"

namespace ebla::fs::ops {
namespace {

constexpr uint64_t kBlockBytes = 4096;
constexpr std::string_view kUser = "user.";
constexpr int64_t kNsPerSecond = 1'000'000'000;

// Answers a getxattr or listxattr of `size` bytes of room; 0 asks for the length.
void answer(Request& request, std::string_view value, size_t size) {
  if (size == 0) return request.size(value.size());
  if (size < value.size()) return request.error(ERANGE);
  request.bytes(value);
}

// errno for a name that no attribute has here, before anybody is asked; 0 for all others. The
// classes of names that are not kept are asked for all the time (capabilities, access lists).
int refused_name(std::string_view name) {
  if (!name.starts_with(kUser)) return EOPNOTSUPP;
  return name == kUser ? EINVAL : 0;
}

// The store counts in nanoseconds from 1970: 292 years to both sides.
int64_t to_ns(const timespec& time) {
  constexpr int64_t kLast = INT64_MAX / kNsPerSecond - 1;
  return std::clamp<int64_t>(time.tv_sec, -kLast, kLast) * kNsPerSecond + time.tv_nsec;
}

// nullopt: it stays.
std::optional<TimeValue> time_to_set(int to_set, int flag, int now_flag, const timespec& time) {
  if ((to_set & now_flag) != 0) return TimeValue{};
  if ((to_set & flag) != 0) return TimeValue{.ns = to_ns(time)};
  return std::nullopt;
}

// `held` lives until the kernel has its answer.
void change_attributes(Request& request, const SetAttrPlan& plan, std::shared_ptr<void> held) {
  Served& served = request.served();
  served.shared.store.setattr(
      plan, ordered(served),
      answered<Attr>(request, [held = std::move(held)](Request& done, const Attr& now) {
        done.attr(done.served().view.shown(now));
      }));
}

}  // namespace

void setattr(Request& request, fuse_ino_t node, struct stat* attr, int to_set, fuse_file_info*) {
  Served& served = request.served();
  const auto ino = served.view.may_change(node, Change::attributes);
  if (!ino) return request.error(ino.error());
  if ((to_set & FUSE_SET_ATTR_SIZE) != 0 && attr->st_size < 0) return request.error(EINVAL);
  SetAttrPlan plan{.ino = *ino};
  if ((to_set & FUSE_SET_ATTR_MODE) != 0) plan.mode = attr->st_mode & ALLPERMS;
  if ((to_set & FUSE_SET_ATTR_UID) != 0) plan.uid = attr->st_uid;
  if ((to_set & FUSE_SET_ATTR_GID) != 0) plan.gid = attr->st_gid;
  if ((to_set & FUSE_SET_ATTR_SIZE) != 0) plan.size = static_cast<uint64_t>(attr->st_size);
  plan.atime = time_to_set(to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, attr->st_atim);
  plan.mtime = time_to_set(to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, attr->st_mtim);
  if (!plan.size) return change_attributes(request, plan, nullptr);
  as_writer(request, *ino, [plan](Request& ready) {
    Served& by = ready.served();
    const auto close = [&by, ino = plan.ino](void*) { by.shared.growing.close(by.id, ino); };
    change_attributes(ready, plan, std::shared_ptr<void>(nullptr, close));
  });
}

// Only asked where the kernel does not check modes itself.
void access(Request& request, fuse_ino_t node, int mask) {
  const auto found = request.served().view.getattr(node);
  if (!found) return request.error(found.error());
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

void getxattr(Request& request, fuse_ino_t node, const char* name, size_t size) {
  if (const int refused = refused_name(name); refused != 0) return request.error(refused);
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

void setxattr(Request& request, fuse_ino_t node, const char* name, const char* value, size_t size,
              int flags) {
  if (const int refused = refused_name(name); refused != 0) return request.error(refused);
  Served& served = request.served();
  const auto ino = served.view.may_change(node, Change::attributes);
  if (!ino) return request.error(ino.error());
  XattrPlan plan{.ino = *ino, .name = name, .value = {value, size}};
  if ((flags & XATTR_CREATE) != 0) plan.mode = XattrPlan::Mode::create;
  if ((flags & XATTR_REPLACE) != 0) plan.mode = XattrPlan::Mode::replace;
  served.shared.store.set_xattr(std::move(plan), ordered(served), answered(request));
}

void removexattr(Request& request, fuse_ino_t node, const char* name) {
  if (const int refused = refused_name(name); refused != 0) return request.error(refused);
  Served& served = request.served();
  const auto ino = served.view.may_change(node, Change::attributes);
  if (!ino) return request.error(ino.error());
  served.shared.store.remove_xattr(*ino, name, ordered(served), answered(request));
}

}  // namespace ebla::fs::ops
