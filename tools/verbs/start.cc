#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "tools/host.h"
#include "tools/launch.h"
#include "tools/places.h"
#include "tools/text.h"
#include "tools/verbs/common.h"
#include "tools/verbs/verbs.h"

namespace ebla::tools {
namespace {

constexpr std::chrono::seconds kReadyTimeout{60};

// What the caller wants, in so far as `ebla` must know.
struct Wish {
  std::vector<std::string> words;  // for eblad
  std::vector<std::string> mounts;
  bool mounted = false;  // by these words: a configuration file may mount too
  std::string store;
  bool store_named = false;  // by option or variable: a daemon with another store will not do
};

Result<Wish> wish_of(const Call& call) {
  Wish wish;
  wish.words = call.args.passed;
  wish.mounted = passed_flag(wish.words, "mount");
  if (!mounts_are_said(wish.words, call.env)) {
    wish.mounted = true;
    const auto home = call.env("HOME");
    if (!home || !home->starts_with('/')) {
      return fail(Code::bad_configuration,
                  "HOME is not set, so there is no place for the mount ~/.ebla; set it, or give "
                  "--mount DIR, or --no-mount");
    }
    wish.words.push_back("--mount=" + *home + "/.ebla");
  }
  wish.mounts = mount_directories(wish.words);
  // Whatever a configuration file says: clients look for the daemon here.
  wish.words.push_back("--socket=" + call.socket);
  auto store = passed_value(wish.words, "store");
  if (!store) {
    store = call.env("EBLA_STORE");
  }
  wish.store_named = store && !store->empty();
  if (wish.store_named) {
    wish.store = std::filesystem::absolute(*store).lexically_normal().string();
    return wish;
  }
  auto usual = default_store_path(call.env);
  if (!usual) {
    return std::unexpected(usual.error());
  }
  wish.store = std::move(*usual);
  return wish;
}

bool same_place(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || std::filesystem::equivalent(a, b, error);
}

// Whether the daemon that runs is the one that was asked for.
Result<void> check_running(const Wish& wish, const Call& call, const Json& status) {
  const Json* store = status.find("store");
  if (wish.store_named && store != nullptr && !same_place(store->text, wish.store)) {
    return fail(Code::socket_in_use,
                fmt::format("the daemon at {} serves the store {}, not {}; stop it with `ebla "
                            "stop`, or give this one a socket of its own with --socket PATH",
                            call.socket, store->text, wish.store));
  }
  if (!passed_flag(call.args.passed, "mount")) {
    return {};
  }
  const Json* mounts = status.find("mounts");
  for (const std::string& directory : wish.mounts) {
    const std::string wanted = std::filesystem::absolute(directory).lexically_normal().string();
    const bool there = mounts != nullptr && std::ranges::any_of(mounts->items, [&](const Json& m) {
                         const Json* at = m.find("directory");
                         // Equality of names first: touching a dead mount fails.
                         return at != nullptr && same_place(at->text, wanted);
                       });
    if (!there) {
      return fail(Code::mount_failed,
                  fmt::format("a daemon runs already at {} and does not mount {}; `ebla stop` it "
                              "and start again",
                              call.socket, directory));
    }
  }
  return {};
}

// A mount counts as ready when its root can be listed.
Result<void> check_mounts(const Json& status) {
  const Json* mounts = status.find("mounts");
  if (mounts == nullptr) {
    return {};
  }
  for (const Json& mount : mounts->items) {
    const Json* at = mount.find("directory");
    if (at == nullptr) {
      continue;
    }
    std::error_code error;
    const std::filesystem::directory_iterator listing(at->text, error);
    if (error) {
      return fail(Code::mount_failed, fmt::format("the daemon runs, but its mount {} can not be "
                                                  "listed: {}",
                                                  at->text, error.message()));
    }
  }
  return {};
}

// `log` is empty for a daemon that ran already.
Result<int> print_running(Call& call, const Reply& status, const std::string& log) {
  if (call.args.json) {
    return print_json(call, status);
  }
  using enum Table::Align;
  Table table({left, left});
  if (const Json* mounts = status.result.find("mounts"); mounts != nullptr) {
    for (const Json& mount : mounts->items) {
      const std::string subtree = text_at(mount, "subtree");
      table.row({"mount", text_at(mount, "directory") +
                              (subtree == "/" ? "" : fmt::format(" (shows {})", subtree))});
    }
  }
  table.row({"store", text_at(status.result, "store")});
  table.row({"socket", text_at(status.result, "socket")});
  if (!log.empty()) {
    table.row({"log", terminal_text(log)});
  }
  return print(call, fmt::format("eblad runs{} as process {}\n{}", log.empty() ? " already" : "",
                                 text_at(status.result, "pid"), table.text()));
}

Result<int> join_running(const Wish& wish, Call& call, const Reply& status) {
  if (auto right_one = check_running(wish, call, status.result); !right_one) {
    return std::unexpected(right_one.error());
  }
  return print_running(call, status, "");
}

// nullopt: nobody is there.
Result<std::optional<Reply>> running(const Call& call) {
  auto client = open_client(call);
  if (!client) {
    if (client.error().code == Code::not_running) {
      return std::nullopt;
    }
    return std::unexpected(client.error());
  }
  auto status = client->call("status", "{}");
  if (!status) {
    return std::unexpected(status.error());
  }
  return std::move(*status);
}

Error start_error(const Launched& ended, const StartLog& log, const Wish& wish, const Host& host,
                  const Environment& env) {
  std::string text = log.news();
  if (text.empty()) {
    text = ended.exit_status > 128 ? fmt::format("killed by signal {}", ended.exit_status - 128)
                                   : fmt::format("exit status {}", ended.exit_status);
  }
  const bool allow_other = text.find("allow_other") != std::string::npos;
  text = fmt::format("eblad did not start: {}", text);
  for (const std::string& hint : mount_hints(host, env, wish.mounts, allow_other)) {
    text += "\n" + hint;
  }
  return {exit_code(ended.exit_status), text + "\nits log: " + log.path()};
}

}  // namespace

Result<int> run_start(Call& call) {
  auto wish = wish_of(call);
  if (!wish) {
    return std::unexpected(wish.error());
  }
  auto there = running(call);
  if (!there) {
    return std::unexpected(there.error());
  }
  if (*there) {
    return join_running(*wish, call, **there);
  }
  auto log = StartLog::open(log_path(wish->store), !wish->store_named);
  if (!log) {
    return std::unexpected(log.error());
  }
  // Whoever held the log until now may have started the daemon.
  there = running(call);
  if (!there) {
    return std::unexpected(there.error());
  }
  if (*there) {
    return join_running(*wish, call, **there);
  }
  Host host;
  host.uid = geteuid();
  if (wish->mounted) {
    if (auto able = check_fuse(host, call.env); !able) {
      return std::unexpected(able.error());
    }
  }
  auto program = find_daemon(call.env);
  if (!program) {
    return std::unexpected(program.error());
  }
  auto launched = launch(*program, wish->words, *log, kReadyTimeout);
  if (!launched) {
    return std::unexpected(launched.error());
  }
  if (!launched->ready) {
    return std::unexpected(start_error(*launched, *log, *wish, host, call.env));
  }
  auto started = running(call);
  if (!started) {
    return std::unexpected(started.error());
  }
  if (!*started) {
    return fail(Code::unavailable,
                fmt::format("eblad (process {}) was ready, but does not answer at {}; its log: {}",
                            launched->pid, call.socket, log->path()));
  }
  if (auto listed = check_mounts((*started)->result); !listed) {
    return std::unexpected(listed.error());
  }
  return print_running(call, **started, log->path());
}

}  // namespace ebla::tools
