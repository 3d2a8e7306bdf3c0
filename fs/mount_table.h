// All mounts of one store: one pool of FUSE threads serves them, a queue per mount tells the kernel
// what changed. The only face of this folder to the daemon.
//
// Threads: every method from any thread but a FUSE thread. Reads reply at once; nothing here waits
// for the writer. The table must go before the store, and a removal that a mount asked for is told
// to the other mounts by the table itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schema/base/result.h"
#include "schema/change_set.h"
#include "schema/store.h"

namespace ebla::fs {

struct MountSpec {
  std::string subtree = "/";  // path in the tree
  std::string directory;      // absolute
  bool read_only = false;     // as mount(8)'s ro: the kernel refuses every change
  bool no_exec = false;
  bool allow_other = false;  // other users may enter, too; modes and owners hold for them
};
// "DIR" or "SUBTREE=DIR"; a DIR that holds '=' is written with its subtree. Relative DIRs are made
// absolute against the working directory.
Result<MountSpec> parse_mount_spec(std::string_view text);

struct MountTableOptions {
  unsigned threads = 0;     // 0: by the number of CPUs, within 4 to 16
  std::string fsname;       // shown by mount(8): the store's path
  std::string socket_path;  // target of /.ebla/socket
  std::string version;      // content of /.ebla/version
  std::vector<std::string>
      forbidden;             // host paths that no mount may cover or lie in: store, socket, log
  bool allow_other = false;  // for all mounts, whatever their specs say
  // How long a node without a name that nobody holds waits for others to be freed with it. With
  // limits that count nodes: 0.
  std::chrono::milliseconds free_delay{5};
  // When set: the table ends with its mounts. As soon as none is left, because it was unmounted or
  // because the only one could not be made, no more are made and this is called, once, from any
  // thread.
  std::function<void()> on_last_gone = {};
};

struct MountInfo {
  MountId id = 0;
  MountSpec spec;
  bool alive = false;     // its session loop runs
  bool writable = false;  // the one mount through which its subtree is changed
};

class MountTable {
 public:
  // `store` must outlive the table.
  static Result<std::unique_ptr<MountTable>> create(Store& store, MountTableOptions options);
  ~MountTable();  // unmount_all

  // Mounts and serves. mount_failed says exactly what is missing and the command that mends it:
  // device absent, device not accessible, fusermount3 absent, no right to mount, user_allow_other,
  // parent folder missing, not a folder, not empty, overlap. A folder that is missing is made, and
  // removed at the unmount. An own stale mount there is detached first.
  // When it returns the first readdir has been answered.
  Result<MountInfo> mount(const MountSpec& spec);

  // Takes one mount away that nobody uses: busy else. file_not_found: none of ours is there. One
  // that umount(8) took away is forgotten by itself.
  Result<MountInfo> unmount(const std::string& directory);

  // Tells every mount but the set's origin; `delivered` runs once, when the kernel has been told,
  // on a thread of this table. Mounts that hang are not waited for longer than the kernel takes.
  void deliver(const ChangeSet& changes, std::move_only_function<void()> delivered);

  // A file is about to grow other than through a mount, until what is answered goes. Who wants to
  // open it for writing meanwhile waits, so hold it until the change was delivered: that tells each
  // kernel the new end. busy: a mount has it open for writing.
  Result<std::shared_ptr<void>> begin_growth(Ino ino);

  std::vector<MountInfo> list() const;
  // The mount that shows a path of the tree with the longest subtree; none: id 0.
  MountInfo find_for(std::string_view tree_path) const;
  // Host path to path in the tree, for a path that lies on one of our mounts; empty if on none.
  std::string tree_path_of(std::string_view host_path) const;
  // FUSE requests served so far, by operation name.
  std::map<std::string, uint64_t> request_counts() const;

  // Unmounts strictly while the loops still serve, for `patience`, then detaches; ends the loops.
  Result<void> unmount_all(std::chrono::milliseconds patience);

 private:
  struct Impl;
  explicit MountTable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ebla::fs
