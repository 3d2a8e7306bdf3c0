#include "daemon/find/walk.h"

#include <algorithm>
#include <utility>

#include "schema/base/limits.h"

namespace ebla::daemon {

TreeWalk::TreeWalk(Store& store, std::string path, const Attr& root, Visible visible,
                   std::string start)
    : store_(store), visible_(std::move(visible)), start_(std::move(start)) {
  if (root.kind != NodeKind::directory) {
    if (path < start_) return;
    single_ = WalkNode{std::move(path), root.kind, root.ino, root.size, root.mtime_ns};
    return;
  }
  if (!path.ends_with('/')) path += '/';
  levels_.push_back({.prefix = std::move(path), .ino = root.ino, .more = true});
}

Result<std::optional<WalkNode>> TreeWalk::next() {
  if (single_) return std::exchange(single_, std::nullopt);
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.next == level.entries.size()) {
      if (!level.more) {
        levels_.pop_back();
        continue;
      }
      const std::string last = level.entries.empty() ? "" : level.entries.back().name;
      if (auto loaded = load(level, last); !loaded) {
        unreadable_ = level.prefix;
        if (unreadable_.size() > 1) unreadable_.pop_back();
        levels_.pop_back();
        return std::unexpected(std::move(loaded.error()));
      }
      continue;
    }
    const Entry& entry = level.entries[level.next++];
    const std::string key = level.prefix + entry.name;
    const bool folder = entry.kind == NodeKind::directory;
    WalkNode node{folder ? key.substr(0, key.size() - 1) : key, entry.kind, entry.ino, entry.size,
                  entry.mtime_ns};
    if (folder) levels_.push_back({.prefix = key, .ino = node.ino, .more = true});
    // A folder that lies before may hold what lies after.
    if (key < start_) continue;
    return node;
  }
  return std::nullopt;
}

bool TreeWalk::wanted(const std::string& key) const {
  return key >= start_ || (key.ends_with('/') && start_.starts_with(key));
}

Result<void> TreeWalk::load(Level& level, const std::string& after_name) {
  level.entries.clear();
  level.next = 0;
  level.more = false;
  const std::string folder =
      level.prefix.size() > 1 ? level.prefix.substr(0, level.prefix.size() - 1) : "/";
  uint64_t cookie = 0;
  for (;;) {
    auto page = store_.readdir(level.ino, cookie, limits::kListEntries);
    if (!page) return std::unexpected(std::move(page.error()));
    for (DirEntry& entry : *page) {
      std::string name = entry.name;
      if (entry.attr.kind == NodeKind::directory) name += '/';
      if (name <= after_name || !wanted(level.prefix + name)) continue;
      if (!visible_(folder, entry)) continue;
      level.entries.push_back(
          {std::move(name), entry.attr.ino, entry.attr.size, entry.attr.mtime_ns, entry.attr.kind});
    }
    if (page->size() < limits::kListEntries) break;
    cookie = page->back().cookie;
    if (level.entries.size() >= 2 * kEntries) trim(level);
  }
  if (level.entries.size() > kEntries) trim(level);
  std::ranges::sort(level.entries, {}, &Entry::name);
  return {};
}

// Keeps the first kEntries by name; the rest is read again when its turn comes.
void TreeWalk::trim(Level& level) {
  const auto border = level.entries.begin() + static_cast<ptrdiff_t>(kEntries);
  std::ranges::nth_element(level.entries, border, {}, &Entry::name);
  level.entries.erase(border, level.entries.end());
  level.more = true;
}

}  // namespace ebla::daemon
