// A whole command, from its words to its exit status.
#pragma once

#include <span>
#include <string>

#include "tools/verb.h"

namespace ebla::tools {

// `words` without the program's name. Prints to the streams only; touches no global state.
int run(std::span<const std::string> words, Streams& streams, const Environment& env);

}  // namespace ebla::tools
