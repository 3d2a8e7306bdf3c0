#include "tools/decisions.h"

#include <fmt/format.h>

#include <string_view>

#include "tools/verbs/common.h"

namespace ebla::tools {

std::string decision_line(const Json& decision) {
  std::string line = text_at(decision, "what");
  // An event has the tool, or the source of a summary, as its detail, and an id of its own.
  const bool event = decision.find("at") != nullptr;
  for (const char* name : {"tool", "detail", "id"}) {
    const bool shown = !event || std::string_view(name) != "id";
    const std::string text = shown ? text_at(decision, name) : "";
    line += text.empty() ? "" : " " + text;
  }
  const char* separator = ": ";
  const auto add = [&](const std::string& text) {
    line += separator + text;
    separator = ", ";
  };
  const auto before = number_at(decision, "tokens_before");
  const auto after = number_at(decision, "tokens_after");
  if (before || after) {
    add(fmt::format("{} -> {} tokens", before.value_or(0), after.value_or(0)));
  }
  if (const auto messages = number_at(decision, "messages")) {
    add(fmt::format("{} messages", *messages));
  }
  for (const char* name : {"reason", "path"}) {
    if (decision.find(name) != nullptr) {
      add(text_at(decision, name));
    }
  }
  return line;
}

}  // namespace ebla::tools
