// The one list of operations that a kernel may ask for: the name is what request counts show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ebla::fs {

enum class Op : uint8_t {
  init,
  lookup,
  forget,
  getattr,
  setattr,
  readlink,
  mknod,
  mkdir,
  unlink,
  rmdir,
  symlink,
  rename,
  link,
  open,
  read,
  write,
  statfs,
  release,
  fsync,
  setxattr,
  getxattr,
  listxattr,
  removexattr,
  flush,
  opendir,
  readdir,
  readdirplus,
  releasedir,
  fsyncdir,
  access,
  create,
  fallocate,
  copy_file_range,
  lseek,
};
inline constexpr size_t kOpCount = static_cast<size_t>(Op::lseek) + 1;

std::string_view op_name(Op op);

}  // namespace ebla::fs
