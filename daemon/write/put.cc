#include "daemon/write/put.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/content_intake.h"
#include "daemon/wait_for.h"

namespace ebla::daemon {
namespace {

Result<void> check_kind(const Target& target) {
  switch (target.node->kind) {
    case NodeKind::file:
      return {};
    case NodeKind::directory:
      return fail(Code::is_directory,
                  fmt::format("{} is a folder: name a file in it", printable(target.path)));
    case NodeKind::symlink:
      return fail(Code::invalid_path,
                  fmt::format("{} is a symbolic link, which is not followed here: name the file "
                              "itself (fs.stat shows the target)",
                              printable(target.path)));
    default:
      return fail(Code::invalid_path, fmt::format("{} is no regular file", printable(target.path)));
  }
}

Result<void> check_etag(const Target& target, const PutOptions& options) {
  if (!options.if_etag) return {};
  const std::string now = target.node ? etag_of(*target.node) : std::string(kNoFile);
  if (*options.if_etag == now) return {};
  return fail(Code::conflict,
              fmt::format("{} is not what if_etag says: the etag is {} now. Read it again and "
                          "decide anew; nothing was written",
                          printable(target.path), now));
}

}  // namespace

Result<void> check_put(const MethodCall& call, const Target& target, const PutOptions& options) {
  if (auto good = check_etag(target, options); !good) return good;
  const Actor actor = actor_of(call);
  if (!target.node) return check_entry(actor, target.folder, target.folder_path, nullptr);
  // As for a program that opens it: the folder is not asked.
  auto good = check_kind(target);
  if (good) good = check_unprotected(target);
  if (good) good = check_may(actor, *target.node, target.path, Wish::write);
  return good;
}

Result<Attr> put_once(const MethodCall& call, const Target& target, const PutOptions& options,
                      std::optional<uint64_t> change, ContentRef content) {
  ReplacePlan plan{.parent = target.folder.ino,
                   .name = target.name,
                   .expected = target.node ? target.node->ino : 0,
                   .change = change,
                   .content = std::move(content),
                   .mode = options.mode,
                   .uid = call.uid(),
                   .gid = call.gid(),
                   .drop_privileges = call.uid() != 0};
  Services& services = call.services();
  auto written = wait_for<Attr>(services, [&](Completion<Attr> done) {
    services.store.replace(std::move(plan), durable_change(), std::move(done));
  });
  if (!written) return std::unexpected(explained(call, target, std::move(written.error())));
  return written;
}

Result<Target> look_again(const MethodCall& call, const Target& target) {
  return find_target(call, target.path, std::nullopt, false);
}

Result<PutOutcome> put(const MethodCall& call, Target& target, const PutOptions& options,
                       ContentRef content) {
  Store& store = call.services().store;
  Result<Attr> written = fail(Code::conflict, "");
  for (size_t attempt = 0; attempt < limits::kWriteAttempts; ++attempt) {
    // With an etag the counter was asked for, not only the node.
    const auto change =
        options.if_etag && target.node ? std::optional(target.node->change) : std::nullopt;
    written = put_once(call, target, options, change, content);
    if (written || written.error().code != Code::conflict) break;
    auto now = look_again(call, target);
    if (now) {
      target = *std::move(now);
      if (auto good = check_put(call, target, options); !good) {
        written = std::unexpected(std::move(good.error()));
        break;
      }
    } else {
      written = std::unexpected(std::move(now.error()));
      break;
    }
  }
  if (written) return PutOutcome{.attr = *written, .created = !target.node, .offset = {}};
  discard(store, content);
  return std::unexpected(std::move(written.error()));
}

}  // namespace ebla::daemon
