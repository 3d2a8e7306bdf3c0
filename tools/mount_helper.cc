#include "tools/mount_helper.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "schema/base/fd.h"
#include "schema/base/hash.h"
#include "schema/base/host_path.h"
#include "schema/base/limits.h"
#include "tools/launch.h"
#include "tools/mount_options.h"
#include "tools/mounting.h"
#include "tools/places.h"
#include "tools/process.h"
#include "tools/text.h"
#include "tools/verbs/common.h"

namespace ebla::tools {
namespace {

constexpr std::string_view kName = "mount.fuse.ebla";
constexpr std::chrono::seconds kReadyTimeout{60};
// A daemon that ends with its last mount is waited for, and one that is about to listen.
constexpr std::chrono::seconds kPatience{15};
constexpr std::chrono::milliseconds kLook{1000};

enum Status : int { kDone = 0, kWrongCall = 1, kSystem = 2, kInternal = 4, kNotMounted = 32 };

int status_of(Code code) {
  switch (code) {
    case Code::usage:
    case Code::bad_configuration:
    case Code::permission_denied:
    case Code::operation_not_permitted:
      return kWrongCall;
    case Code::unavailable:
      return kSystem;
    case Code::internal_error:
      return kInternal;
    default:
      return kNotMounted;
  }
}

std::string usage() {
  return fmt::format(
      "usage: {} STORE DIR [-fnsv] [-o OPTION,...]\n\n"
      "Shows the store at DIR; mount(8) calls it for the type fuse.ebla. Options: subtree=PATH,\n"
      "socket=PATH, config=FILE, allow_other, ro, noexec, and those of mount(8) that are not for\n"
      "a file system. {}(8) says more.\n",
      kName, kName);
}

// The path that the daemon knows the store by: its lock lies beside that.
std::string real_store(const std::string& store) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(store, error);
  return error ? store : real.string();
}

bool same_store(const std::string& one, const std::string& other) {
  std::error_code error;
  return one == other || std::filesystem::equivalent(one, other, error);
}

class Helper {
 public:
  Helper(HelperCall call, const Environment& env)
      : call_(std::move(call)),
        env_(env),
        store_(real_store(call_.store)),
        usual_socket_(default_socket_path(env, geteuid())) {}

  // The line to be shown with -v.
  Result<std::string> run();

 private:
  std::optional<Client> find() const;
  std::optional<Client> ask(const std::string& socket) const;
  std::vector<std::string> sockets() const;
  Result<Client> find_or_start();
  Result<Client> start(const StartLog& log);
  Result<Launched> launch_at(const StartLog& log, const std::string& socket) const;

  const HelperCall call_;
  const Environment& env_;
  const std::string store_;
  const std::string usual_socket_;
  std::optional<std::string> log_path_;  // of a daemon that this started
};

// What the lock says of its holder, or of the last one.
struct Holder {
  pid_t pid = 0;
  std::string socket;
};

Holder read_holder(const std::string& store) {
  Holder holder;
  const auto text = read_file(store + ".lock", 2 * limits::kPathBytes).value_or("");
  const size_t first = std::min(text.find('\n'), text.size());
  std::from_chars(text.data(), text.data() + first, holder.pid);
  const size_t second = text.find('\n', first + 1);
  if (second != std::string::npos) {
    holder.socket = text.substr(first + 1, second - first - 1);
  }
  return holder;
}

// Returns when the process has ended, or after a while.
void wait_for_end(pid_t pid) {
  const UniqueFd process = open_process(pid);
  pollfd entry{process.get(), POLLIN, 0};
  if (process) {
    poll(&entry, 1, static_cast<int>(kLook.count()));
  }
}

// nullopt: nobody is there, or a daemon of another store, or one that is not to be trusted.
std::optional<Client> Helper::ask(const std::string& socket) const {
  auto client = Client::connect(socket);
  if (!client) {
    return std::nullopt;
  }
  // A user trusts nobody else's daemon; root mounts for anybody.
  const uid_t owner = client->peer_uid();
  const bool trusted = geteuid() == 0 || owner == geteuid() || owner == 0;
  auto status = client->call("status", "{}");
  if (!trusted || !status || !same_store(text_at(status->result, "store"), store_)) {
    return std::nullopt;
  }
  return std::move(*client);
}

std::optional<Client> Helper::find() const {
  for (const std::string& socket : sockets()) {
    if (auto client = ask(socket)) {
      return client;
    }
  }
  return std::nullopt;
}

// Where a daemon of this store may listen, the likeliest first.
std::vector<std::string> Helper::sockets() const {
  std::vector<std::string> out;
  if (call_.socket) {
    out.push_back(usable_socket_path(*call_.socket, geteuid()));
  }
  if (std::string noted = read_holder(store_).socket; !noted.empty()) {
    out.push_back(std::move(noted));
  }
  out.push_back(usual_socket_);
  return out;
}

Result<Launched> Helper::launch_at(const StartLog& log, const std::string& socket) const {
  auto program = find_daemon(env_);
  if (!program) {
    return std::unexpected(program.error());
  }
  std::vector<std::string> words = {"--store=" + store_, "--socket=" + socket, "--no-mount",
                                    "--until-unmounted"};
  if (call_.config) {
    words.push_back("--config=" + *call_.config);
  }
  return launch(*program, std::move(words), log, kReadyTimeout);
}

// At the usual socket, so that `ebla` finds it, or at one of its own where that is taken.
Result<Client> Helper::start(const StartLog& log) {
  std::string socket = call_.socket ? usable_socket_path(*call_.socket, geteuid()) : usual_socket_;
  auto launched = launch_at(log, socket);
  if (launched && launched->exit_status == kExitSocketInUse && !call_.socket) {
    socket = usable_socket_path(
        fmt::format("{}/{:016x}.sock", folder_of(usual_socket_), xxh3_64(store_)), geteuid());
    launched = launch_at(log, socket);
  }
  if (!launched) {
    return std::unexpected(launched.error());
  }
  log_path_ = log.path();
  if (!launched->ready) {
    std::string text = log.news();
    if (text.empty()) {
      text = fmt::format("exit status {}", launched->exit_status);
    }
    return fail(exit_code(launched->exit_status),
                fmt::format("eblad did not start: {}\nits log: {}", text, log.path()));
  }
  return Client::connect(socket);
}

Result<Client> Helper::find_or_start() {
  if (auto found = find()) {
    return std::move(*found);
  }
  const std::string folder = folder_of(store_);
  if (access(folder.c_str(), F_OK) != 0) {
    return fail(Code::file_not_found,
                fmt::format("the folder {} of the store does not exist: run 'mkdir -p {}'", folder,
                            shell_word(folder)));
  }
  auto log = StartLog::open(log_path(store_), /*make_folder=*/false);
  if (!log) {
    return std::unexpected(log.error());
  }
  // Whoever held the log until now may have started the daemon.
  if (auto found = find()) {
    return std::move(*found);
  }
  return start(*log);
}

// A daemon that is about to begin or to end; what comes next may go well.
bool passes(Code code) {
  return code == Code::unavailable || code == Code::not_running || code == Code::store_locked;
}

Result<std::string> Helper::run() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    Error error;
    pid_t daemon = 0;
    if (auto client = find_or_start(); !client) {
      error = std::move(client.error());
      daemon = read_holder(store_).pid;
    } else if (auto mounted = add_mount(*client, call_.wish); !mounted) {
      error = std::move(mounted.error());
      daemon = client->peer_pid();
    } else {
      return fmt::format("{}: {} of {} is mounted at {} by process {}{}\n", kName,
                         call_.wish.subtree, store_, call_.wish.directory, client->peer_pid(),
                         log_path_ ? ", its log: " + *log_path_ : "");
    }
    if (!passes(error.code) || daemon <= 0 || std::chrono::steady_clock::now() >= end) {
      return std::unexpected(std::move(error));
    }
    wait_for_end(daemon);
  }
}

Result<std::string> answer(std::span<const std::string> words, const Environment& env) {
  auto call = parse_helper_words(words);
  if (!call) {
    return std::unexpected(call.error());
  }
  if (call->help) {
    return usage();
  }
  if (call->version) {
    return fmt::format("{} {}\n", kName, EBLA_VERSION);
  }
  const bool quiet = !call->verbose;
  if (call->fake) {
    return std::string();
  }
  auto line = Helper(std::move(*call), env).run();
  return quiet && line ? std::string() : line;
}

}  // namespace

bool is_mount_helper(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == kName;
}

int run_mount_helper(std::span<const std::string> words, Streams& streams, const Environment& env) {
  const auto text = answer(words, env);
  if (text) {
    // The mount stands, whether anybody reads about it or not.
    streams.out.note(*text);
    return kDone;
  }
  streams.err.note(fmt::format("{}: {}\n", kName, terminal_text(text.error().text)));
  return status_of(text.error().code);
}

}  // namespace ebla::tools
