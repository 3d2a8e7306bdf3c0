#include "tests/tools/command.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tools/run.h"

namespace ebla::tools {

UniqueFd memory_file(std::string_view bytes) {
  UniqueFd file(memfd_create("test", MFD_CLOEXEC));
  if (!file || !pwrite_full(file.get(), bytes, 0)) {
    std::perror("memfd");
    std::abort();
  }
  return file;
}

std::string content_of_file(int fd) {
  struct stat info{};
  fstat(fd, &info);
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  (void)pread_full(fd, bytes.data(), bytes.size(), 0);
  return bytes;
}

std::string above(std::string_view text, size_t bytes) {
  std::string out;
  while (out.size() <= bytes) {
    out += text.empty() ? "x" : text;
  }
  return out;
}

Ran Command::run() const {
  UniqueFd in = memory_file(input_by_pipe ? "" : input);
  std::thread writer;
  if (input_by_pipe) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      std::abort();
    }
    in.reset(ends[0]);
    writer = std::thread([this, end = UniqueFd(ends[1])] {
      // A command that does not read its input closes the pipe: no fault of this thread's.
      sigset_t pipe_signal;
      sigemptyset(&pipe_signal);
      sigaddset(&pipe_signal, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
      (void)write_full(end.get(), input);
    });
  }
  const UniqueFd out = memory_file("");
  const UniqueFd err = memory_file("");
  Streams streams{in.get(), false, Output(output >= 0 ? output : out.get(), terminal),
                  Output(err.get(), terminal)};
  Ran ran;
  ran.status = tools::run(words, streams, [this](const std::string& name) {
    const auto at = environment.find(name);
    return at == environment.end() ? std::nullopt : std::optional(at->second);
  });
  in.reset();
  if (writer.joinable()) {
    writer.join();
  }
  ran.out = content_of_file(out.get());
  ran.err = content_of_file(err.get());
  return ran;
}

}  // namespace ebla::tools
