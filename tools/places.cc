#include "tools/places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <system_error>

#include "schema/base/fd.h"
#include "schema/base/limits.h"

namespace ebla::tools {
namespace {

// Whether a configuration file has a line for one of these keys. One that can not be read is
// eblad's to complain about.
bool has_key(const std::string& path, std::initializer_list<std::string_view> keys) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto text = read_file(path, limits::kMiB);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view key = rest.substr(0, std::min(end, rest.find('=')));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    key.remove_prefix(std::min(key.find_first_not_of(kSpace), key.size()));
    key = key.substr(0, key.find_last_not_of(kSpace) + 1);
    if (std::ranges::find(keys, key) != keys.end()) {
      return true;
    }
  }
  return false;
}

bool executable(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string socket_path(const Arguments& args, const Environment& env) {
  return args.socket ? usable_socket_path(*args.socket, geteuid())
                     : default_socket_path(env, geteuid());
}

Result<Client> open_client(const Call& call) {
  auto client = Client::connect(call.socket);
  if (!client) {
    return client;
  }
  const auto named = call.env("EBLA_SOCKET");
  const bool chosen = call.args.socket || (named && !named->empty());
  const uid_t owner = client->peer_uid();
  if (!chosen && owner != geteuid() && owner != 0) {
    return fail(Code::permission_denied,
                fmt::format("the daemon at {} belongs to user {}, who may have put it there to "
                            "read what you send; name the socket with --socket if you trust it",
                            call.socket, owner));
  }
  return client;
}

std::optional<std::string> passed_value(const std::vector<std::string>& words,
                                        std::string_view name) {
  const std::string option = fmt::format("--{}", name);
  std::optional<std::string> value;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) {
      value = words[++i];
    } else if (words[i].starts_with(option + "=")) {
      value = words[i].substr(option.size() + 1);
    }
  }
  return value;
}

bool passed_flag(const std::vector<std::string>& words, std::string_view name) {
  const std::string option = fmt::format("--{}", name);
  for (const std::string& word : words) {
    if (word == option || word.starts_with(option + "=")) {
      return true;
    }
  }
  return false;
}

bool mounts_are_said(const std::vector<std::string>& words, const Environment& env) {
  if (passed_flag(words, "mount") || passed_flag(words, "no-mount") || env("EBLA_MOUNT") ||
      env("EBLA_NO_MOUNT")) {
    return true;
  }
  auto file = passed_value(words, "config");
  if (!file) {
    file = env("EBLA_CONFIG");
  }
  const auto files = file ? std::vector{*file} : default_config_paths(env);
  return std::ranges::any_of(
      files, [](const std::string& path) { return has_key(path, {"mount", "no-mount"}); });
}

std::optional<std::string> find_program(const Environment& env, std::string_view name) {
  const std::string folders = env("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  size_t start = 0;
  while (start <= folders.size()) {
    const size_t end = std::min(folders.find(':', start), folders.size());
    // An empty element means the current folder, which is no place to trust.
    if (end > start) {
      std::string path = fmt::format("{}/{}", folders.substr(start, end - start), name);
      if (executable(path)) {
        return path;
      }
    }
    start = end + 1;
  }
  return std::nullopt;
}

Result<std::string> find_daemon(const Environment& env) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto folder = self.parent_path();
    for (const auto& path : {folder / "eblad", folder.parent_path() / "daemon" / "eblad"}) {
      if (executable(path)) {
        return path.string();
      }
    }
  }
  if (auto found = find_program(env, "eblad")) {
    return *found;
  }
  return fail(Code::bad_configuration,
              "eblad is not installed: it is neither beside ebla nor in PATH; install it, or add "
              "its folder to PATH");
}

std::string log_path(std::string_view store) {
  if (store.ends_with(".db")) {
    store.remove_suffix(3);
  }
  return fmt::format("{}.log", store);
}

}  // namespace ebla::tools
