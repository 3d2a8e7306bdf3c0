// Lists as agents send them, and `prepare` over the model store.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/daemon/methods_fixture.h"
#include "tests/kit/real_texts.h"

namespace ebla::daemon {

// Messages of the Anthropic format.
inline std::string user(std::string_view text) {
  return fmt::format(R"({{"role":"user","content":{}}})", json_string(text));
}
inline std::string assistant(std::string_view text) {
  return fmt::format(R"({{"role":"assistant","content":{}}})", json_string(text));
}
inline std::string tool_use(std::string_view id, std::string_view tool = "bash",
                            std::string_view input = R"({"command":"ls"})") {
  return fmt::format(R"({{"type":"tool_use","id":{},"name":{},"input":{}}})", json_string(id),
                     json_string(tool), input);
}
inline std::string tool_result(std::string_view id, std::string_view text) {
  return fmt::format(R"({{"type":"tool_result","tool_use_id":{},"content":{}}})", json_string(id),
                     json_string(text));
}
inline std::string blocks(std::string_view role, const std::vector<std::string>& parts) {
  return fmt::format(R"({{"role":"{}","content":[{}]}})", role, fmt::join(parts, ","));
}
inline std::string list_of(const std::vector<std::string>& messages) {
  return fmt::format("[{}]", fmt::join(messages, ","));
}

class PrepareFixture : public MethodsFixture {
 protected:
  Json prepare(const std::vector<std::string>& messages, std::string_view more = "") {
    return prepare_text(list_of(messages), more);
  }
  Json prepare_text(std::string_view list, std::string_view more = "") {
    return must("prepare", fmt::format(R"({{"session":"s","format":"anthropic","messages":{},)"
                                       R"("reply":"messages"{}}})",
                                       list, more));
  }
  // The new list as JSON text, message by message.
  static std::vector<std::string> messages_of(const Json& reply) {
    std::vector<std::string> messages;
    const Json* list = reply.find("messages");
    if (list == nullptr) return messages;
    for (const Json& message : list->items) messages.push_back(to_json(message));
    return messages;
  }
  // Actions of this kind.
  static size_t count_of(const Json& reply, std::string_view what) {
    size_t count = 0;
    for (const Json& action : reply.find("actions")->items) {
      if (action.find("what")->text == what) ++count;
    }
    return count;
  }
  static const Json& action_of(const Json& reply, std::string_view what) {
    static const Json kNone;
    for (const Json& action : reply.find("actions")->items) {
      if (action.find("what")->text == what) return action;
    }
    ADD_FAILURE() << "no action " << what << " in " << to_json(*reply.find("actions"));
    return kNone;
  }
  static uint64_t tokens_of(const Json& reply, std::string_view name) {
    return number_of(*reply.find("tokens"), name);
  }
  std::string file(std::string_view path) {
    std::string bytes;
    uint64_t offset = 0;
    for (;;) {
      auto request = std::make_shared<Request>();
      request->wants_blobs = true;
      auto answer =
          send("fs.read_bytes",
               fmt::format(R"({{"path":{},"offset":{}}})", json_string(path), offset), request);
      if (!answer.result) {
        ADD_FAILURE() << path << ": " << answer.result.error().text;
        return bytes;
      }
      bytes += answer.blobs.at(0);
      const Json* next = answer.result->find("next");
      if (next == nullptr) return bytes;
      offset = *next->as_uint64();
    }
  }
  std::string history() {
    return file(text_of(must("session.get", R"({"session":"s"})"), "history"));
  }
};

}  // namespace ebla::daemon
