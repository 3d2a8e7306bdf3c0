// Threads that run a summariser's command: limits::kSummarisers at a time, in nobody's way.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "daemon/control/worker_pool.h"
#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "schema/base/result.h"

namespace ebla::daemon {

// Thread safe.
class Summariser {
 public:
  // Runs the job's command once with this prompt. Errors as run_command.
  using Run = std::function<Result<std::string>(std::string_view prompt, uint64_t max_tokens)>;
  using Job = std::move_only_function<void(const Run& run)>;

  explicit Summariser(
      std::chrono::milliseconds time_limit = std::chrono::milliseconds(limits::kSummariserMs))
      : time_limit_(time_limit) {}
  ~Summariser() { stop(); }
  Summariser(const Summariser&) = delete;
  Summariser& operator=(const Summariser&) = delete;

  // `session` is what the command finds in EBLA_SESSION. busy: too many wait; unavailable after
  // stop(). The job is not run then, nor touched.
  Result<void> submit(const std::string& command, const std::string& session, Job& job);
  // Kills what runs; jobs that wait run with a command that fails at once.
  void stop();

  size_t running() const { return running_; }
  size_t waiting() const { return waiting_; }

 private:
  Result<void> start();
  void run(const std::string& command, const std::string& session, Job job);

  const std::chrono::milliseconds time_limit_;  // of one run
  std::mutex mutex_;
  bool started_ = false;
  bool stopped_ = false;
  UniqueFd stop_event_;
  std::atomic<size_t> running_ = 0;
  std::atomic<size_t> waiting_ = 0;
  WorkerPool pool_;
};

}  // namespace ebla::daemon
