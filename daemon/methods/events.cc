#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "daemon/methods/methods.h"
#include "daemon/methods/params.h"
#include "daemon/session_service.h"
#include "daemon/tree_paths.h"

namespace ebla::daemon::methods {
namespace {

// One call while it waits.
struct Watch {
  MethodCall call;
  EventQuery query;
  Deadline until;
};

// Id of the session as its user may see it; "" when the caller may not.
std::string visible_id(const MethodCall& call, SessionId serial,
                       std::map<SessionId, std::string>& seen) {
  if (const auto known = seen.find(serial); known != seen.end()) return known->second;
  auto session = call.services().store.session(serial);
  const bool shown = session && (call.owner() || session->uid == call.uid());
  return seen[serial] = shown ? session->id : std::string();
}

void write_event(JsonWriter& out, const Event& event, const std::string& session) {
  out.begin_object()
      .member("id", event.id)
      .member("at", time_text(event.at_ns))
      .member("session", session)
      .member("what", event.what);
  if (!event.detail.empty()) out.member("detail", event.detail);
  if (event.tokens_before > 0) out.member("tokens_before", event.tokens_before);
  if (event.tokens_after > 0) out.member("tokens_after", event.tokens_after);
  if (!event.path.empty()) out.member("path", event.path);
  out.end_object();
}

// Answers when there is something to show or no time left; true then.
bool show(Watch& watch, bool last) {
  MethodCall& call = watch.call;
  if (call.cancelled()) last = true;
  if (std::chrono::steady_clock::now() >= watch.until) last = true;
  std::map<SessionId, std::string> seen;
  JsonWriter out;
  out.begin_object().key("events").begin_array();
  size_t shown = 0;
  // Pages that hold only what others did are passed over.
  for (bool more = true; more && shown == 0;) {
    auto events = call.services().store.events(watch.query);
    if (!events) {
      call.refuse(std::move(events.error()));
      return true;
    }
    more = events->size() == watch.query.limit && !watch.query.newest;
    if (watch.query.newest) std::ranges::reverse(*events);
    for (const Event& event : *events) {
      watch.query.after = std::max(watch.query.after, event.id);
      const std::string session = visible_id(call, event.session, seen);
      if (session.empty()) continue;
      write_event(out, event, session);
      ++shown;
    }
    watch.query.newest = false;
  }
  if (shown == 0 && !last) return false;
  out.end_array().member("next", watch.query.after).end_object();
  call.reply(out.take());
  return true;
}

}  // namespace

void events(MethodCall call) {
  auto after = integer_param(call, "after", 0, 0, INT64_MAX);
  if (!after) return call.refuse(std::move(after.error()));
  auto limit = integer_param(call, "limit", 100, 1, limits::kEvents);
  if (!limit) return call.refuse(std::move(limit.error()));
  auto wait_ms = integer_param(call, "wait_ms", 0, 0, limits::kEventWaitMs);
  if (!wait_ms) return call.refuse(std::move(wait_ms.error()));
  EventQuery query;
  query.after = static_cast<uint64_t>(*after);
  query.limit = static_cast<size_t>(*limit);
  query.newest = call.param("after") == nullptr;
  if (const Json* name = call.param("session")) {
    auto session = find_session(call, name->text, Access::read);
    if (!session) return call.refuse(std::move(session.error()));
    query.session = session->serial;
  }
  Services& services = call.services();
  const Deadline until = std::chrono::steady_clock::now() + std::chrono::milliseconds(*wait_ms);
  auto watch = std::make_shared<Watch>(Watch{std::move(call), query, until});
  if (show(*watch, *wait_ms == 0)) return;
  EventHub::Look look = [watch](bool last) { return show(*watch, last); };
  if (!services.events.wait(look)) {
    return watch->call.refuse(Code::busy, "too many calls wait for events: ask again later");
  }
  look_for_events(services);
  services.delays.at(until, [&services] { look_for_events(services); });
}

}  // namespace ebla::daemon::methods
