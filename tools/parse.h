// The command line against the verb table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schema/base/result.h"
#include "tools/verb.h"

namespace ebla::tools {

// Fills `out` as far as it gets, so that the caller knows the verb of a wrong line too. A wrong
// line is Code::usage, with the nearest name where there is one.
Result<void> parse_arguments(std::span<const std::string> words, Arguments& out);

// The verb of this name; the usage error for an unknown one.
Result<const Verb*> verb_named(std::string_view name);

}  // namespace ebla::tools
