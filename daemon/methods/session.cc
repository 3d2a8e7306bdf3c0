#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "context/plan/plan.h"
#include "context/prompt.h"
#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/session_service.h"
#include "daemon/tree_paths.h"

namespace ebla::daemon::methods {
namespace {

constexpr int64_t kWindowTokens = 1'000'000'000;

// Ids, names and place: what session.list shows too.
Result<void> write_head(const Services& services, const Session& session, JsonWriter& out) {
  out.member("id", session.id).member("key", session.key).member("label", session.label);
  if (session.parent != 0) {
    auto parent = services.store.session(session.parent);
    if (!parent) return std::unexpected(parent.error());
    out.member("parent", parent->id);
  }
  auto root = services.store.session(session.tree);
  if (!root) return std::unexpected(root.error());
  out.member("tree", root->id)
      .member("folder", folder_path(session))
      .member("history", history_path(session))
      .member("project", session.project)
      .member("model", session.model)
      .member("window", session.window)
      .member("created_at", time_text(session.created_ns));
  return {};
}

Result<void> write_session(const Services& services, const Session& session, JsonWriter& out) {
  if (auto head = write_head(services, session, out); !head) return head;
  auto settings = settings_of(services, session);
  if (!settings) return std::unexpected(settings.error());
  const std::string folder = folder_path(session);
  const std::string history = history_path(session);
  const std::string host_folder = host_path_of(services, session, folder);
  const std::string host_history = host_path_of(services, session, history);
  auto doors = context::doors_of(session.capabilities, !host_folder.empty());
  if (!doors) return std::unexpected(doors.error());
  if (!host_folder.empty()) out.member("host_folder", host_folder);
  if (!host_history.empty()) out.member("host_history", host_history);
  out.member("mount_prefix", session.mount_prefix);
  out.key("capabilities").raw(session.capabilities.value_or("null"));
  out.key("own_settings").begin_object();
  for (const auto& [name, value] : session.settings) out.key(name).raw(value);
  out.end_object();
  out.key("settings").begin_object();
  for (const auto& [name, value] : context::to_json_map(*settings)) out.key(name).raw(value);
  out.end_object();
  out.member("prompt",
             context::up_front_text(host_folder.empty() ? folder : host_folder,
                                    host_history.empty() ? history : host_history, *doors));
  return {};
}

Result<std::string> mount_prefix_param(const MethodCall& call) {
  auto prefix = text_param(call, "mount_prefix", limits::kPathBytes);
  if (!prefix || prefix->empty()) return prefix;
  const bool control = std::ranges::any_of(
      *prefix, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; });
  if (prefix->front() != '/' || control) {
    return fail(Code::invalid_params,
                fmt::format("mount_prefix: {} is not an absolute path without control characters",
                            printable(*prefix)));
  }
  while (!prefix->empty() && prefix->back() == '/') prefix->pop_back();
  if (prefix->empty()) {
    return fail(Code::invalid_params,
                "mount_prefix: / is not taken; mount the two folders there, and give none");
  }
  return prefix;
}

// Each setting is tried over the daemon's, so that nothing unfit is ever stored.
Result<void> read_settings(const MethodCall& call, SessionPlan& plan) {
  const Json* settings = call.param("settings");
  if (settings == nullptr) return {};
  context::Settings tried = call.services().options.settings;
  for (const auto& [name, value] : settings->members) {
    std::string text = to_json(value);
    if (name == "summariser" && !call.owner() && value.text != "client" &&
        value.text != "extract" && !value.is(Json::Kind::null)) {
      return fail(Code::permission_denied,
                  "summariser: client or extract; a command runs as the daemon's user, who alone "
                  "may name it");
    }
    if (!value.is(Json::Kind::null)) {
      if (auto fits = context::apply_setting(tried, name, text); !fits) return fits;
    }
    plan.settings[name] = std::move(text);
  }
  return context::check_settings(tried);
}

// A text parameter that is there replaces what the session had.
Result<void> read_text(const MethodCall& call, std::string_view name, size_t limit_bytes,
                       std::optional<std::string>& field) {
  if (call.param(name) == nullptr) return {};
  auto text = text_param(call, name, limit_bytes);
  if (!text) return std::unexpected(text.error());
  field = *std::move(text);
  return {};
}

Result<SessionPlan> read_plan(const MethodCall& call) {
  auto key = text_param(call, "key", limits::kSessionKeyBytes);
  if (!key) return std::unexpected(key.error());
  if (call.param("key") != nullptr && key->empty()) {
    return fail(Code::invalid_params,
                fmt::format("key: 1 to {} bytes; leave it out for a new session",
                            limits::kSessionKeyBytes));
  }
  std::optional<std::string> label;
  if (auto done = read_text(call, "label", limits::kSessionLabelBytes, label); !done) {
    return std::unexpected(done.error());
  }
  SessionPlan plan = session_plan(call, *key, label.value_or(""));
  plan.label = std::move(label);
  if (const Json* parent = call.param("parent")) {
    auto found = find_session(call, parent->text, Access::write);
    if (!found) return std::unexpected(found.error());
    plan.parent = found->serial;
  }
  if (auto done = read_text(call, "project", limits::kSessionProjectBytes, plan.project); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = read_text(call, "model", limits::kToolNameBytes, plan.model); !done) {
    return std::unexpected(done.error());
  }
  if (call.param("window") != nullptr) {
    auto window = integer_param(call, "window", 0, 0, kWindowTokens);
    if (!window) return std::unexpected(window.error());
    const auto tokens = static_cast<uint64_t>(*window);
    if (auto fits = context::check_window(tokens); !fits) return std::unexpected(fits.error());
    plan.window = tokens;
  }
  if (auto done = read_settings(call, plan); !done) return std::unexpected(done.error());
  if (const Json* capabilities = call.param("capabilities")) {
    plan.capabilities = to_json(*capabilities);
    if (auto doors = context::doors_of(plan.capabilities, true); !doors) {
      return std::unexpected(doors.error());
    }
  }
  if (call.param("mount_prefix") != nullptr) {
    auto prefix = mount_prefix_param(call);
    if (!prefix) return std::unexpected(prefix.error());
    plan.mount_prefix = *std::move(prefix);
  }
  return plan;
}

void answer_opened(MethodCall call, const SessionOutcome& outcome) {
  JsonWriter out;
  out.begin_object();
  if (auto done = write_session(call.services(), outcome.session, out); !done) {
    return call.refuse(std::move(done.error()));
  }
  out.member("created", outcome.created).end_object();
  call.reply(out.take());
}

}  // namespace

void session_open(MethodCall call) {
  auto plan = read_plan(call);
  if (!plan) return call.refuse(std::move(plan.error()));
  Services& services = call.services();
  services.store.open_session(
      *std::move(plan), durable_change(),
      [&services, call = std::move(call)](Result<SessionOutcome> outcome,
                                          const ChangeSet& changes) mutable {
        if (!outcome) return call.refuse(std::move(outcome.error()));
        deliver_then(services, changes,
                     [call = std::move(call), outcome = *std::move(outcome)](bool) mutable {
                       answer_opened(std::move(call), outcome);
                     });
      });
}

void session_get(MethodCall call) {
  auto session = find_session(call, call.params().find("session")->text, Access::read);
  if (!session) return call.refuse(std::move(session.error()));
  JsonWriter out;
  out.begin_object();
  if (auto done = write_session(call.services(), *session, out); !done) {
    return call.refuse(std::move(done.error()));
  }
  out.end_object();
  call.reply(out.take());
}

void session_close(MethodCall call) {
  auto session = find_session(call, call.params().find("session")->text, Access::write);
  if (!session) return call.refuse(std::move(session.error()));
  Services& services = call.services();
  services.store.close_session(
      session->serial, durable_change(),
      [&services, call = std::move(call), id = session->id](Result<void> closed,
                                                            const ChangeSet& changes) mutable {
        if (!closed) return call.refuse(std::move(closed.error()));
        deliver_then(services, changes, [call = std::move(call), id = std::move(id)](bool) mutable {
          JsonWriter out;
          out.begin_object().member("id", id).member("closed", true).end_object();
          call.reply(out.take());
        });
      });
}

void session_list(MethodCall call) {
  auto project = text_param(call, "project", limits::kSessionProjectBytes);
  if (!project) return call.refuse(std::move(project.error()));
  auto after = text_param(call, "after", limits::kSessionKeyBytes);
  if (!after) return call.refuse(std::move(after.error()));
  auto limit = integer_param(call, "limit", 100, 1, limits::kListEntries);
  if (!limit) return call.refuse(std::move(limit.error()));
  const auto wanted = static_cast<size_t>(*limit);

  JsonWriter out;
  out.begin_object().key("sessions").begin_array();
  std::string last = *after;
  size_t shown = 0;
  bool more = true;
  while (more) {
    auto page = call.services().store.list_sessions(*project, last, wanted + 1);
    if (!page) return call.refuse(std::move(page.error()));
    more = page->size() > wanted;
    for (const Session& session : *page) {
      if (!call.owner() && session.uid != call.uid()) {
        last = session.id;
        continue;
      }
      if (shown == wanted) {
        out.end_array().member("next", last).end_object();
        return call.reply(out.take());
      }
      out.begin_object();
      if (auto done = write_head(call.services(), session, out); !done) {
        return call.refuse(std::move(done.error()));
      }
      out.end_object();
      last = session.id;
      ++shown;
    }
  }
  out.end_array().end_object();
  call.reply(out.take());
}

}  // namespace ebla::daemon::methods
