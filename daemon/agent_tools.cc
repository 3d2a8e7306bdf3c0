#include "daemon/agent_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "context/tool_texts.h"

namespace ebla::daemon {
namespace {

namespace texts = context::texts;
using enum ToolParam::Type;

constexpr std::array<std::string_view, 3> kModes = {"content", "files", "count"};

constexpr std::array kReadFileParams = {
    ToolParam{"path", text, texts::kReadPath, true},
    ToolParam{"offset", integer, texts::kReadOffset},
    ToolParam{"limit", integer, texts::kReadLimit},
    ToolParam{"column", integer, texts::kReadColumn},
};
constexpr std::array kGrepParams = {
    ToolParam{"pattern", text, texts::kGrepPattern, true},
    ToolParam{"path", text, texts::kGrepPath},
    ToolParam{"glob", text, texts::kGrepGlob},
    ToolParam{"regex", boolean, texts::kGrepRegex},
    ToolParam{"ignore_case", boolean, texts::kGrepIgnoreCase},
    ToolParam{"context", integer, texts::kGrepContext},
    ToolParam{"mode", text, texts::kGrepMode, false, kModes},
};
constexpr std::array kLsParams = {
    ToolParam{"path", text, texts::kListPath},
    ToolParam{"after", integer, texts::kAfter},
};
constexpr std::array kGlobParams = {
    ToolParam{"pattern", text, "", true},
    ToolParam{"path", text, texts::kFindPath},
    ToolParam{"after", text, texts::kAfter},
};

constexpr std::array kTools = {
    AgentTool{"read_file", texts::kReadFile, kReadFileParams, run_read_file},
    AgentTool{"grep", texts::kGrepLines, kGrepParams, run_grep},
    AgentTool{"ls", texts::kListFolder, kLsParams, run_ls},
    AgentTool{"glob", texts::kFindFiles, kGlobParams, run_glob},
};

// JSON schema of a tool's arguments. Gemini writes the names of types in capitals.
void write_schema(JsonWriter& out, const AgentTool& tool, bool capitals) {
  static constexpr std::array<std::array<std::string_view, 2>, 3> kTypes = {
      {{"string", "STRING"}, {"integer", "INTEGER"}, {"boolean", "BOOLEAN"}}};
  out.begin_object().member("type", capitals ? "OBJECT" : "object");
  out.key("properties").begin_object();
  for (const ToolParam& param : tool.params) {
    out.key(param.name).begin_object();
    out.member("type", kTypes.at(static_cast<size_t>(param.type)).at(capitals ? 1 : 0));
    if (!param.description.empty()) out.member("description", param.description);
    if (!param.choices.empty()) {
      out.key("enum").begin_array();
      for (const std::string_view choice : param.choices) out.string(choice);
      out.end_array();
    }
    out.end_object();
  }
  out.end_object();
  const auto required = [](const ToolParam& param) { return param.required; };
  if (std::ranges::any_of(tool.params, required)) {
    out.key("required").begin_array();
    for (const ToolParam& param : tool.params) {
      if (param.required) out.string(param.name);
    }
    out.end_array();
  }
  out.end_object();
}

void write_head(JsonWriter& out, const AgentTool& tool) {
  out.member("name", tool.name).member("description", tool.description);
}

void write_anthropic(JsonWriter& out) {
  for (const AgentTool& tool : kTools) {
    write_head(out.begin_object(), tool);
    write_schema(out.key("input_schema"), tool, false);
    out.end_object();
  }
}

// Chat completions; LangChain takes the same.
void write_chat(JsonWriter& out) {
  for (const AgentTool& tool : kTools) {
    out.begin_object().member("type", "function");
    write_head(out.key("function").begin_object(), tool);
    write_schema(out.key("parameters"), tool, false);
    out.end_object().end_object();
  }
}

// Strict is the default there, and would make every argument a required one.
void write_responses(JsonWriter& out) {
  for (const AgentTool& tool : kTools) {
    out.begin_object().member("type", "function");
    write_head(out, tool);
    write_schema(out.key("parameters"), tool, false);
    out.member("strict", false).end_object();
  }
}

void write_gemini(JsonWriter& out) {
  out.begin_object().key("functionDeclarations").begin_array();
  for (const AgentTool& tool : kTools) {
    write_head(out.begin_object(), tool);
    write_schema(out.key("parameters"), tool, true);
    out.end_object();
  }
  out.end_array().end_object();
}

struct Format {
  std::string_view name;
  void (*write)(JsonWriter& out);
};
constexpr std::array kFormats = {
    Format{"anthropic", write_anthropic}, Format{"openai", write_chat},
    Format{"responses", write_responses}, Format{"langchain", write_chat},
    Format{"gemini", write_gemini},
};

}  // namespace

std::span<const AgentTool> agent_tools() {
  return kTools;
}

Result<std::string> tool_definitions(std::string_view format) {
  const auto* found = std::ranges::find(kFormats, format, &Format::name);
  if (found == kFormats.end()) {
    std::string names;
    for (const Format& one : kFormats)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    return fail(Code::invalid_params,
                fmt::format("format: {} is none of {}", printable(format.substr(0, 80)), names));
  }
  JsonWriter out;
  out.begin_array();
  found->write(out);
  out.end_array();
  return out.take();
}

}  // namespace ebla::daemon
