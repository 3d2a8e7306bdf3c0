// Run by the build: writes the completions of one shell to the standard output.
#include <unistd.h>

#include <cstdio>

#include "schema/base/fd.h"
#include "tools/completions.h"

int main(int argc, char** argv) {
  const auto text = ebla::tools::completions(argc == 2 ? argv[1] : "");
  if (!text) {
    std::fprintf(stderr, "ebla-completions: %s\n", text.error().text.c_str());
    return ebla::kExitUsage;
  }
  return ebla::write_full(STDOUT_FILENO, *text) ? ebla::kExitOk : ebla::kExitFailure;
}
