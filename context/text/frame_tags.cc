#include "context/text/frame_tags.h"

#include <algorithm>
#include <array>

#include "context/text/ascii.h"

namespace ebla::context {
namespace {

constexpr std::array<std::string_view, 18> kNames = {"system",
                                                     "system-reminder",
                                                     "system_reminder",
                                                     "summary",
                                                     "environment_context",
                                                     "assistant",
                                                     "instructions",
                                                     "user_instructions",
                                                     "user_query",
                                                     "thinking",
                                                     "think",
                                                     "tool_call",
                                                     "tool_result",
                                                     "tool_response",
                                                     "function_calls",
                                                     "function_results",
                                                     "inst",
                                                     "sys"};

bool in_name(char c) {
  return (lowered(c) >= 'a' && lowered(c) <= 'z') || c == '-' || c == '_';
}

// `text` stands behind a '<'.
bool begins_frame(std::string_view text) {
  if (text.starts_with("!--") || text.starts_with('|')) return true;
  while (!text.empty() && (text.front() == '/' || text.front() == '<')) text.remove_prefix(1);
  const auto end = std::find_if_not(text.begin(), text.end(), in_name);
  const std::string name = lowered(text.substr(0, static_cast<size_t>(end - text.begin())));
  const bool ends = end == text.end() || *end == '>' || *end == ' ' || *end == '/' || *end == ':';
  return ends && std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

std::string without_frames(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = i > 0 && text[i - 1] == '\\';
    if (text[i] == '<' && !escaped && begins_frame(text.substr(i + 1))) out += '\\';
    out += text[i];
  }
  return out;
}

}  // namespace ebla::context
