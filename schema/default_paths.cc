#include "schema/default_paths.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "schema/base/hash.h"

namespace ebla {
namespace {

// The base folder specification: a variable that is not an absolute path counts as unset.
std::optional<std::string> folder_variable(const Environment& environment, const char* name) {
  auto value = environment(name);
  if (!value || value->empty() || value->front() != '/') return std::nullopt;
  while (value->size() > 1 && value->back() == '/') value->pop_back();
  return value;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

Result<std::string> default_store_path(const Environment& environment) {
  if (auto state = folder_variable(environment, "XDG_STATE_HOME")) {
    return *state + "/ebla/default.db";
  }
  if (auto home = folder_variable(environment, "HOME")) {
    return *home + "/.local/state/ebla/default.db";
  }
  return fail(Code::bad_configuration,
              "no place for the store: HOME and XDG_STATE_HOME are not set to absolute paths; set "
              "one of them or give --store PATH");
}

std::string default_socket_path(const Environment& environment, uid_t uid) {
  if (auto given = environment("EBLA_SOCKET"); given && !given->empty()) {
    return usable_socket_path(*given, uid);
  }
  if (auto runtime = folder_variable(environment, "XDG_RUNTIME_DIR")) {
    return usable_socket_path(*runtime + "/ebla/default.sock", uid);
  }
  const std::string temporary = folder_variable(environment, "TMPDIR").value_or("/tmp");
  return usable_socket_path(fmt::format("{}/ebla-{}/default.sock", temporary, uid), uid);
}

std::string usable_socket_path(const std::string& path, uid_t uid) {
  if (path.size() <= kSocketPathBytes) return path;
  return fmt::format("/tmp/ebla-{}/{:016x}.sock", uid, xxh3_64(path));
}

std::vector<std::string> default_config_paths(const Environment& environment) {
  std::vector<std::string> paths;
  if (auto config = folder_variable(environment, "XDG_CONFIG_HOME")) {
    paths.push_back(*config + "/ebla/ebla.conf");
  } else if (auto home = folder_variable(environment, "HOME")) {
    paths.push_back(*home + "/.config/ebla/ebla.conf");
  }
  paths.emplace_back("/etc/ebla/ebla.conf");
  return paths;
}

}  // namespace ebla
