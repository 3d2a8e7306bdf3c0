#include "fs/served.h"

#include <utility>

namespace ebla::fs {

Served::Served(Shared& shared_part, MountId mount_id, View the_view)
    : shared(shared_part), id(mount_id), view(std::move(the_view)) {}

Result<Node> Served::lookup(uint64_t parent, std::string_view name) {
  const uint64_t epoch = shared.epoch.load();
  auto node = view.lookup(parent, name);
  if (!node) return node;
  give(node->nodeid, parent, name);
  if (shared.epoch.load() == epoch) return node;
  // Something changed meanwhile, and its telling may not have found this node registered. What is
  // read from here on is told.
  auto fresh = view.getattr(node->nodeid);
  if (!fresh) release(node->nodeid, 1);
  return fresh;
}

void Served::give(uint64_t nodeid, uint64_t parent, std::string_view name) {
  nodes.remember(nodeid, parent);
  if (parent == kRootNode) given_at_root(name);
}

std::set<std::string> Served::names_at_root() {
  const std::lock_guard lock(names_mutex_);
  return std::exchange(names_at_root_, {});
}

void Served::given_at_root(std::string_view name) {
  const std::lock_guard lock(names_mutex_);
  names_at_root_.emplace(name);
}

void Served::release(uint64_t nodeid, uint64_t count) {
  if (nodes.forget(nodeid, count)) released(view.ino_of(nodeid));
}

void Served::release_all() {
  shared.growing.forget(id);
  for (const uint64_t nodeid : nodes.clear()) released(view.ino_of(nodeid));
}

void Served::released(Ino ino) {
  shared.orphanage.released(ino);
}

}  // namespace ebla::fs
