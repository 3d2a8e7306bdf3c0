// A decision of `prepare` in words: what `ebla prepare`, `events` and `try` show of one.
#pragma once

#include <string>

#include "schema/base/json.h"

namespace ebla::tools {

// "tool_result bash call_1: 23456 -> 310 tokens, item_limit, /large_tool_results/call_1", of an
// action or an event; what is absent is left out. In one line, escaped for a terminal.
std::string decision_line(const Json& decision);

}  // namespace ebla::tools
