#include "daemon/session_service.h"

#include <fmt/format.h>

#include <utility>

#include "context/item/evict.h"
#include "context/item/names.h"
#include "daemon/wait_for.h"
#include "schema/path.h"

namespace ebla::daemon {
namespace {

Error unknown(std::string_view name) {
  return {Code::unknown_session,
          fmt::format("no session has the id or key \"{}\": open it first", printable(name))};
}

Result<void> check_key(std::string_view key) {
  if (!key.empty() && key.size() <= limits::kSessionKeyBytes) return {};
  return fail(Code::invalid_params,
              fmt::format("session: 1 to {} bytes, not {}", limits::kSessionKeyBytes, key.size()));
}

std::string session_name(const MethodCall& call) {
  const Json* named = call.param("session");
  return std::string(named == nullptr ? kDefaultSession : std::string_view(named->text));
}

std::string below(std::string_view folder, std::string_view name) {
  std::string path(folder);
  path += '/';
  path += name;
  return path;
}

Result<Session> admitted(const MethodCall& call, std::string_view name, Access access,
                         Session session) {
  if (session.uid == call.uid()) return session;
  if (!call.owner()) return std::unexpected(unknown(name));
  if (access == Access::read) return session;
  return fail(Code::permission_denied,
              fmt::format("session {} belongs to uid {}: it may be read, not written", session.id,
                          session.uid));
}

}  // namespace

Result<Session> find_session(const MethodCall& call, std::string_view name, Access access) {
  if (auto fits = check_key(name); !fits) return std::unexpected(fits.error());
  auto found = call.services().store.find_session(call.uid(), name);
  if (!found) {
    if (found.error().code == Code::unknown_session) return std::unexpected(unknown(name));
    return found;
  }
  return admitted(call, name, access, *std::move(found));
}

Result<Session> session_or_trouble(const MethodCall& call, bool create,
                                   std::optional<Error>& trouble) {
  const std::string name = session_name(call);
  if (auto fits = check_key(name); !fits) return std::unexpected(fits.error());
  Services& services = call.services();
  auto found = services.store.find_session(call.uid(), name);
  if (found) return admitted(call, name, Access::write, *std::move(found));
  Error error = std::move(found.error());
  const bool known = error.code != Code::unknown_session;
  if (!known && create) {
    auto opened = wait_briefly<SessionOutcome>(services, [&](Completion<SessionOutcome> done) {
      services.store.open_session(session_plan(call, name, name),
                                  durable_change(limits::kStoreWaitMs), std::move(done));
    });
    if (opened) return std::move(opened->session);
    error = std::move(opened.error());
  }
  if (known || create) trouble = std::move(error);
  Session unstored;
  unstored.id = name;
  unstored.key = name;
  unstored.uid = call.uid();
  return unstored;
}

void with_session(MethodCall call, Access access, WithSession then) {
  const std::string name = session_name(call);
  auto found = find_session(call, name, access);
  if (found) return then(std::move(call), *std::move(found));
  if (found.error().code != Code::unknown_session) return call.refuse(std::move(found.error()));
  if (call.services().stopping) return call.refuse(Code::unavailable, "the daemon is stopping");

  Services& services = call.services();
  SessionPlan plan = session_plan(call, name, name);
  services.store.open_session(
      std::move(plan), durable_change(),
      [&services, call = std::move(call), then = std::move(then)](
          Result<SessionOutcome> outcome, const ChangeSet& changes) mutable {
        if (!outcome) return call.refuse(std::move(outcome.error()));
        deliver_then(services, changes,
                     [&services, call = std::move(call), then = std::move(then),
                      session = std::move(outcome->session)](bool) mutable {
                       BlockingPool::Job job = [call = std::move(call), then = std::move(then),
                                                session = std::move(session)]() mutable {
                         then(std::move(call), std::move(session));
                       };
                       // Refused only at stop; the dropped call answers for itself.
                       (void)services.blocking.submit(job);
                     });
      });
}

SessionPlan session_plan(const MethodCall& call, std::string_view key, std::string_view label) {
  SessionPlan plan;
  plan.uid = call.uid();
  plan.gid = call.gid();
  plan.key = key;
  if (call.owner() && key == kDefaultSession) {
    plan.id_candidates.emplace_back(kDefaultSession);
  } else {
    plan.id_candidates =
        context::session_id_candidates(key.empty() ? label : key, call.services().random());
  }
  return plan;
}

Result<context::Settings> settings_of(const Services& services, const Session& session) {
  std::map<std::string, std::string> own = session.settings;
  for (SessionId parent = session.parent; parent != 0;) {
    auto above = services.store.session(parent);
    if (!above) return std::unexpected(above.error());
    own.insert(above->settings.begin(), above->settings.end());
    parent = above->parent;
  }
  return context::with_session(services.options.settings, own);
}

context::Location location_of(const Services& services, const Session& session,
                              std::string_view tree_path) {
  if (!session.mount_prefix.empty()) return {session.mount_prefix, "/"};
  const fs::MountInfo mount = services.mounts.find_for(tree_path);
  if (mount.id == 0) return {"", "/"};
  return {mount.spec.directory, mount.spec.subtree};
}

std::string host_path_of(const Services& services, const Session& session,
                         std::string_view tree_path) {
  const context::Location location = location_of(services, session, tree_path);
  return location.prefix.empty() ? std::string() : location.host_path(tree_path);
}

std::string folder_path(const Session& session) {
  return context::artifact_folder(ArtifactKind::tool_result, session.id);
}

std::string history_path(const Session& session) {
  return below(kHistoryFolder, session.id + ".md");
}

}  // namespace ebla::daemon
