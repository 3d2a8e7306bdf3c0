// Sessions of the model store.
#include <fmt/format.h>

#include <algorithm>

#include "schema/base/limits.h"
#include "schema/path.h"
#include "tests/kit/model_state.h"

namespace ebla::kit {
namespace {

constexpr std::string_view kDefaultId = "default";

void merge_settings(std::map<std::string, std::string>& into,
                    const std::map<std::string, std::string>& from) {
  for (const auto& [name, value] : from) {
    if (value == "null") {
      into.erase(name);
    } else {
      into[name] = value;
    }
  }
}

void apply(Session& session, const SessionPlan& plan) {
  if (plan.label) session.label = *plan.label;
  if (plan.project) session.project = *plan.project;
  if (plan.model) session.model = *plan.model;
  if (plan.window) session.window = *plan.window;
  if (plan.capabilities) session.capabilities = plan.capabilities;
  if (plan.mount_prefix) session.mount_prefix = *plan.mount_prefix;
  merge_settings(session.settings, plan.settings);
}

}  // namespace

Result<Session> ModelState::session(SessionId serial) const {
  const auto at = sessions_.find(serial);
  if (at == sessions_.end()) {
    return fail(Code::unknown_session, fmt::format("session number {} does not exist", serial));
  }
  return at->second;
}

Result<Session> ModelState::find_session(uint32_t uid, std::string_view id_or_key) const {
  for (const auto& [serial, session] : sessions_) {
    if (session.id == id_or_key) return session;
  }
  for (const auto& [serial, session] : sessions_) {
    if (!id_or_key.empty() && session.uid == uid && session.key == id_or_key) return session;
  }
  return fail(Code::unknown_session, "no session has this id or key: open it first");
}

std::vector<Session> ModelState::list_sessions(std::string_view project, std::string_view after_id,
                                               size_t limit) const {
  std::vector<Session> out;
  for (const auto& [serial, session] : sessions_) {
    if ((project.empty() || session.project == project) && session.id > after_id) {
      out.push_back(session);
    }
  }
  std::ranges::sort(out, {}, &Session::id);
  if (out.size() > limit) out.resize(limit);
  return out;
}

uint64_t ModelState::depth_of(SessionId serial) const {
  uint64_t depth = 0;
  for (SessionId at = sessions_.at(serial).parent; at != 0; at = sessions_.at(at).parent) ++depth;
  return depth;
}

bool ModelState::session_id_is_free(const std::string& id) const {
  if (id == kMediaName) return false;
  if (std::ranges::any_of(sessions_, [&](const auto& s) { return s.second.id == id; })) {
    return false;
  }
  if (id != kDefaultId && !name_is_free(results_, id)) return false;
  return !has_name(histories_, id + ".md") && !has_name(histories_, id);
}

Result<SessionOutcome> ModelState::resume(Session& session, const SessionPlan& plan) {
  if (plan.parent != 0 && plan.parent != session.parent) {
    return fail(Code::conflict,
                fmt::format("session {} exists under another parent: leave parent out, or use "
                            "another key",
                            session.id));
  }
  apply(session, plan);
  if (session.closed_ns != 0) {
    session.closed_ns = 0;
    note_event(session.serial, "session_open");
  }
  return SessionOutcome{.session = session, .created = false};
}

Session ModelState::create_session(const SessionPlan& plan, const std::string& id,
                                   ChangeSet& changes) {
  const SessionId serial = next_id_++;
  Session session;
  session.serial = serial;
  session.id = id;
  session.key = plan.key;
  session.uid = plan.uid;
  session.parent = plan.parent;
  session.tree = plan.parent == 0 ? serial : sessions_.at(plan.parent).tree;
  session.created_ns = clock_.wall_ns();
  apply(session, plan);
  session.folder = results_;
  if (id != kDefaultId) {
    session.folder = make_node(results_, id,
                               {.kind = NodeKind::directory,
                                .mode = 0700,
                                .uid = plan.uid,
                                .gid = plan.gid,
                                .flags = kNodeFixed},
                               changes);
    nodes_.at(session.folder).xattrs = {{"user.ebla.session", id}};
    nodes_.at(session.folder).session = serial;
  }
  session.history =
      make_node(histories_, id + ".md",
                {.mode = 0400, .uid = plan.uid, .gid = plan.gid, .flags = kNodeProtected}, changes);
  nodes_.at(session.history).xattrs = {{"user.ebla.created", utc_text(session.created_ns)},
                                       {"user.ebla.kind", "history"},
                                       {"user.ebla.session", id}};
  nodes_.at(session.history).session = serial;
  sessions_[serial] = session;
  note_event(serial, "session_open");
  changes.tree = session.tree;
  changes.session = serial;
  return session;
}

Result<SessionOutcome> ModelState::open_session(const SessionPlan& plan, ChangeSet& changes) {
  if (plan.parent != 0 && !sessions_.contains(plan.parent)) {
    return fail(Code::unknown_session, "the parent session does not exist: open it first");
  }
  for (auto& [serial, session] : sessions_) {
    if (!plan.key.empty() && session.uid == plan.uid && session.key == plan.key) {
      return resume(session, plan);
    }
  }
  if (plan.parent != 0 && depth_of(plan.parent) + 1 > limits::kSessionDepth) {
    return fail(Code::out_of_range,
                fmt::format("a session has at most {} parents above it", limits::kSessionDepth));
  }
  for (const std::string& id : plan.id_candidates) {
    if (session_id_is_free(id)) {
      return SessionOutcome{.session = create_session(plan, id, changes), .created = true};
    }
  }
  return fail(Code::conflict, "every proposed session id is taken: try again");
}

Result<void> ModelState::close_session(SessionId serial, ChangeSet& changes) {
  const auto at = sessions_.find(serial);
  if (at == sessions_.end()) {
    return fail(Code::unknown_session, fmt::format("session number {} does not exist", serial));
  }
  Session& session = at->second;
  changes.tree = session.tree;
  changes.session = serial;
  if (session.closed_ns != 0) return {};
  session.closed_ns = clock_.wall_ns();
  note_event(serial, "session_close");
  return {};
}

}  // namespace ebla::kit
