// The node that a call names in `path`.
#pragma once

#include <optional>
#include <utility>

#include "daemon/session_service.h"
#include "daemon/tree_paths.h"

namespace ebla::daemon {

// Runs `then` with the path that the call names, as the session it names (if any) sees it.
template <class Then>
void with_path(MethodCall call, Then then) {
  const auto go = [](MethodCall& ready, const std::optional<Session>& session, Then& next) {
    auto found = find_path(ready, ready.params().find("path")->text, session);
    if (!found) return ready.refuse(std::move(found.error()));
    next(std::move(ready), *std::move(found), session);
  };
  if (call.param("session") == nullptr) return go(call, std::nullopt, then);
  with_session(std::move(call), Access::read,
               [go, then = std::move(then)](MethodCall ready, Session session) mutable {
                 go(ready, std::move(session), then);
               });
}

}  // namespace ebla::daemon
