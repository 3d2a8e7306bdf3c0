// Summaries made by a command, on threads of their own.
#pragma once

#include <string>

#include "daemon/prepare/work.h"

namespace ebla::daemon {

struct CommandSummary {
  enum class State : uint8_t {
    running,  // begun now or before
    there,    // `text` is the accepted summary
    failed,   // `text` says why; it is not asked again
    resting,  // it failed too often
  } state = State::running;
  std::string id;
  std::string text;
};

// The summary of the first `cut` messages: begun if it is not under way.
CommandSummary command_summary(Work& work, const std::string& command, size_t cut);
// Those of this session tree that are finished.
void forget_command_summaries(Work& work);

}  // namespace ebla::daemon
