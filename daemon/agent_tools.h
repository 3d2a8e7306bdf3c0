// The reading tools for agent loops that have neither MCP nor a shell: one table, and what goes
// into a provider's request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/services.h"
#include "schema/base/json.h"
#include "schema/base/result.h"
#include "schema/model.h"

namespace ebla::daemon {

struct ToolParam {
  enum class Type : uint8_t { text, integer, boolean };
  std::string_view name;
  Type type;
  std::string_view description;  // empty where the name says it
  bool required = false;
  std::span<const std::string_view> choices = {};
};

struct AgentTool {
  std::string_view name;
  std::string_view description;
  std::span<const ToolParam> params;
  // What the model reads. The arguments have the types of the table.
  Result<std::string> (*run)(const MethodCall& call, const Session& session, const Json& arguments);
};
std::span<const AgentTool> agent_tools();

// The JSON array for the member `tools` of a request in this format: anthropic, openai, responses,
// langchain or gemini. The same bytes each time. invalid_params names the formats.
Result<std::string> tool_definitions(std::string_view format);

struct ToolAnswer {
  std::string text;
  bool is_error = false;
};
// Runs a tool by name. What the model can mend is an answer with is_error; an error is what it
// cannot: nobody waits any more, the daemon is busy or stopping. May block.
Result<ToolAnswer> call_tool(const MethodCall& call, const Session& session, std::string_view name,
                             const Json& arguments);

// The arguments as a model wrote them, an object or its JSON text, with the types of the table:
// "3" and 3.0 are 3. invalid_params says what to do.
Result<Json> tool_arguments(const AgentTool& tool, const Json& given);

// The tools, one function each. They may block.
Result<std::string> run_read_file(const MethodCall& call, const Session& session,
                                  const Json& arguments);
Result<std::string> run_grep(const MethodCall& call, const Session& session, const Json& arguments);
Result<std::string> run_ls(const MethodCall& call, const Session& session, const Json& arguments);
Result<std::string> run_glob(const MethodCall& call, const Session& session, const Json& arguments);

}  // namespace ebla::daemon
