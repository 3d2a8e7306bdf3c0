#include "fs/node_table.h"

namespace ebla::fs {

void NodeTable::remember(uint64_t nodeid, uint64_t parent) {
  Shard& part = shard(nodeid);
  const std::lock_guard lock(part.mutex);
  Held& held = part.nodes[nodeid];
  ++held.count;
  held.parent = parent;
}

bool NodeTable::forget(uint64_t nodeid, uint64_t count) {
  Shard& part = shard(nodeid);
  const std::lock_guard lock(part.mutex);
  const auto found = part.nodes.find(nodeid);
  if (found == part.nodes.end()) return false;
  if (found->second.count > count) {
    found->second.count -= count;
    return false;
  }
  part.nodes.erase(found);
  return true;
}

bool NodeTable::holds(uint64_t nodeid) const {
  const Shard& part = shard(nodeid);
  const std::lock_guard lock(part.mutex);
  return part.nodes.contains(nodeid);
}

uint64_t NodeTable::parent_of(uint64_t nodeid) const {
  const Shard& part = shard(nodeid);
  const std::lock_guard lock(part.mutex);
  const auto found = part.nodes.find(nodeid);
  return found == part.nodes.end() ? 0 : found->second.parent;
}

std::vector<uint64_t> NodeTable::all() const {
  std::vector<uint64_t> out;
  for (const Shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    for (const auto& [nodeid, held] : part.nodes) out.push_back(nodeid);
  }
  return out;
}

std::vector<uint64_t> NodeTable::clear() {
  std::vector<uint64_t> out;
  for (Shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    for (const auto& [nodeid, held] : part.nodes) out.push_back(nodeid);
    part.nodes.clear();
  }
  return out;
}

}  // namespace ebla::fs
