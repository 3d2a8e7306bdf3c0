// Where store and socket lie when nobody says so: the same answer for the daemon and its clients.
// The environment is passed in; nothing here touches the file system.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schema/base/result.h"

namespace ebla {

// Value of a variable; nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment process_environment();

inline constexpr size_t kSocketPathBytes = 107;  // sun_path without its NUL

// $XDG_STATE_HOME/ebla/default.db, else $HOME/.local/state/ebla/default.db. bad_configuration when
// neither variable is set to an absolute path.
Result<std::string> default_store_path(const Environment& environment);

// $EBLA_SOCKET, else $XDG_RUNTIME_DIR/ebla/default.sock, else
// ${TMPDIR:-/tmp}/ebla-UID/default.sock; made usable by usable_socket_path.
std::string default_socket_path(const Environment& environment, uid_t uid);

// The path itself where it fits into a socket address; else /tmp/ebla-UID/HASH.sock with the hash
// of the path, so that daemon and client meet there.
std::string usable_socket_path(const std::string& path, uid_t uid);

// Configuration files in the order in which they count: $XDG_CONFIG_HOME/ebla/ebla.conf (or
// $HOME/.config/ebla/ebla.conf), /etc/ebla/ebla.conf.
std::vector<std::string> default_config_paths(const Environment& environment);

}  // namespace ebla
