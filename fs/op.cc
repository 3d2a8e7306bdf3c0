#include "fs/op.h"

#include <array>

namespace ebla::fs {
namespace {

constexpr std::array<std::string_view, kOpCount> kNames = {
    "init",       "lookup",      "forget",
    "getattr",    "setattr",     "readlink",
    "mknod",      "mkdir",       "unlink",
    "rmdir",      "symlink",     "rename",
    "link",       "open",        "read",
    "write",      "statfs",      "release",
    "fsync",      "setxattr",    "getxattr",
    "listxattr",  "removexattr", "flush",
    "opendir",    "readdir",     "readdirplus",
    "releasedir", "fsyncdir",    "access",
    "create",     "fallocate",   "copy_file_range",
    "lseek"};
static_assert(!kNames.back().empty(), "an operation has no name");

}  // namespace

std::string_view op_name(Op op) {
  return kNames[static_cast<size_t>(op)];
}

}  // namespace ebla::fs
