// What the methods need to know of the mounts; plain functions, so that a test stands in for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fs/mount_table.h"
#include "schema/change_set.h"

namespace ebla::daemon {

struct MountView {
  std::function<std::vector<fs::MountInfo>()> list;
  std::function<Result<fs::MountInfo>(const fs::MountSpec&)> add;
  std::function<Result<fs::MountInfo>(const std::string& directory)> remove;
  // The mount that shows a path of the tree; id 0 for none.
  std::function<fs::MountInfo(std::string_view tree_path)> find_for;
  // Path in the tree of a host path on a mount; empty for none.
  std::function<std::string(std::string_view host_path)> tree_path_of;
  std::function<std::map<std::string, uint64_t>()> request_counts;
  std::function<void(const ChangeSet&, std::move_only_function<void()> delivered)> deliver;
  // A file is about to grow other than through a mount; until what comes back goes, no mount opens
  // it for writing. busy: one has.
  std::function<Result<std::shared_ptr<void>>(Ino)> begin_growth;
};

MountView view_of(fs::MountTable& table);  // which must outlive the view
MountView no_mounts();

}  // namespace ebla::daemon
