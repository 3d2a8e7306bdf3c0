#include "daemon/write/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "daemon/methods/params.h"
#include "daemon/reading.h"
#include "daemon/session_service.h"
#include "daemon/tree_paths.h"
#include "daemon/wait_for.h"
#include "schema/path.h"

namespace ebla::daemon {
namespace {

constexpr std::string_view kOwnName = ".ebla";
constexpr uint32_t kModeBits = 07777;

std::string join(std::string_view folder, std::string_view name) {
  return fmt::format("{}/{}", folder == "/" ? "" : folder, name);
}

// One step down; nullopt: nothing has the name.
Result<std::optional<Attr>> step(const MethodCall& call, const Target& at,
                                 const std::string& name) {
  if (at.folder.kind != NodeKind::directory) {
    return fail(Code::not_directory, fmt::format("{} is not a folder", printable(at.folder_path)));
  }
  // A peer reaches its own files in the daemon's folders, which it could not enter itself.
  const bool made_by_daemon =
      at.folder_path == "/" || (at.folder.flags & (kNodeFixed | kNodeProtected)) != 0;
  if (!made_by_daemon) {
    auto good = check_may(actor_of(call), at.folder, at.folder_path, Wish::search);
    if (!good) return std::unexpected(std::move(good.error()));
  }
  auto attr = call.services().store.lookup(at.folder.ino, name);
  if (attr) return *attr;
  if (attr.error().code == Code::file_not_found) return std::nullopt;
  return std::unexpected(std::move(attr.error()));
}

Result<Target> walk(const MethodCall& call, const std::string& path, bool parents) {
  auto elements = split_path(path);
  if (!elements) return std::unexpected(std::move(elements.error()));
  if (elements->empty()) {
    return fail(Code::busy, "/ is the whole tree: name a file or folder in it");
  }
  if (elements->front() == kOwnName) {
    return fail(Code::operation_not_permitted, "/.ebla is Ebla's own: choose another name");
  }
  Store& store = call.services().store;
  auto root = store.getattr(store.root());
  if (!root) return std::unexpected(std::move(root.error()));
  Target target;
  target.path = join_path(*elements);
  target.folder_path = "/";
  target.folder = *std::move(root);
  target.name = std::move(elements->back());
  elements->pop_back();
  for (std::string& element : *elements) {
    if (target.missing.empty()) {
      auto next = step(call, target, element);
      if (!next) return std::unexpected(std::move(next.error()));
      if (*next) {
        target.folder_path = join(target.folder_path, element);
        target.folder = **next;
        continue;
      }
      if (!parents) {
        return fail(Code::file_not_found,
                    fmt::format("{} does not exist: make the folder first (fs.mkdir, ebla mkdir), "
                                "or ask for missing folders (\"parents\":true)",
                                printable(join(target.folder_path, element))));
      }
    }
    target.missing.push_back(std::move(element));
  }
  auto node = target.missing.empty() ? step(call, target, target.name) : std::nullopt;
  if (!node) return std::unexpected(std::move(node.error()));
  target.node = *std::move(node);
  return target;
}

}  // namespace

Actor actor_of(const MethodCall& call) {
  return {
      .uid = call.uid(), .gid = call.gid(), .owns_all = call.owner() && call.services().uid != 0};
}

Result<Target> find_target(const MethodCall& call, std::string_view given,
                           const std::optional<Session>& session, bool parents) {
  Result<Target> best = fail(Code::file_not_found, "");
  const auto rank = [](const Result<Target>& one) {
    return !one ? 0 : !one->missing.empty() ? 1 : !one->node ? 2 : 3;
  };
  bool first = true;
  // Of two meanings the one that is there, else the one that could be made.
  for (const std::string& path : meant_paths(call.services(), given, session)) {
    auto found = walk(call, path, parents);
    if (std::exchange(first, false) || rank(found) > rank(best)) best = std::move(found);
  }
  return best;
}

Result<Target> find_existing(const MethodCall& call, std::string_view given,
                             const std::optional<Session>& session) {
  auto target = find_target(call, given, session, false);
  if (target && target->node) return target;
  const Code code = target ? Code::file_not_found : target.error().code;
  if (code != Code::file_not_found) return target;
  auto found = find_path(call, given, session);
  if (!found) return std::unexpected(std::move(found.error()));
  return fail(Code::busy, "the tree is changing at this place: try again");
}

Result<void> make_missing(const MethodCall& call, Target& target, uint32_t mode) {
  Services& services = call.services();
  for (const std::string& name : target.missing) {
    if (auto good = check_entry(actor_of(call), target.folder, target.folder_path, nullptr);
        !good) {
      return good;
    }
    auto made = wait_for<Attr>(services, [&](Completion<Attr> done) {
      services.store.create({.parent = target.folder.ino,
                             .name = name,
                             .kind = NodeKind::directory,
                             .mode = mode,
                             .uid = call.uid(),
                             .gid = call.gid()},
                            durable_change(), std::move(done));
    });
    // Somebody else may have made it meanwhile.
    if (!made && made.error().code == Code::already_exists) {
      made = services.store.lookup(target.folder.ino, name);
    }
    if (!made) return std::unexpected(std::move(made.error()));
    target.folder_path = join(target.folder_path, name);
    target.folder = *made;
  }
  target.missing.clear();
  return {};
}

Result<void> check_unprotected(const Target& target) {
  const uint32_t flags = target.node ? target.node->flags : 0;
  const std::string path = printable(target.path);
  if ((flags & kNodeFixed) != 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("{} is a folder of Ebla's: it stays as and where it is", path));
  }
  if ((flags & kNodeProtected) == 0) return {};
  if ((flags & kNodeRemovable) != 0) {
    return fail(Code::operation_not_permitted,
                fmt::format("{} was put away and stays as it was: write what you want to keep "
                            "under another name, or remove it (fs.delete, ebla rm)",
                            path));
  }
  return fail(Code::operation_not_permitted,
              fmt::format("{} is kept by Ebla and only grows by it: nobody changes or removes it. "
                          "Write under another name",
                          path));
}

Result<void> check_unmounted(const MethodCall& call, const Target& target) {
  for (const fs::MountInfo& mount : call.services().mounts.list()) {
    const std::string& subtree = mount.spec.subtree;
    if (!mount.alive || !(subtree + "/").starts_with(target.path + "/")) continue;
    return fail(Code::busy, fmt::format("{} is mounted at {}: unmount it first", printable(subtree),
                                        printable(mount.spec.directory)));
  }
  return {};
}

Error explained(const MethodCall& call, const Target& target, Error error) {
  if (error.code != Code::operation_not_permitted) return error;
  const std::string why = why_gone(call.services().store, target.path);
  if (why.empty()) return error;
  error.text = fmt::format(
      "{}: a put-away result had this name, which stays its own: {}. Choose "
      "another name",
      printable(target.path), why);
  return error;
}

std::string etag_of(const Attr& attr) {
  return fmt::format("{}-{}", attr.ino, attr.change);
}

void write_node(JsonWriter& out, const MethodCall& call, const std::optional<Session>& session,
                std::string_view path, const Attr& attr) {
  out.member("path", path);
  const std::string host = host_path_of(call.services(), session.value_or(Session()), path);
  if (!host.empty()) out.member("host_path", host);
  if (attr.kind == NodeKind::file) out.member("size", attr.size);
  out.member("etag", etag_of(attr));
}

Result<uint32_t> mode_param(const MethodCall& call, uint32_t fallback) {
  const Json* given = call.param("mode");
  if (given == nullptr) return fallback;
  const std::string& text = given->text;
  uint32_t mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && !text.empty() && mode <= kModeBits) return mode;
  return fail(Code::invalid_params,
              fmt::format("mode: {} is not octal digits up to 7777, as \"0644\"",
                          printable(text.substr(0, limits::kStubChars))));
}

void on_writing_thread(MethodCall call,
                       void (*work)(MethodCall call, const std::optional<Session>& session)) {
  if (call.param("session") == nullptr) {
    return on_blocking_thread(std::move(call),
                              [work](MethodCall ready) { work(std::move(ready), std::nullopt); });
  }
  with_session(std::move(call), Access::write, [work](MethodCall named, Session session) {
    on_blocking_thread(std::move(named), [work, session = std::move(session)](MethodCall ready) {
      work(std::move(ready), session);
    });
  });
}

}  // namespace ebla::daemon
