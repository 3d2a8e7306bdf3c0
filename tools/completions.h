// Shell completions, made from the verb table.
#pragma once

#include <string>
#include <string_view>

#include "schema/base/result.h"

namespace ebla::tools {

// The script for "bash", "zsh" or "fish".
Result<std::string> completions(std::string_view shell);

}  // namespace ebla::tools
