#include "tools/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "tools/places.h"
#include "tools/text.h"

namespace ebla::tools {
namespace {

constexpr std::string_view kWithoutMount =
    "without a mount everything but reading through the file system works: `ebla start --no-mount`";

// mountinfo writes blank, tab, newline and backslash as three octal digits.
std::string unescaped(std::string_view field) {
  constexpr size_t kDigits = 3;
  std::string out;
  for (size_t i = 0; i < field.size(); ++i) {
    const std::string_view digits = field.substr(i + 1, kDigits);
    const bool octal = field[i] == '\\' && digits.size() == kDigits &&
                       digits.find_first_not_of("01234567") == std::string_view::npos;
    if (octal) {
      out += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
      i += kDigits;
    } else {
      out += field[i];
    }
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

bool allows_other(const std::string& fuse_conf) {
  auto text = read_file(fuse_conf, limits::kMiB);
  if (!text) {
    return false;
  }
  return std::ranges::any_of(split(*text, '\n'), [](std::string_view line) {
    line = line.substr(0, line.find('#'));
    const size_t start = line.find_first_not_of(" \t\r");
    const size_t end = line.find_last_not_of(" \t\r");
    return start != std::string_view::npos &&
           line.substr(start, end - start + 1) == "user_allow_other";
  });
}

}  // namespace

Result<void> check_fuse(const Host& host, const Environment& env) {
  const int fd = open(host.device.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0) {
    close(fd);
  } else if (errno == ENOENT) {
    return fail(Code::mount_failed,
                fmt::format("{} does not exist, so nothing can be mounted; in a container start it "
                            "with `--device /dev/fuse --cap-add SYS_ADMIN`, else run `modprobe "
                            "fuse` as root; {}",
                            host.device, kWithoutMount));
  } else if (errno == EPERM || errno == ENODEV || errno == ENXIO) {
    return fail(Code::mount_failed,
                fmt::format("{} is there but may not be used here; in a container start it with "
                            "`--device /dev/fuse --cap-add SYS_ADMIN`; {}",
                            host.device, kWithoutMount));
  } else if (errno == EACCES) {
    // fusermount3 opens it with the rights of the user, too.
    return fail(Code::mount_failed,
                fmt::format("this user may not open {}; as root run `chmod 666 {}`; {}",
                            host.device, host.device, kWithoutMount));
  } else {
    return fail(Code::mount_failed,
                fmt::format("{}; {}", errno_error(errno, "cannot open " + host.device).text,
                            kWithoutMount));
  }
  if (host.uid != 0 && !find_program(env, "fusermount3")) {
    return fail(Code::mount_failed,
                fmt::format("fusermount3 is not installed, and only root mounts without it; run "
                            "`apt install fuse3` as root; {}",
                            kWithoutMount));
  }
  return {};
}

std::vector<std::string> mount_hints(const Host& host, const Environment& env,
                                     const std::vector<std::string>& directories,
                                     bool allow_other) {
  std::vector<std::string> hints;
  const auto helper = host.uid == 0 ? std::nullopt : find_program(env, "fusermount3");
  struct stat program{};
  if (helper && stat(helper->c_str(), &program) == 0 &&
      ((program.st_mode & S_ISUID) == 0 || program.st_uid != 0)) {
    hints.push_back(
        fmt::format("{} can not mount, since it is not setuid root: as root run `chown "
                    "root {} && chmod u+s {}`",
                    *helper, shell_word(*helper), shell_word(*helper)));
  }
  for (const std::string& directory : directories) {
    struct stat info{};
    if (stat(directory.c_str(), &info) != 0 && errno == ENOTCONN) {
      hints.push_back(fmt::format("a dead mount lies at {}: take it away with `{}`", directory,
                                  detach_command(directory, host.uid)));
    }
  }
  if (allow_other && host.uid != 0 && !allows_other(host.fuse_conf)) {
    hints.push_back(
        fmt::format("{} does not allow mounts that others may use: as root run `echo "
                    "user_allow_other >> {}`",
                    host.fuse_conf, host.fuse_conf));
  }
  return hints;
}

std::vector<std::string> mount_directories(const std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--mount";
  std::vector<std::string> directories;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string value;
    if (words[i] == kOption && i + 1 < words.size()) {
      value = words[++i];
    } else if (words[i].starts_with("--mount=")) {
      value = words[i].substr(kOption.size() + 1);
    } else {
      continue;
    }
    const size_t equals = value.find('=');
    const bool subtree = value.starts_with('/') && equals != std::string::npos;
    directories.push_back(subtree ? value.substr(equals + 1) : value);
  }
  return directories;
}

bool ebla_mounted_at(std::string_view mountinfo, std::string_view directory) {
  constexpr size_t kMountPoint = 4;  // fifth field; the type is the first one after " - "
  return std::ranges::any_of(split(mountinfo, '\n'), [&](std::string_view line) {
    const size_t dash = line.find(" - ");
    const auto fields = split(line, ' ');
    return dash != std::string_view::npos && line.substr(dash + 3).starts_with("fuse.ebla ") &&
           fields.size() > kMountPoint && unescaped(fields[kMountPoint]) == directory;
  });
}

std::string detach_command(std::string_view directory, uid_t uid) {
  return uid == 0 ? fmt::format("umount -l {}", shell_word(directory))
                  : fmt::format("fusermount3 -uz {}", shell_word(directory));
}

}  // namespace ebla::tools
