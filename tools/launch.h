// Starts eblad detached: a session of its own, output to a log file, nothing of the caller's open.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::tools {

// The daemon's log file. While this lives no other start goes on past open(): two starts at once
// are one after the other, and the second finds the first one's daemon.
class StartLog {
 public:
  // Makes the folder of a default place (mode 0700); a log above 4 MiB becomes PATH.old.
  static Result<StartLog> open(std::string path, bool make_folder);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  // What was logged since open(), without the level marks; the last lines if it is much.
  std::string news() const;

 private:
  std::string path_;
  UniqueFd lock_;  // not the descriptor that the daemon inherits, which would keep the lock
  UniqueFd fd_;
  uint64_t start_ = 0;  // where this start's lines begin
};

struct Launched {
  pid_t pid = 0;
  bool ready = false;
  int exit_status = 0;  // when not ready: how it ended; 128 + signal if killed
};

// Runs `program` with `words` and `--ready-fd`, and waits until it is ready or has ended. timeout
// when it has done neither by then; it goes on.
Result<Launched> launch(const std::string& program, std::vector<std::string> words,
                        const StartLog& log, std::chrono::milliseconds timeout);

// What the exit status of an eblad that did not start means; it keeps its meaning in ours.
Code exit_code(int exit_status);

}  // namespace ebla::tools
