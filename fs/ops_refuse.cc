// Clients read this tree. What would change it is refused with the reason that is nearest: EPERM or
// EBUSY for what is protected, EROFS for all else.
#include <cerrno>

#include "fs/ops.h"

namespace ebla::fs::ops {
namespace {

void refuse(Request& request, fuse_ino_t node, Change change) {
  request.error(request.served().view.refusal(node, change));
}

}  // namespace

void setattr(Request& request, fuse_ino_t node, struct stat*, int, fuse_file_info*) {
  refuse(request, node, Change::attributes);
}

void mknod(Request& request, fuse_ino_t parent, const char*, mode_t, dev_t) {
  refuse(request, parent, Change::create);
}

void mkdir(Request& request, fuse_ino_t parent, const char*, mode_t) {
  refuse(request, parent, Change::create);
}

void symlink(Request& request, const char*, fuse_ino_t parent, const char*) {
  refuse(request, parent, Change::create);
}

void rename(Request& request, fuse_ino_t parent, const char* name, fuse_ino_t, const char*,
            unsigned) {
  request.error(request.served().view.name_refusal(parent, name));
}

void link(Request& request, fuse_ino_t node, fuse_ino_t, const char*) {
  refuse(request, node, Change::attributes);
}

void write(Request& request, fuse_ino_t node, const char*, size_t, off_t, fuse_file_info*) {
  refuse(request, node, Change::content);
}

void setxattr(Request& request, fuse_ino_t node, const char*, const char*, size_t, int) {
  refuse(request, node, Change::attributes);
}

void removexattr(Request& request, fuse_ino_t node, const char*) {
  refuse(request, node, Change::attributes);
}

void create(Request& request, fuse_ino_t parent, const char*, mode_t, fuse_file_info*) {
  refuse(request, parent, Change::create);
}

void fallocate(Request& request, fuse_ino_t node, int, off_t, off_t, fuse_file_info*) {
  refuse(request, node, Change::content);
}

void copy_file_range(Request& request, fuse_ino_t, off_t, fuse_file_info*, fuse_ino_t to, off_t,
                     fuse_file_info*, size_t, int) {
  refuse(request, to, Change::content);
}

}  // namespace ebla::fs::ops
