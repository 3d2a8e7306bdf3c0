// What comes by a name, goes with it, or moves.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "fs/change.h"
#include "fs/ops.h"

namespace ebla::fs::ops {
namespace {

// The kernel gets to hold the node. Nothing can have changed it untold before that: other mounts
// only read what this one writes.
template <class F>
Completion<Attr> answered_node(Request& request, fuse_ino_t parent, std::string name, F answer) {
  return answered<Attr>(request, [parent, name = std::move(name), answer = std::move(answer)](
                                     Request& done, const Attr& attr) mutable {
    Served& served = done.served();
    const Node node = served.view.shown(attr);
    served.give(node.nodeid, parent, name);
    if (!answer(done, node)) served.release(node.nodeid, 1);
  });
}

bool give_entry(Request& request, const Node& node) {
  return request.entry(node);
}

// Fills in who asks for it, and where.
template <class F>
void make(Request& request, fuse_ino_t parent, const char* name, CreatePlan plan, F answer) {
  Served& served = request.served();
  const auto folder = served.view.may_create(parent, name);
  if (!folder) return request.error(folder.error());
  plan.parent = *folder;
  plan.name = name;
  plan.uid = request.uid();
  plan.gid = request.gid();
  served.shared.store.create(std::move(plan), ordered(served),
                             answered_node(request, parent, name, std::move(answer)));
}

NodeKind kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO:
      return NodeKind::fifo;
    case S_IFSOCK:
      return NodeKind::socket;
    case S_IFCHR:
      return NodeKind::char_device;
    case S_IFBLK:
      return NodeKind::block_device;
    default:
      return NodeKind::file;
  }
}

}  // namespace

// The kernel believes the name to be free, else it had opened the file. That something has it makes
// it look once more and go the other way, with the checks that belong to it.
void create(Request& request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* info) {
  fuse_file_info opened = *info;
  opened.fh = 0;
  opened.keep_cache = 1;
  opened.noflush = (info->flags & O_ACCMODE) == O_RDONLY ? 1 : 0;
  if ((info->flags & O_EXCL) == 0) request.explain(Code::already_exists, ESTALE);
  make(request, parent, name, {.kind = NodeKind::file, .mode = mode & ALLPERMS},
       [opened, parent, name = std::string(name)](Request& done, const Node& node) {
         Served& served = done.served();
         const bool writes = (opened.flags & O_ACCMODE) != O_RDONLY;
         if (!writes) return done.create(node, opened);
         // The socket may have found the new file, and append to it. The kernel cannot wait here:
         // it holds the folder. It is sent to look once more, and to open what is there then; of
         // the new name in its listing it is told as any other mount.
         const Ino ino = served.view.ino_of(node.nodeid);
         if (!served.shared.growing.open_now(served.id, ino)) {
           ChangeSet made;
           made.dentries.push_back(
               {.parent = served.view.ino_of(parent), .name = name, .child = ino});
           served.shared.publish(made);
           done.error(ESTALE);
           return false;
         }
         const bool taken = done.create(node, opened);
         if (!taken) served.shared.growing.close(served.id, ino);
         return taken;
       });
}

void mknod(Request& request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  make(request, parent, name, {.kind = kind_of(mode), .mode = mode & ALLPERMS, .rdev = device},
       give_entry);
}

void mkdir(Request& request, fuse_ino_t parent, const char* name, mode_t mode) {
  make(request, parent, name, {.kind = NodeKind::directory, .mode = mode & ALLPERMS}, give_entry);
}

void symlink(Request& request, const char* target, fuse_ino_t parent, const char* name) {
  make(request, parent, name, {.kind = NodeKind::symlink, .target = target}, give_entry);
}

void link(Request& request, fuse_ino_t node, fuse_ino_t new_parent, const char* new_name) {
  Served& served = request.served();
  const auto ino = served.view.may_change(node, Change::attributes);
  if (!ino) return request.error(ino.error());
  const auto folder = served.view.may_create(new_parent, new_name);
  if (!folder) return request.error(folder.error());
  served.shared.store.link({.ino = *ino, .parent = *folder, .name = new_name}, ordered(served),
                           answered_node(request, new_parent, new_name, give_entry));
}

void rename(Request& request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) {
  Served& served = request.served();
  const auto from = served.view.may_change_name(parent, name);
  if (!from) return request.error(from.error());
  const auto to = served.view.may_change_name(new_parent, new_name);
  if (!to) return request.error(to.error());
  RenamePlan plan{
      .parent = *from, .name = name, .new_parent = *to, .new_name = new_name, .mode = {}};
  if (flags == RENAME_NOREPLACE) {
    plan.mode = RenamePlan::Mode::keep;
  } else if (flags == RENAME_EXCHANGE) {
    plan.mode = RenamePlan::Mode::exchange;
  } else if (flags != 0) {
    return request.error(EINVAL);
  }
  served.shared.store.rename(std::move(plan), ordered(served), answered(request));
}

void unlink(Request& request, fuse_ino_t parent, const char* name) {
  Served& served = request.served();
  const auto folder = served.view.may_unlink(parent, name);
  if (!folder) return request.error(folder.error());
  RemovePlan plan{.parent = *folder, .name = name, .uid = request.uid(), .reason = "rm"};
  served.shared.store.remove(std::move(plan), ordered(served), answered(request));
}

void rmdir(Request& request, fuse_ino_t parent, const char* name) {
  Served& served = request.served();
  const auto folder = served.view.may_change_name(parent, name);
  if (!folder) return request.error(folder.error());
  RemovePlan plan{.parent = *folder, .name = name, .uid = request.uid(), .reason = "rmdir"};
  served.shared.store.remove_folder(std::move(plan), ordered(served), answered(request));
}

}  // namespace ebla::fs::ops
