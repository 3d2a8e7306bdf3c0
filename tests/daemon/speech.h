// The same conversation in every format.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/daemon/prepare_fixture.h"

namespace ebla::daemon {

// How one format says things.
struct Speech {
  std::string_view format;
  std::string_view member;  // of the body that holds the list
  std::vector<std::string> lead;
  std::function<std::string(std::string_view)> user;
  std::function<std::string(std::string_view)> model;
  // A call with these arguments (JSON) and its result, one message or item each.
  std::function<std::vector<std::string>(std::string_view id, std::string_view tool,
                                         std::string_view arguments, std::string_view text)>
      call;
  // A call of a shell.
  std::vector<std::string> tool(std::string_view id, std::string_view text) const {
    return call(id, "bash", format == "anthropic" ? R"({"command":"ls"})" : "{}", text);
  }
};

inline std::vector<Speech> speeches() {
  const auto simple = [](std::string_view role) {
    return [role](std::string_view text) {
      return fmt::format(R"({{"role":"{}","content":{}}})", role, json_string(text));
    };
  };
  Speech anthropic{"anthropic", "messages", {}, simple("user"), simple("assistant"), {}};
  using Text = std::string_view;
  anthropic.call = [](Text id, Text tool, Text arguments, Text text) {
    return std::vector<std::string>{blocks("assistant", {tool_use(id, tool, arguments)}),
                                    blocks("user", {tool_result(id, text)})};
  };
  Speech openai{"openai",       "messages",          {R"({"role":"system","content":"be brief"})"},
                simple("user"), simple("assistant"), {}};
  openai.call = [](Text id, Text tool, Text arguments, Text text) {
    return std::vector<std::string>{
        fmt::format(R"({{"role":"assistant","content":null,"tool_calls":[{{"id":"{}",)"
                    R"("type":"function","function":{{"name":"{}","arguments":{}}}}}]}})",
                    id, tool, json_string(arguments)),
        fmt::format(R"({{"role":"tool","tool_call_id":"{}","content":{}}})", id,
                    json_string(text))};
  };
  Speech responses{"responses", "input", {}, simple("user"), simple("assistant"), {}};
  responses.call = [](Text id, Text tool, Text arguments, Text text) {
    return std::vector<std::string>{
        fmt::format(R"({{"type":"function_call","call_id":"{}","name":"{}","arguments":{}}})", id,
                    tool, json_string(arguments)),
        fmt::format(R"({{"type":"function_call_output","call_id":"{}","output":{}}})", id,
                    json_string(text))};
  };
  const auto chain = [](std::string_view type) {
    return [type](std::string_view text) {
      return fmt::format(R"({{"type":"{}","content":{}}})", type, json_string(text));
    };
  };
  Speech langchain{"langchain",    "messages",  {R"({"type":"system","content":"be brief"})"},
                   chain("human"), chain("ai"), {}};
  langchain.call = [](Text id, Text tool, Text arguments, Text text) {
    return std::vector<std::string>{
        fmt::format(R"({{"type":"ai","content":"","tool_calls":[{{"name":"{}","args":{},)"
                    R"("id":"{}","type":"tool_call"}}]}})",
                    tool, arguments, id),
        fmt::format(R"({{"type":"tool","tool_call_id":"{}","name":"{}","content":{}}})", id, tool,
                    json_string(text))};
  };
  return {anthropic, openai, responses, langchain};
}

}  // namespace ebla::daemon
