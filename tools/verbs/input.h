// The input of the verbs that take [FILE].
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "schema/base/result.h"
#include "tools/client.h"
#include "tools/content.h"
#include "tools/verb.h"

namespace ebla::tools {

// What the operand of this index names, or the standard input without one or for "-".
Result<Content> read_input(Call& call, size_t operand = 0);
// All of it; too_large above `limit_bytes`, and whatever went wrong while it was read.
Result<std::string> whole_text(const Content& content, uint64_t limit_bytes);
// How long a call may take that hands over so much.
std::chrono::milliseconds call_timeout(uint64_t bytes);
// What stands for a content in the parameters of a call that sends it along.
std::string_view content_reference(const Content& content);
Result<Reply> call_with(Client& client, std::string_view method, std::string_view params,
                        const Content& content);
// $TMPDIR, else /tmp.
std::string temp_folder(const Environment& env);

}  // namespace ebla::tools
