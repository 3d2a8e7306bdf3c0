// The folder that a mount lies on. While mounted, and after, nobody writes into the bare folder:
// what landed there would be seen by nobody.
#pragma once

#include <string>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::fs {

class MountFolder {
 public:
  // Finds or makes (one level) the folder and gives write access back. mount_failed: its parent is
  // missing, not a folder, not empty, no access.
  static Result<MountFolder> prepare(const std::string& directory);
  MountFolder(MountFolder&&) = default;
  MountFolder& operator=(MountFolder&&) = default;

  const std::string& path() const { return path_; }  // absolute, free of symbolic links
  // Takes write access from the bare folder, whatever lies over it now.
  void protect() const;
  // After the unmount, or when it came to none: a folder that prepare() made goes.
  void abandon() const;

 private:
  MountFolder() = default;

  std::string path_;
  UniqueFd fd_;  // of the bare folder
  bool made_ = false;
};

// The path with symbolic links resolved as far as it exists.
std::string resolved_path(const std::string& path);

}  // namespace ebla::fs
