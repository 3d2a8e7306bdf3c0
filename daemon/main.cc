// eblad: start, wait for a signal, stop.
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>

#include "daemon/composition.h"
#include "daemon/options.h"
#include "daemon/version.h"
#include "schema/base/json.h"
#include "schema/base/log.h"

namespace {

using namespace ebla;  // NOLINT(google-build-using-namespace)

constexpr unsigned kHardStopSeconds = 5;

int give_up(const Error& error) {
  fmt::print(stderr, "eblad: {}\n", printable(error.text));
  return code_info(error.code).exit_status;
}

// Descriptors 0 to 2 are never anything else, so that no log line lands in a store.
void fill_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int null = ::open("/dev/null", O_RDWR);  // the lowest free one: fd
    if (null < 0) std::abort();
  }
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

void prepare_process() {
  fill_standard_descriptors();
  umask(077);
  // A full disk quota and a peer that left are errors of one call, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // inherited by every thread; main waits for them
}

void tell_ready(const daemon::Options& options, int ready_fd) {
  log::info("ready: store {}, socket {}", options.store, options.socket);
  sd_notify(0, "READY=1");
  if (ready_fd < 0) return;
  if (::write(ready_fd, "\n", 1) != 1) log::warning("ready-fd: nobody reads it");
  if (ready_fd > 2) ::close(ready_fd);
}

void cut_off(int /*signal*/) {
  static constexpr std::string_view kLine = "eblad: stop: something hung, cut off\n";
  if (::write(STDERR_FILENO, kLine.data(), kLine.size()) < 0) _exit(kExitFailure);
  _exit(kExitFailure);
}

// What can not end in time is cut off: everything acknowledged is on disk by then.
void limit_stop() {
  std::signal(SIGALRM, cut_off);
  alarm(kHardStopSeconds);
}

int run(int argc, char** argv) {
  auto options = daemon::read_options(daemon::process_sources(argc, argv));
  if (!options) return give_up(options.error());
  if (options->help || options->version) {
    fmt::print("{}",
               options->help ? daemon::help_text() : fmt::format("eblad {}\n", daemon::kVersion));
    return std::fflush(stdout) == 0 ? kExitOk : kExitFailure;
  }
  log::set_level(options->log_level);
  const int ready_fd = options->ready_fd;
  if (ready_fd > 2) fcntl(ready_fd, F_SETFD, FD_CLOEXEC);
  if (chdir("/") != 0) return give_up(errno_error(errno, "chdir: /"));

  auto daemon = daemon::Daemon::start(*options);
  if (!daemon) return give_up(daemon.error());
  tell_ready(*options, ready_fd);

  const sigset_t set = stop_signals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  log::info("stopping: signal {}", signal);
  sd_notify(0, "STOPPING=1");
  limit_stop();
  auto stopped = (*daemon)->stop();
  if (!stopped) return give_up(stopped.error());
  return kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    return give_up({Code::internal_error, fmt::format("unexpected: {}", error.what())});
  }
}
