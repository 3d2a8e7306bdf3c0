#include <unistd.h>

#include <string>
#include <vector>

#include "tools/mount_helper.h"
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
  if (argc > 0 && ebla::tools::is_mount_helper(argv[0])) {
    return ebla::tools::run_mount_helper(words, streams, ebla::process_environment());
  }
  return ebla::tools::run(words, streams, ebla::process_environment());
}
