// Where things are: socket, store, log, and eblad itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"
#include "schema/default_paths.h"
#include "tools/client.h"
#include "tools/verb.h"

namespace ebla::tools {

// --socket, else $EBLA_SOCKET, else the default of this user.
std::string socket_path(const Arguments& args, const Environment& env);

// Connects to the daemon of this call. On the default path only a daemon of this user or of root
// is trusted: that folder may lie where anybody can make one.
Result<Client> open_client(const Call& call);

// The value that the last `--name VALUE` or `--name=VALUE` among words for eblad has.
std::optional<std::string> passed_value(const std::vector<std::string>& words,
                                        std::string_view name);
bool passed_flag(const std::vector<std::string>& words, std::string_view name);

// Whether words for eblad, its environment or its configuration files say what to mount, or that
// nothing is to be mounted.
bool mounts_are_said(const std::vector<std::string>& words, const Environment& env);

// eblad: next to this program, in the build tree's daemon folder beside it, then in $PATH.
Result<std::string> find_daemon(const Environment& env);
// The first file of this name in the folders of $PATH that may be executed.
std::optional<std::string> find_program(const Environment& env, std::string_view name);

// Where the daemon's output goes: beside the store, STORE without ".db" and with ".log".
std::string log_path(std::string_view store);

}  // namespace ebla::tools
