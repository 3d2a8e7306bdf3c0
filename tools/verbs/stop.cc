#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "schema/base/limits.h"
#include "tools/host.h"
#include "tools/places.h"
#include "tools/process.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

// Twice what the daemon allows itself.
constexpr std::chrono::milliseconds kStopTimeout{10'000};

struct Target {
  pid_t pid = 0;
  UniqueFd process;
  Json status;
};

// The process behind the socket, held by a descriptor: a pid alone could be another's by now.
Result<Target> find_target(const Call& call) {
  auto client = open_client(call);
  if (!client) {
    return std::unexpected(client.error());
  }
  Target target;
  target.pid = client->peer_pid();
  if (target.pid <= 0) {
    return fail(
        Code::permission_denied,
        fmt::format("the daemon at {} runs in another container: stop it there", call.socket));
  }
  target.process = open_process(target.pid);
  // The answer comes from the living peer, so the descriptor is of that process and no later one.
  auto status = client->call("status", "{}");
  if (!status) {
    return std::unexpected(status.error());
  }
  if (!target.process) {
    return std::unexpected(errno_error(errno, fmt::format("cannot watch process {}", target.pid)));
  }
  if (number_at(status->result, "pid") != target.pid) {
    return fail(Code::permission_denied,
                fmt::format("the daemon at {} calls itself process {}, but process {} listens "
                            "there: it is left alone",
                            call.socket, text_at(status->result, "pid"), target.pid));
  }
  target.status = std::move(status->result);
  return target;
}

Result<void> end_process(const Target& target) {
  if (signal_process(target.process, SIGTERM) != 0) {
    if (errno == ESRCH) {
      return {};
    }
    return std::unexpected(errno_error(errno, fmt::format("cannot end process {}", target.pid)));
  }
  pollfd entry{target.process.get(), POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ended = poll(&entry, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ended > 0) {
      return {};
    }
    if (ended == 0) {
      return fail(Code::timeout,
                  fmt::format("process {} was asked to end {} s ago and has not; its log is {}; "
                              "`kill -9 {}` ends it, and nothing that was answered is lost",
                              target.pid, kStopTimeout.count() / 1000,
                              log_path(text_at(target.status, "store")), target.pid));
    }
    if (errno != EINTR) {
      return std::unexpected(errno_error(errno, "poll"));
    }
  }
}

Result<std::vector<std::string>> gone_mounts(const Target& target) {
  std::vector<std::string> gone;
  const Json* mounts = target.status.find("mounts");
  auto mountinfo = read_file("/proc/self/mountinfo", 64 * limits::kMiB);
  if (mounts == nullptr || !mountinfo) {
    return gone;
  }
  for (const Json& mount : mounts->items) {
    const Json* directory = mount.find("directory");
    if (directory == nullptr) {
      continue;
    }
    if (ebla_mounted_at(*mountinfo, directory->text)) {
      return fail(
          Code::mount_failed,
          fmt::format("process {} has ended, but its mount {} is still there; take it "
                      "away with `{}`",
                      target.pid, directory->text, detach_command(directory->text, geteuid())));
    }
    gone.push_back(directory->text);
  }
  return gone;
}

}  // namespace

Result<int> run_stop(Call& call) {
  auto target = find_target(call);
  if (!target) {
    return std::unexpected(target.error());
  }
  if (auto ended = end_process(*target); !ended) {
    return std::unexpected(ended.error());
  }
  auto gone = gone_mounts(*target);
  if (!gone) {
    return std::unexpected(gone.error());
  }
  if (call.args.json) {
    JsonWriter json;
    json.begin_object().member("stopped", true).member("pid", int64_t{target->pid}).end_object();
    return print(call, json.take() + "\n");
  }
  std::string text = fmt::format("process {} has ended\n", target->pid);
  for (const std::string& directory : *gone) {
    text += fmt::format("{} is no longer mounted\n", terminal_text(directory));
  }
  return print(call, text);
}

}  // namespace ebla::tools
