// fs.mkdir, fs.rename, fs.delete: what changes names.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "daemon/json_views.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/wait_for.h"
#include "daemon/write/removal.h"
#include "daemon/write/target.h"

namespace ebla::daemon::methods {
namespace {

void make_folder(MethodCall call, const std::optional<Session>& session) {
  const bool parents = flag_param(call, "parents");
  auto mode = mode_param(call, kFolderMode);
  if (!mode) return call.refuse(std::move(mode.error()));
  auto target = find_target(call, call.param("path")->text, session, parents);
  if (!target) return call.refuse(std::move(target.error()));
  const bool there = target->node && target->node->kind == NodeKind::directory;
  if (target->node && !(parents && there)) {
    return call.refuse(Code::already_exists,
                       fmt::format("{} is there already: a {}", printable(target->path),
                                   kind_name(target->node->kind)));
  }
  const bool created = !there;
  if (created) {
    target->missing.push_back(target->name);
    if (auto made = make_missing(call, *target, *mode); !made) {
      return call.refuse(explained(call, *target, std::move(made.error())));
    }
    target->node = target->folder;
  }
  JsonWriter out;
  out.begin_object();
  write_node(out, call, session, target->path, *target->node);
  out.member("created", created).end_object();
  call.reply(out.take());
}

// Both names may change, and a folder that goes to another one is written to: its ".." changes.
Result<void> check_rename(const MethodCall& call, const Target& from, const Target& to) {
  const Actor actor = actor_of(call);
  auto good = check_unprotected(from);
  if (good) good = check_unprotected(to);
  if (good) good = check_unmounted(call, from);
  if (good && to.node) good = check_unmounted(call, to);
  if (good) good = check_entry(actor, from.folder, from.folder_path, &*from.node);
  if (good) {
    good = check_entry(actor, to.folder, to.folder_path, to.node ? &*to.node : nullptr);
  }
  const bool folder_moves =
      from.node->kind == NodeKind::directory && from.folder.ino != to.folder.ino;
  if (good && folder_moves) good = check_may(actor, *from.node, from.path, Wish::write);
  return good;
}

Error rename_error(const MethodCall& call, const Target& from, const Target& to, Error error) {
  const std::string path = printable(to.path);
  switch (error.code) {
    case Code::already_exists:
      return {error.code, fmt::format("{} is there already: \"replace\":true replaces it", path)};
    case Code::is_directory:
      return {error.code, fmt::format("{} is a folder: name the new path in it", path)};
    case Code::not_directory:
      return {error.code, fmt::format("{} is no folder, {} is one", path, printable(from.path))};
    case Code::not_empty:
      return {error.code, fmt::format("{} is a folder that is not empty", path)};
    case Code::invalid_path:
      return {error.code, fmt::format("{} lies in {}: a folder cannot be moved into itself", path,
                                      printable(from.path))};
    default:
      return explained(call, to, std::move(error));
  }
}

void rename_node(MethodCall call, const std::optional<Session>& session) {
  auto from = find_existing(call, call.param("path")->text, session);
  if (!from) return call.refuse(std::move(from.error()));
  auto to = find_target(call, call.param("new_path")->text, session, false);
  if (!to) return call.refuse(std::move(to.error()));
  if (auto good = check_rename(call, *from, *to); !good) {
    return call.refuse(std::move(good.error()));
  }
  RenamePlan plan{
      .parent = from->folder.ino,
      .name = from->name,
      .new_parent = to->folder.ino,
      .new_name = to->name,
      .mode = flag_param(call, "replace") ? RenamePlan::Mode::replace : RenamePlan::Mode::keep};
  Services& services = call.services();
  auto renamed = wait_for<void>(services, [&](Completion<void> done) {
    services.store.rename(std::move(plan), durable_change(), std::move(done));
  });
  if (!renamed) return call.refuse(rename_error(call, *from, *to, std::move(renamed.error())));
  auto now = services.store.getattr(from->node->ino);
  JsonWriter out;
  out.begin_object();
  write_node(out, call, session, to->path, now ? *now : *from->node);
  out.member("old_path", from->path).member("replaced", to->node.has_value()).end_object();
  call.reply(out.take());
}

void delete_node(MethodCall call, const std::optional<Session>& session) {
  auto target = find_existing(call, call.param("path")->text, session);
  if (!target) return call.refuse(std::move(target.error()));
  if (auto good = check_unmounted(call, *target); !good) {
    return call.refuse(std::move(good.error()));
  }
  auto removed = remove_all(call, *target);
  if (!removed) return call.refuse(std::move(removed.error()));
  JsonWriter out;
  out.begin_object()
      .member("path", target->path)
      .member("files", removed->files)
      .member("folders", removed->folders)
      .member("bytes", removed->bytes)
      .member("kept", removed->kept);
  if (removed->kept > 0) {
    out.key("kept_paths").begin_array();
    for (const auto& [path, why] : removed->kept_paths) {
      out.begin_object().member("path", path).member("reason", why).end_object();
    }
    out.end_array();
  }
  out.end_object();
  call.reply(out.take());
}

}  // namespace

void fs_mkdir(MethodCall call) {
  on_writing_thread(std::move(call), make_folder);
}

void fs_rename(MethodCall call) {
  on_writing_thread(std::move(call), rename_node);
}

void fs_delete(MethodCall call) {
  on_writing_thread(std::move(call), delete_node);
}

}  // namespace ebla::daemon::methods
