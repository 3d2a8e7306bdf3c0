// How often the kernel holds each node of one mount: it counts every entry that it was given and
// gives the count back by FORGET. Thread safe; nothing is called with a lock held.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace ebla::fs {

class NodeTable {
 public:
  // One entry more was given out, found in `parent`.
  void remember(uint64_t nodeid, uint64_t parent);
  // True when this was the last: the kernel does not know the node any more.
  bool forget(uint64_t nodeid, uint64_t count);
  bool holds(uint64_t nodeid) const;
  // Where the node was found last; 0 when it is not held.
  uint64_t parent_of(uint64_t nodeid) const;
  std::vector<uint64_t> all() const;
  // The connection is gone, and all counts with it: what was held until now.
  std::vector<uint64_t> clear();

 private:
  struct Held {
    uint64_t count = 0;
    uint64_t parent = 0;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, Held> nodes;
  };
  static constexpr size_t kShards = 16;

  Shard& shard(uint64_t nodeid) { return shards_[nodeid % kShards]; }
  const Shard& shard(uint64_t nodeid) const { return shards_[nodeid % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace ebla::fs
