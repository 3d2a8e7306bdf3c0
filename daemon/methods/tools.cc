#include <optional>
#include <utility>

#include "daemon/agent_tools.h"
#include "daemon/methods/methods.h"
#include "daemon/reading.h"
#include "daemon/session_service.h"

namespace ebla::daemon::methods {

void tools_list(MethodCall call) {
  with_session(std::move(call), Access::read, [](MethodCall ready, const Session&) {
    auto definitions = tool_definitions(ready.params().find("format")->text);
    if (!definitions) return ready.refuse(std::move(definitions.error()));
    ready.reply(JsonWriter().begin_object().key("tools").raw(*definitions).end_object().take());
  });
}

void tools_call(MethodCall call) {
  with_session(std::move(call), Access::read, [](MethodCall ready, Session session) {
    on_blocking_thread(std::move(ready), [session = std::move(session)](MethodCall on_thread) {
      const Json* given = on_thread.param("arguments");
      auto answer = call_tool(on_thread, session, on_thread.params().find("name")->text,
                              given == nullptr ? Json() : *given);
      if (!answer) return on_thread.refuse(std::move(answer.error()));
      on_thread.reply(JsonWriter()
                          .begin_object()
                          .member("text", answer->text)
                          .member("is_error", answer->is_error)
                          .end_object()
                          .take());
    });
  });
}

}  // namespace ebla::daemon::methods
