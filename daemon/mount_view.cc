#include "daemon/mount_view.h"

#include <utility>

namespace ebla::daemon {

MountView view_of(fs::MountTable& table) {
  return {
      .list = [&table] { return table.list(); },
      .add = [&table](const fs::MountSpec& spec) { return table.mount(spec); },
      .remove = [&table](const std::string& directory) { return table.unmount(directory); },
      .find_for = [&table](std::string_view path) { return table.find_for(path); },
      .tree_path_of = [&table](std::string_view path) { return table.tree_path_of(path); },
      .request_counts = [&table] { return table.request_counts(); },
      .deliver =
          [&table](const ChangeSet& changes, std::move_only_function<void()> delivered) {
            table.deliver(changes, std::move(delivered));
          },
      .begin_growth = [&table](Ino ino) { return table.begin_growth(ino); },
  };
}

MountView no_mounts() {
  return {
      .list = [] { return std::vector<fs::MountInfo>(); },
      .add = [](const fs::MountSpec&) -> Result<fs::MountInfo> {
        return fail(Code::mount_failed, "there are no mounts here");
      },
      .remove = [](const std::string&) -> Result<fs::MountInfo> {
        return fail(Code::file_not_found, "there are no mounts here");
      },
      .find_for = [](std::string_view) { return fs::MountInfo(); },
      .tree_path_of = [](std::string_view) { return std::string(); },
      .request_counts = [] { return std::map<std::string, uint64_t>(); },
      .deliver = [](const ChangeSet&, std::move_only_function<void()> delivered) { delivered(); },
      .begin_growth = [](Ino) { return std::shared_ptr<void>(); },
  };
}

}  // namespace ebla::daemon
