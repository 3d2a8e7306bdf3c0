// The text that a session's agent gets up front: stable to the byte, at most kPromptTokens.
#pragma once

#include <string>

#include "context/item/doors.h"

namespace ebla::context {

// `results` and `history` are host paths, valid where the agent runs.
std::string up_front_text(const std::string& results, const std::string& history,
                          const Doors& doors);

}  // namespace ebla::context
