#include <unistd.h>

#include <string>
#include <vector>

#include "tools/run.h"

int main(int argc, char** argv) {
  using ebla::tools::Output;
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  ebla::tools::Streams streams{
      STDIN_FILENO,
      isatty(STDIN_FILENO) == 1,
      Output(STDOUT_FILENO, isatty(STDOUT_FILENO) == 1),
      Output(STDERR_FILENO, isatty(STDERR_FILENO) == 1),
  };
  return ebla::tools::run(words, streams, ebla::process_environment());
}
