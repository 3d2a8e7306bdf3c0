// From the path that a writing call names to what it would change, and whether it may.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/services.h"
#include "daemon/write/access.h"
#include "schema/model.h"

namespace ebla::daemon {

struct Target {
  std::string path;         // in the tree
  std::string folder_path;  // of `folder`
  Attr folder;              // the lowest folder on the way that is there
  // From there on: the name, and before it folders that are missing.
  std::vector<std::string> missing;
  std::string name;
  std::optional<Attr> node;  // what has the name
};

Actor actor_of(const MethodCall& call);

// Understands paths as find_path() does; with a session, a new file is made in its own folder where
// the path lies in /large_tool_results. `missing` is empty unless `parents`: file_not_found names
// the folder that is not there. busy for the tree's root, operation_not_permitted for /.ebla,
// permission_denied where the peer may not enter a folder on the way. The folders that the daemon
// made are passed by whoever may use the socket.
Result<Target> find_target(const MethodCall& call, std::string_view given,
                           const std::optional<Session>& session, bool parents);
// The same for what must be there: file_not_found, with why it went.
Result<Target> find_existing(const MethodCall& call, std::string_view given,
                             const std::optional<Session>& session);

// Of a folder where the call says nothing else.
inline constexpr uint32_t kFolderMode = 0755;

// Makes the folders that are missing, as the peer's, mode `mode`.
Result<void> make_missing(const MethodCall& call, Target& target, uint32_t mode);

// operation_not_permitted for nodes of the daemon's; the text says what can be done instead.
Result<void> check_unprotected(const Target& target);
// busy when a mount shows the node or something below it as its root.
Result<void> check_unmounted(const MethodCall& call, const Target& target);
// A name that a removed result had: says so.
Error explained(const MethodCall& call, const Target& target, Error error);

// "INO-CHANGE", as fs.stat shows it.
std::string etag_of(const Attr& attr);
// `path`, `host_path`, `size`, `etag`: what every writing method says of a node.
void write_node(JsonWriter& out, const MethodCall& call, const std::optional<Session>& session,
                std::string_view path, const Attr& attr);

// Octal digits of the parameter `mode`; invalid_params.
Result<uint32_t> mode_param(const MethodCall& call, uint32_t fallback);

// Runs `work` on a thread that may wait, with the session that the call names, if any.
void on_writing_thread(MethodCall call,
                       void (*work)(MethodCall call, const std::optional<Session>& session));

}  // namespace ebla::daemon
