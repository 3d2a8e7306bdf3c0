// What one mount serves and what its kernel holds of it. Knows no libfuse; thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fs/node_table.h"
#include "fs/shared.h"
#include "fs/view.h"

namespace ebla::fs {

// An open directory. Entries that were read from the store but did not fit into a reply stay here
// for the next one.
struct DirCursor {
  std::mutex mutex;
  std::vector<DirEntry> batch;
  size_t next = 0;     // first of the batch that was not given out
  uint64_t after = 0;  // cookie before batch[next]
  uint64_t epoch = 0;  // Shared::epoch before the batch was read
};

class Served {
 public:
  Served(Shared& shared_part, MountId mount_id, View the_view);

  // Looks up and registers what the kernel gets to hold.
  Result<Node> lookup(uint64_t parent, std::string_view name);
  // The kernel gets to hold the node, found under this name.
  void give(uint64_t nodeid, uint64_t parent, std::string_view name);
  // The kernel gave back, or never got, `count` entries.
  void release(uint64_t nodeid, uint64_t count);
  void release_all();
  // Names at the root that the kernel has been given since the last call of this.
  std::set<std::string> names_at_root();
  void given_at_root(std::string_view name);
  bool holds(Ino ino) const { return nodes.holds(view.nodeid_of(ino)); }

  uint64_t open_cursor();
  std::shared_ptr<DirCursor> cursor(uint64_t handle) const;  // nullptr: no such handle
  void close_cursor(uint64_t handle);

  Shared& shared;
  const MountId id;
  const View view;
  NodeTable nodes;

 private:
  void released(Ino ino);

  std::mutex names_mutex_;
  std::set<std::string> names_at_root_;
  mutable std::mutex cursors_mutex_;
  uint64_t next_cursor_ = 1;
  std::unordered_map<uint64_t, std::shared_ptr<DirCursor>> cursors_;
};

}  // namespace ebla::fs
