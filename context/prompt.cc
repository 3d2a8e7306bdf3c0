#include "context/prompt.h"

#include <fmt/format.h>

#include "context/item/scan.h"
#include "context/texts.h"
#include "schema/base/json.h"

namespace ebla::context {
namespace {

// By what the agent searches: its own tool's name, else the commands that a shell has.
std::string search_hint(const Doors& doors) {
  if (!doors.grep_tool.empty()) {
    return fmt::format(texts::kUpFrontWith, texts::tool_name(doors.grep_tool));
  }
  if (doors.shell) return fmt::format(texts::kUpFrontWith, "grep");
  if (!doors.read_tool.empty()) {
    return fmt::format(texts::kUpFrontWith, texts::tool_name(doors.read_tool));
  }
  return fmt::format(texts::kUpFrontWith, "`ebla read`");
}

bool fits(const std::string& text) {
  return tokens_of_sum(measure(text).class_sum) <= limits::kPromptTokens;
}

}  // namespace

std::string up_front_text(const std::string& results, const std::string& history,
                          const Doors& doors) {
  if (doors.none()) return texts::kUpFrontClosed;
  const std::string shown_history = printable(history);
  const std::string shown_results = printable(results);
  std::string text = fmt::format(texts::kUpFront, shown_history, shown_results, search_hint(doors));
  if (fits(text)) return text;
  text = fmt::format(texts::kUpFrontShort, shown_history, shown_results, search_hint(doors));
  if (fits(text)) return text;
  return fmt::format(texts::kUpFrontShort, shown_history, shown_results, "");
}

}  // namespace ebla::context
