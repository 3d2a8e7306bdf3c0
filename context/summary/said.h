// What the model said in the removed messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "context/summary/summary.h"

namespace ebla::context {

struct Said {
  size_t at = 0;  // message
  std::string text;
  bool ends = false;  // the user spoke next
};
std::vector<Said> said_in(const SummaryInput& input);  // oldest first
// Text blocks joined by LF; "" of anybody else's message.
std::string assistant_text(std::string_view body, const WorkingMessage& message);
// What of a text is neither a plan nor a decision, on one line.
std::string findings_of(std::string_view text);

}  // namespace ebla::context
