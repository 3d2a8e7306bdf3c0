#include "fs/invalidator.h"

#include <algorithm>

#include "fs/connection.h"

namespace ebla::fs {
namespace {

constexpr size_t kPage = 1024;

}  // namespace

Invalidator::Invalidator(Connection& connection)
    : connection_(connection), thread_([this] { run(); }) {}

Invalidator::~Invalidator() {
  stop();
}

void Invalidator::push(const ChangeSet& changes, std::shared_ptr<Delivery> delivery) {
  {
    const std::lock_guard lock(mutex_);
    for (const DentryChange& change : changes.dentries) {
      pending_.dentries.insert_or_assign({change.parent, change.name}, change);
    }
    pending_.attributes.insert(changes.attributes.begin(), changes.attributes.end());
    for (const RangeChange& change : changes.ranges) {
      const uint64_t end = change.length == 0 ? 0 : change.offset + change.length;
      const auto [at, fresh] = pending_.ranges.emplace(change.ino, std::pair(change.offset, end));
      if (fresh) continue;
      auto& [first, last] = at->second;
      first = std::min(first, change.offset);
      last = last == 0 || end == 0 ? 0 : std::max(last, end);
    }
    pending_.everything |= changes.everything || changes.whole_tree;
    pending_.deliveries.push_back(std::move(delivery));
  }
  wake_.notify_one();
}

void Invalidator::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Invalidator::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    if (pending_.empty()) return;
    Pending work = std::exchange(pending_, {});
    lock.unlock();
    if (connection_.alive()) tell(work);
    work.deliveries.clear();
    lock.lock();
  }
}

bool Invalidator::known(uint64_t nodeid) const {
  return nodeid == kRootNode || connection_.served().nodes.holds(nodeid);
}

void Invalidator::tell(const Pending& pending) {
  if (pending.everything) return tell_everything();
  const View& view = connection_.served().view;
  const std::set<uint64_t> folders = tell_dentries(pending);
  // Folders whose lookups and listings of old have all arrived: see wait_for_lookups().
  std::set<uint64_t> passed = folders;

  std::set<uint64_t> attributes;
  for (const Ino ino : pending.attributes) attributes.insert(view.nodeid_of(ino));
  const auto prepare = [&](uint64_t nodeid) {
    if (!known(nodeid)) return false;
    const uint64_t parent = connection_.served().nodes.parent_of(nodeid);
    if (parent != 0 && passed.insert(parent).second) connection_.wait_for_lookups(parent);
    return true;
  };
  for (const uint64_t folder : folders) {
    if (!prepare(folder)) continue;
    connection_.drop_pages(folder, 0, 0);  // its kept listing
    attributes.erase(folder);              // gone with the pages
  }
  for (const auto& [ino, range] : pending.ranges) {
    const uint64_t nodeid = view.nodeid_of(ino);
    if (!prepare(nodeid)) continue;
    const auto& [first, last] = range;
    connection_.drop_pages(nodeid, first, last == 0 ? 0 : last - first);
    if (connection_.served().shared.growing.grows(ino)) tell_end(nodeid);
    attributes.erase(nodeid);
  }
  for (const uint64_t nodeid : attributes) {
    if (prepare(nodeid)) connection_.drop_attributes(nodeid);
  }
}

// Returns the folders that changed, as far as the kernel knows them. It drops a listing by itself
// when it knows the name that changed, and only then.
std::set<uint64_t> Invalidator::tell_dentries(const Pending& pending) {
  std::set<uint64_t> folders;
  const View& view = connection_.served().view;
  for (const auto& [key, change] : pending.dentries) {
    const uint64_t parent = view.nodeid_of(change.parent);
    if (!known(parent)) continue;
    if (change.kind == DentryChange::Kind::removed) {
      connection_.drop_removed(parent, view.nodeid_of(change.child), change.name);
    } else {
      connection_.drop_entry(parent, change.name);
    }
    folders.insert(parent);
  }
  return folders;
}

// A kernel that has no attributes of a file asks for them, but not before it appends: it must be
// told. No mount writes the file meanwhile.
void Invalidator::tell_end(uint64_t nodeid) {
  const View& view = connection_.served().view;
  const auto node = view.getattr(nodeid);
  if (!node || node->attr.size == 0) return;
  const uint64_t last = node->attr.size - 1;
  char byte = '\0';
  const auto read = view.read(nodeid, last, {&byte, 1});
  connection_.keep_byte(nodeid, last, byte);
  if (!read || *read != 1) connection_.drop_pages(nodeid, last, 1);
}

// Dropping a folder's entry drops all below it that is not in use, absent names included.
void Invalidator::tell_everything() {
  Served& served = connection_.served();
  std::set<uint64_t> folders{kRootNode};
  const std::vector<uint64_t> nodes = served.nodes.all();
  for (const uint64_t nodeid : nodes) {
    const auto node = served.view.getattr(nodeid);
    if (node && node->attr.kind == NodeKind::directory) folders.insert(nodeid);
  }
  for (const uint64_t folder : folders) {
    for (uint64_t after = 0;;) {
      const auto page = served.view.list(folder, after, kPage);
      if (!page || page->empty()) break;
      for (const DirEntry& entry : *page) connection_.drop_entry(folder, entry.name);
      after = page->back().cookie;
    }
    connection_.wait_for_lookups(folder);
  }
  for (const std::string& name : served.names_at_root()) connection_.drop_entry(kRootNode, name);
  for (const uint64_t nodeid : nodes) connection_.drop_pages(nodeid, 0, 0);
  connection_.drop_pages(kRootNode, 0, 0);
}

}  // namespace ebla::fs
