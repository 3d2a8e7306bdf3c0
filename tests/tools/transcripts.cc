#include "tests/tools/transcripts.h"

#include <fmt/format.h>

#include "schema/base/json.h"

namespace ebla::tools {

std::string json_text(std::string_view text) {
  return JsonWriter().string(text).take();
}

void ClaudeCodeLines::line(std::string_view type, std::string_view more, std::string_view message) {
  const std::string name = fmt::format("line-{}", ++count_);
  const std::string parent = parent_.empty() ? "null" : json_text(parent_);
  text_ += fmt::format(
      R"({{"parentUuid":{},"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s",)"
      R"("version":"2.1.0","type":"{}",{}"uuid":"{}","timestamp":"2026-02-03T04:05:06.007Z")",
      parent, type, more, name);
  text_ += message.empty() ? "}\n" : fmt::format(",\"message\":{}}}\n", message);
  parent_ = name;
}

ClaudeCodeLines& ClaudeCodeLines::user(std::string_view text) {
  line("user", "", fmt::format(R"({{"role":"user","content":{}}})", json_text(text)));
  return *this;
}

ClaudeCodeLines& ClaudeCodeLines::says(std::string_view id, std::string_view text,
                                       uint64_t output_tokens) {
  line("assistant", "\"requestId\":\"req_1\",",
       fmt::format(R"({{"id":"{}","type":"message","role":"assistant",)"
                   R"("model":"claude-sonnet-4-5","content":[{{"type":"text","text":{}}}],)"
                   R"("usage":{{"input_tokens":4,"output_tokens":{}}}}})",
                   id, json_text(text), output_tokens));
  return *this;
}

ClaudeCodeLines& ClaudeCodeLines::calls(std::string_view id, std::string_view call,
                                        std::string_view tool) {
  line("assistant", "",
       fmt::format(R"({{"id":"{}","type":"message","role":"assistant",)"
                   R"("model":"claude-sonnet-4-5","content":[{{"type":"tool_use","id":"{}",)"
                   R"("name":"{}","input":{{"command":"make -j1.0"}}}}]}})",
                   id, call, tool));
  return *this;
}

ClaudeCodeLines& ClaudeCodeLines::result(std::string_view call, std::string_view text,
                                         std::string_view parent) {
  if (!parent.empty()) {
    parent_ = parent;
  }
  line("user", R"("toolUseResult":{"stdout":"not what the model saw","stderr":""},)",
       fmt::format(R"({{"role":"user","content":[{{"tool_use_id":"{}","type":"tool_result",)"
                   R"("content":{},"is_error":false}}]}})",
                   call, json_text(text)));
  return *this;
}

ClaudeCodeLines& ClaudeCodeLines::compacts(std::string_view summary) {
  const std::string before = parent_;
  parent_.clear();
  line("system",
       fmt::format(R"("subtype":"compact_boundary","logicalParentUuid":"{}",)"
                   R"("compactMetadata":{{"trigger":"auto","preTokens":155000}},)",
                   before),
       "");
  line("user", R"("isCompactSummary":true,"isVisibleInTranscriptOnly":true,)",
       fmt::format(R"({{"role":"user","content":{}}})", json_text(summary)));
  return *this;
}

ClaudeCodeLines& ClaudeCodeLines::sidechain(std::string_view text) {
  return raw(fmt::format(R"({{"parentUuid":null,"isSidechain":true,"type":"user","uuid":"side",)"
                         R"("message":{{"role":"user","content":{}}}}})",
                         json_text(text)));
}

ClaudeCodeLines& ClaudeCodeLines::raw(std::string_view line) {
  text_ += fmt::format("{}\n", line);
  return *this;
}

ClaudeCodeLines& ClaudeCodeLines::rewind(std::string_view name) {
  parent_ = name;
  return *this;
}

CodexLines::CodexLines(bool payloads) : payloads_(payloads) {
  if (payloads_) {
    line("session_meta", R"({"id":"x","cwd":"/w","instructions":"You are \"Codex\"."})");
    line("turn_context", R"({"cwd":"/w","model":"gpt-5-codex"})");
  } else {
    text_ += R"({"id":"x","timestamp":"2025-08-01T00:00:00Z","instructions":"You are \"Codex\"."})"
             "\n{\"record_type\":\"state\"}\n";
  }
}

void CodexLines::line(std::string_view type, std::string_view payload) {
  text_ += fmt::format(R"({{"timestamp":"2026-02-03T04:05:06.007Z","type":"{}","payload":{}}})",
                       type, payload) +
           "\n";
}

CodexLines& CodexLines::item(std::string_view json) {
  if (payloads_) {
    line("response_item", json);
  } else {
    text_ += fmt::format("{}\n", json);
  }
  return *this;
}

CodexLines& CodexLines::user(std::string_view text) {
  return item(fmt::format(
      R"({{"type":"message","role":"user","content":[{{"type":"input_text","text":{}}}]}})",
      json_text(text)));
}

CodexLines& CodexLines::says(std::string_view text) {
  return item(fmt::format(
      R"({{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{}}}]}})",
      json_text(text)));
}

CodexLines& CodexLines::calls(std::string_view call, std::string_view command) {
  const std::string arguments =
      fmt::format(R"({{"command":["bash","-lc",{}]}})", json_text(command));
  return item(
      fmt::format(R"({{"type":"function_call","name":"shell","arguments":{},"call_id":"{}"}})",
                  json_text(arguments), call));
}

CodexLines& CodexLines::output(std::string_view call, std::string_view text) {
  return item(fmt::format(R"({{"type":"function_call_output","call_id":"{}","output":{}}})", call,
                          json_text(text)));
}

CodexLines& CodexLines::reasons() {
  return item(R"({"type":"reasoning","summary":[],"content":null,"encrypted_content":"gAAA"})");
}

CodexLines& CodexLines::tokens(uint64_t output) {
  line("event_msg", fmt::format(R"({{"type":"token_count","info":{{"last_token_usage":)"
                                R"({{"input_tokens":900,"output_tokens":{}}}}}}})",
                                output));
  return *this;
}

CodexLines& CodexLines::compacts(std::string_view summary) {
  line("compacted", fmt::format(R"({{"message":{}}})", json_text(summary)));
  return *this;
}

}  // namespace ebla::tools
