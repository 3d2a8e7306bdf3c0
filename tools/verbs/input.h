// The input of the verbs that take [FILE].
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "schema/base/result.h"
#include "tools/content.h"
#include "tools/verb.h"

namespace ebla::tools {

// What the operand of this index names, or the standard input without one or for "-".
Result<Content> read_input(Call& call, size_t operand = 0);
// All of it; too_large above `limit_bytes`, and whatever went wrong while it was read.
Result<std::string> whole_text(const Content& content, uint64_t limit_bytes);
// How long a call may take that hands over so much.
std::chrono::milliseconds call_timeout(uint64_t bytes);
// $TMPDIR, else /tmp.
std::string temp_folder(const Environment& env);

}  // namespace ebla::tools
