#include "daemon/method_table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/methods/methods.h"
#include "schema/base/log.h"

namespace ebla::daemon {
namespace {

constexpr std::array kEntries = {
    MethodEntry{"hello", methods::hello, false},
    MethodEntry{"session.open", methods::session_open, true},
    MethodEntry{"session.get", methods::session_get, false},
    MethodEntry{"session.list", methods::session_list, false},
    MethodEntry{"session.close", methods::session_close, true},
    MethodEntry{"evict", methods::evict, true},
    MethodEntry{"prepare", methods::prepare, true},
    MethodEntry{"history.append", methods::history_append, true},
    MethodEntry{"events", methods::events, false},
    MethodEntry{"fs.ls", methods::fs_ls, false},
    MethodEntry{"fs.stat", methods::fs_stat, false},
    MethodEntry{"fs.read", methods::fs_read, false},
    MethodEntry{"fs.read_bytes", methods::fs_read_bytes, false},
    MethodEntry{"fs.write", methods::fs_write, true},
    MethodEntry{"fs.edit", methods::fs_edit, true},
    MethodEntry{"fs.delete", methods::fs_delete, true},
    MethodEntry{"fs.mkdir", methods::fs_mkdir, true},
    MethodEntry{"fs.rename", methods::fs_rename, true},
    MethodEntry{"fs.grep", methods::fs_grep, false},
    MethodEntry{"fs.glob", methods::fs_glob, false},
    MethodEntry{"mount.add", methods::mount_add, true},
    MethodEntry{"mount.remove", methods::mount_remove, true},
    MethodEntry{"tools.list", methods::tools_list, false},
    MethodEntry{"tools.call", methods::tools_call, false},
    MethodEntry{"stats", methods::stats, false},
    MethodEntry{"status", methods::status, false},
};

// What the daemon's user should hear of even when a client does not tell: faults of the daemon, the
// disk or the store.
bool worth_a_line(Code code) {
  switch (code) {
    case Code::io_error:
    case Code::corrupt:
    case Code::no_space:
    case Code::quota_exceeded:
    case Code::read_only:
    case Code::internal_error:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::span<const MethodEntry> method_entries() {
  return kEntries;
}

void MethodTable::call(std::shared_ptr<Request> request, Responder respond) {
  const std::string_view name = request->method->name;
  const auto* entry = std::ranges::find(kEntries, name, &MethodEntry::name);
  Responder answer = [name, respond = std::move(respond)](Result<Reply> reply) mutable {
    if (!reply && worth_a_line(reply.error().code)) {
      log::warning("{}: {}", name, reply.error().text);
    }
    respond(std::move(reply));
  };
  MethodCall made(services_, std::move(request), std::move(answer));
  if (entry == kEntries.end()) {
    return made.refuse(Code::method_not_found, "this method is not served");
  }
  if (entry->writes && services_.stopping) {
    return made.refuse(Code::unavailable, "the daemon is stopping: nothing was stored");
  }
  entry->run(std::move(made));
}

std::string MethodTable::canonical_session(const Peer& peer, std::string_view session) {
  const uid_t uid = acting_uid(services_, peer);
  std::pair<uid_t, std::string> name(uid, session);
  if (const auto seen = names_.find(name); seen != names_.end()) return seen->second;
  auto found = services_.store.find_session(uid, session);
  if (!found || found->uid != uid) return std::string(session);
  if (names_.size() >= kNames) names_.clear();
  return names_[std::move(name)] = found->key.empty() ? found->id : found->key;
}

}  // namespace ebla::daemon
