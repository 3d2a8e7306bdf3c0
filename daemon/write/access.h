// What a kernel asks of modes and owners before it lets a process change something, asked for a
// peer of the control socket. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "schema/base/result.h"
#include "schema/model.h"

namespace ebla::daemon {

// Who acts. Only the primary group of a peer counts.
struct Actor {
  uint32_t uid = 0;
  uint32_t gid = 0;
  // The user of a daemon that is not root: every mount shows all nodes as this user's.
  bool owns_all = false;
};

enum class Wish : uint32_t { read = 4, write = 2, search = 1 };

bool may(const Actor& actor, const Attr& node, Wish wish);
// permission_denied, naming who, what and the node's mode and owner.
Result<void> check_may(const Actor& actor, const Attr& node, std::string_view path, Wish wish);
// Whether an entry may come, go or be replaced in a folder: write and search there and, for a node
// that is there, the sticky bit. permission_denied, operation_not_permitted.
Result<void> check_entry(const Actor& actor, const Attr& folder, std::string_view folder_path,
                         const Attr* node);

}  // namespace ebla::daemon
