// What one mount serves and what its kernel holds of it. Knows no libfuse; thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "fs/node_table.h"
#include "fs/shared.h"
#include "fs/view.h"

namespace ebla::fs {

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

  Shared& shared;
  const MountId id;
  const View view;
  NodeTable nodes;
  // What the kernel said of itself before it asked for anything.
  std::atomic<bool> lists_without_opendir{false};

 private:
  void released(Ino ino);

  std::mutex names_mutex_;
  std::set<std::string> names_at_root_;
};

}  // namespace ebla::fs
