// Runs a whole command inside the test, with its streams in memory.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/fd.h"

namespace ebla::tools {

struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};

struct Command {
  std::vector<std::string> words;
  std::string input;
  bool input_by_pipe = false;  // else a regular file
  bool terminal = false;       // output counts as one
  int output = -1;             // write there, in place of `out`
  std::map<std::string, std::string> environment;

  Ran run() const;
};

// An unnamed regular file in memory with these bytes, its position at the start.
UniqueFd memory_file(std::string_view bytes);
std::string content_of_file(int fd);
// The text repeated until it is longer than that.
std::string above(std::string_view text, size_t bytes);

}  // namespace ebla::tools
