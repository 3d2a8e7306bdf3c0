#include "daemon/summariser/summariser.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/summariser/command.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

// What of the output is taken: four times the cap in tokens, a token in bytes.
constexpr size_t kOutputFactor = 4;
constexpr size_t kTokenBytes = 8;
constexpr size_t kMinOutputBytes = 64 * limits::kKiB;

}  // namespace

Result<void> Summariser::start() {
  if (stopped_) return fail(Code::unavailable, "the daemon is stopping");
  if (started_) return {};
  stop_event_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_event_) return std::unexpected(errno_error(errno, "eventfd"));
  pool_.start(limits::kSummarisers);
  started_ = true;
  return {};
}

Result<void> Summariser::submit(const std::string& command, const std::string& session, Job& job) {
  const std::scoped_lock lock(mutex_);
  if (auto ready = start(); !ready) return ready;
  if (waiting_ >= limits::kSummariesWaiting) {
    return fail(Code::busy, "too many summaries wait for the summariser");
  }
  ++waiting_;
  // The pool drops what waits when it stops; a job must run all the same, since others wait for it.
  auto kept = std::shared_ptr<Job>(new Job(std::move(job)), [this, command, session](Job* left) {
    std::unique_ptr<Job> owned(left);
    if (*owned) run(command, session, std::move(*owned));
  });
  pool_.post([this, command, session, kept] { run(command, session, std::exchange(*kept, {})); });
  return {};
}

void Summariser::run(const std::string& command, const std::string& session, Job job) {
  --waiting_;
  ++running_;
  job([&](std::string_view prompt, uint64_t max_tokens) {
    CommandRun one;
    one.command = command;
    one.input = prompt;
    one.environment = {{"EBLA_SESSION", session},
                       {"EBLA_SUMMARY_TOKENS", std::to_string(max_tokens)}};
    one.output_limit_bytes =
        std::max<size_t>(kMinOutputBytes, kOutputFactor * kTokenBytes * max_tokens);
    one.time_limit = time_limit_;
    one.stop_fd = stop_event_.get();
    return run_command(one);
  });
  --running_;
}

void Summariser::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    if (!started_) return;
  }
  const uint64_t one = 1;
  static_cast<void>(!::write(stop_event_.get(), &one, sizeof one));
  pool_.stop();
}

}  // namespace ebla::daemon
