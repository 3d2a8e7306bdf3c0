#include "fs/mount_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "fs/mountinfo.h"
#include "schema/base/host_path.h"

namespace ebla::fs {
namespace {

constexpr mode_t kMadeMode = 0700;
constexpr mode_t kBareMode = 0555;
constexpr mode_t kOwnerAccess = 0700;

std::unexpected<Error> failed(std::string text) {
  return fail(Code::mount_failed, std::move(text));
}

Result<bool> is_empty(const UniqueFd& folder) {
  const int copy = openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = copy < 0 ? nullptr : fdopendir(copy);
  if (dir == nullptr) return std::unexpected(errno_error(errno, "list the mount folder"));
  bool empty = true;
  while (const dirent* entry = readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): own stream
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") empty = false;
  }
  closedir(dir);
  return empty;
}

}  // namespace

Result<MountFolder> MountFolder::prepare(const std::string& directory) {
  MountFolder out;
  if (::mkdir(directory.c_str(), kMadeMode) == 0) {
    out.made_ = true;
  } else if (errno == ENOENT) {
    const std::string parent = folder_of(directory);
    return failed(fmt::format("the folder {} does not exist: run 'mkdir -p {}'", parent, parent));
  } else if (errno == ENOTDIR) {
    return failed(fmt::format("a part of {} is not a folder: choose another path", directory));
  } else if (errno == ENOTCONN) {
    return failed(
        fmt::format("{} lies in a dead mount: find it with 'findmnt -T {}' and run "
                    "'umount -l' on it as root",
                    directory, directory));
  } else if (errno != EEXIST && errno != EROFS && errno != EACCES && errno != EPERM) {
    return failed(errno_error(errno, "make the folder " + directory).text);
  }
  out.fd_ = UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.fd_) {
    const int error = errno;
    if (error == ENOTDIR || error == ELOOP) {
      return failed(fmt::format("{} is not a folder: choose another path", directory));
    }
    if (error == ENOENT) {
      return failed(
          fmt::format("the folder {} does not exist and cannot be made here: run 'mkdir "
                      "-p {}' as its owner",
                      directory, directory));
    }
    if (error == EACCES) {
      return failed(
          fmt::format("no access to {}: run 'chmod u+rwx {}' as its owner", directory, directory));
    }
    return failed(errno_error(error, "open the folder " + directory).text);
  }
  out.path_ = resolved_path(directory);
  const auto empty = is_empty(out.fd_);
  if (!empty) return std::unexpected(empty.error());
  if (!*empty) {
    return failed(
        fmt::format("{} is not empty, and a mount would hide what is in it: choose an "
                    "empty folder, or one that does not exist yet",
                    directory));
  }
  // fusermount3 wants a folder that its user may write. A folder of another owner stays as it is.
  struct stat info = {};
  if (fstat(out.fd_.get(), &info) == 0 && (info.st_mode & kOwnerAccess) != kOwnerAccess) {
    fchmod(out.fd_.get(), (info.st_mode & 07777) | kOwnerAccess);
  }
  return out;
}

void MountFolder::protect() const {
  fchmod(fd_.get(), kBareMode);
}

void MountFolder::abandon() const {
  if (!made_) return;
  struct stat bare = {};
  struct stat there = {};
  // Somebody else's mount or folder may stand there now.
  if (fstat(fd_.get(), &bare) != 0 || lstat(path_.c_str(), &there) != 0) return;
  if (bare.st_dev == there.st_dev && bare.st_ino == there.st_ino) ::rmdir(path_.c_str());
}

std::string resolved_path(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::weakly_canonical(path, error);
  return clean_path(error ? path : whole.string());
}

}  // namespace ebla::fs
