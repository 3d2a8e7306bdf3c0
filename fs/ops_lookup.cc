#include <span>

#include "fs/ops.h"

namespace ebla::fs::ops {

void lookup(Request& request, fuse_ino_t parent, const char* name) {
  Served& served = request.served();
  const auto node = served.lookup(parent, name);
  if (!node) {
    if (node.error().code == Code::file_not_found) return request.absent();
    return request.error(node.error());
  }
  if (!request.entry(*node)) served.release(node->nodeid, 1);
}

void forget(Request& request, fuse_ino_t node, uint64_t count) {
  request.served().release(node, count);
  request.none();
}

void forget_multi(Request& request, size_t count, fuse_forget_data* forgets) {
  for (const fuse_forget_data& one : std::span(forgets, count)) {
    request.served().release(one.ino, one.nlookup);
  }
  request.none();
}

void getattr(Request& request, fuse_ino_t node, fuse_file_info*) {
  const auto found = request.served().view.getattr(node);
  if (!found) return request.error(found.error());
  request.attr(*found);
}

void readlink(Request& request, fuse_ino_t node) {
  const auto target = request.served().view.readlink(node);
  if (!target) return request.error(target.error());
  request.link(*target);
}

}  // namespace ebla::fs::ops
