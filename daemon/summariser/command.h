// One run of a summariser's command: a text in, a text out, bounded in everything.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/base/result.h"

namespace ebla::daemon {

struct CommandRun {
  std::string command;     // for `sh -c`
  std::string_view input;  // on its stdin; it need not read it
  std::vector<std::pair<std::string, std::string>> environment;  // beside the daemon's
  size_t output_limit_bytes = 0;
  std::chrono::milliseconds time_limit{};
  int stop_fd = -1;  // readable: give up at once
};

// What it printed, any bytes. The command runs in a process group of its own with descriptors 0 to
// 2 and nothing else of ours; when it ends, or has to, or this process is killed, the whole group
// is killed. Blocks.
// timeout; too_large (more output than allowed: nothing is kept); io_error (it could not start, or
// ended with another status than 0: with the last line of its stderr); unavailable (stop_fd).
Result<std::string> run_command(const CommandRun& run);

}  // namespace ebla::daemon
