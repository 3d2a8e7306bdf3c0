// Mounts of a daemon that runs: asked for, and seen.
#pragma once

#include <string>
#include <string_view>

#include "schema/base/result.h"
#include "tools/client.h"

namespace ebla::tools {

struct MountWish {
  std::string directory;      // absolute path of this host
  std::string subtree = "/";  // path in the tree
  bool read_only = false;
  bool no_exec = false;
  bool allow_other = false;
};

// "DIR" or "SUBTREE=DIR", as eblad takes it: a DIR that holds '=' is written with its subtree. A
// relative DIR is made absolute. usage: none is named.
Result<MountWish> parse_mount_wish(std::string_view text);
// An absolute path, "." and ".." taken out.
std::string absolute_directory(std::string_view directory);

// Asks the daemon for a mount. mount_failed, too, when it came up where this process does not see
// it: the daemon lives in another mount namespace. Such a mount is taken away again.
Result<Reply> add_mount(Client& client, const MountWish& wish);

}  // namespace ebla::tools
