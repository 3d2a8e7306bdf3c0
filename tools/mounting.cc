#include "tools/mounting.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"
#include "tools/host.h"

namespace ebla::tools {
namespace {

constexpr size_t kMountinfoBytes = 64 * limits::kMiB;

Result<void> check_text(std::string_view text) {
  if (utf8::is_valid(text)) {
    return {};
  }
  return fail(Code::usage, "a folder or subtree whose path is no UTF-8 can not be mounted");
}

std::string params_of(const MountWish& wish) {
  JsonWriter params;
  params.begin_object().member("directory", wish.directory).member("subtree", wish.subtree);
  params.member("read_only", wish.read_only).member("no_exec", wish.no_exec);
  params.member("allow_other", wish.allow_other).end_object();
  return params.take();
}

// Before anything is mounted there: a mount is not asked for its own name.
std::string real_place(const std::string& directory) {
  std::error_code error;
  const auto place = std::filesystem::weakly_canonical(directory, error);
  return error ? directory : place.string();
}

}  // namespace

std::string absolute_directory(std::string_view directory) {
  std::error_code error;
  const auto path = std::filesystem::absolute(directory, error);
  std::string text = error ? std::string(directory) : path.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) {
    text.pop_back();
  }
  return text;
}

Result<MountWish> parse_mount_wish(std::string_view text) {
  MountWish wish;
  std::string_view directory = text;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    if (!text.starts_with('/')) {
      return fail(Code::usage, fmt::format("'{0}': a subtree starts with '/'; a folder with '=' in "
                                           "its path is written '/={0}'",
                                           text));
    }
    wish.subtree = text.substr(0, equals);
    directory = text.substr(equals + 1);
  }
  if (directory.empty()) {
    return fail(Code::usage, "no folder is named: write DIR or SUBTREE=DIR");
  }
  wish.directory = absolute_directory(directory);
  return wish;
}

Result<Reply> add_mount(Client& client, const MountWish& wish) {
  for (const std::string& text : {wish.directory, wish.subtree}) {
    if (auto fit = check_text(text); !fit) {
      return std::unexpected(fit.error());
    }
  }
  const std::string place = real_place(wish.directory);
  auto reply = client.call("mount.add", params_of(wish));
  if (!reply) {
    return reply;
  }
  const auto mountinfo = read_file("/proc/self/mountinfo", kMountinfoBytes);
  if (!mountinfo || ebla_mounted_at(*mountinfo, place)) {
    return reply;
  }
  JsonWriter params;
  params.begin_object().member("directory", wish.directory).end_object();
  const auto undone = client.call("mount.remove", params.take());
  return fail(Code::mount_failed,
              fmt::format("the daemon at {} (process {}) sees other mounts than this process does, "
                          "so what it mounts at {} is not seen here{}; start a daemon with another "
                          "store here, or mount where that one runs",
                          client.socket_path(), client.peer_pid(), wish.directory,
                          undone ? "" : " (and is still there)"));
}

}  // namespace ebla::tools
