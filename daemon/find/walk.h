// A walk over a part of the tree, in the order of the bytes of the paths. Reads folders a page at a
// time and holds no transaction between; memory is bounded for a folder of any size.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/model.h"
#include "schema/store.h"

namespace ebla::daemon {

struct WalkNode {
  std::string path;  // in the tree; any bytes
  NodeKind kind = NodeKind::file;
  Ino ino = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  // What the walk is ordered by, and where it can begin: the path, a folder's with a slash.
  std::string key() const { return kind == NodeKind::directory ? path + "/" : path; }
};

// Whether a node may be seen; a folder that may not hides what is below it.
using Visible = std::function<bool(const std::string& folder, const DirEntry& entry)>;

class TreeWalk {
 public:
  // From a file (which is the only node then) or a folder, whose content is walked but not itself.
  // Only nodes whose key is not before `start`.
  TreeWalk(Store& store, std::string path, const Attr& root, Visible visible, std::string start);

  // nullopt at the end. An error is about one folder that could not be read, unreadable() names it;
  // the walk may go on.
  Result<std::optional<WalkNode>> next();
  const std::string& unreadable() const { return unreadable_; }

 private:
  struct Entry {
    std::string name;  // a folder's with a slash
    Ino ino = 0;
    uint64_t size = 0;
    int64_t mtime_ns = 0;
    NodeKind kind = NodeKind::file;
  };
  struct Level {
    std::string prefix;  // with a slash at its end
    Ino ino = 0;
    std::vector<Entry> entries = {};
    size_t next = 0;
    bool more = false;  // the folder has entries after these
  };
  static constexpr size_t kEntries = 64 * 1024;  // of one folder in memory

  Result<void> load(Level& level, const std::string& after_name);
  bool wanted(const std::string& key) const;
  void trim(Level& level);

  Store& store_;
  Visible visible_;
  std::string start_;
  std::optional<WalkNode> single_;
  std::vector<Level> levels_;
  std::string unreadable_;
};

}  // namespace ebla::daemon
