// Where a command reads and writes. Passed in, so that a whole command runs inside a test.
#pragma once

#include <string>
#include <string_view>

#include "schema/base/result.h"

namespace ebla::tools {

// A file descriptor that text goes to. Does not own it.
class Output {
 public:
  Output(int fd, bool terminal) : fd_(fd), terminal_(terminal) {}

  bool terminal() const { return terminal_; }
  // Whether it is a pipe that nobody reads any more.
  bool abandoned() const;
  // Text of our own: tables, messages.
  Result<void> write(std::string_view text);
  // Bytes that somebody else wrote: raw into pipes and files; on a terminal control bytes and
  // invalid UTF-8 are shown as escapes, line ends and tabs kept. Call finish() after the last
  // piece.
  Result<void> write_content(std::string_view bytes);
  // For notes and errors: when this stream is closed nobody is left to be told.
  void note(std::string_view text);
  // Flushes a character that the last piece cut in two.
  Result<void> finish_content();

 private:
  int fd_;
  bool terminal_;
  std::string cut_;  // start of a character whose end has not come yet
};

struct Streams {
  int in = 0;
  bool in_is_terminal = false;
  Output out;
  Output err;
};

}  // namespace ebla::tools
