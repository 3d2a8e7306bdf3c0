// What the providers' manuals demand of a list, read from the JSON itself: it shares no code with
// what it checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/context/formats/histories.h"

namespace ebla::context::test {

// Faults in words. `list`: the array of messages. Calls of the model's turn that it ends in, with
// nothing behind them, may wait for their results.
std::vector<std::string> refusals(std::string_view list, Dialect dialect);

}  // namespace ebla::context::test
