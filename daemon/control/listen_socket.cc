#include "daemon/control/listen_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "schema/base/host_path.h"
#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

constexpr size_t kPathBytes = sizeof(sockaddr_un::sun_path) - 1;  // 107 and the closing NUL

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<void> make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT && folder.find('/', 1) != std::string::npos) {
    if (auto above = make_folder(folder_of(folder)); !above) return above;
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  }
  return std::unexpected(errno_error(errno, "make the socket's folder " + folder));
}

// Whoever may write to the folder may put a socket of its own in the place of ours.
Result<UniqueFd> open_folder(const std::string& folder) {
  if (auto made = make_folder(folder); !made) return std::unexpected(made.error());
  auto opened = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (!opened) return std::unexpected(opened.error());
  struct stat status{};
  if (::fstat(opened->get(), &status) != 0) {
    return std::unexpected(errno_error(errno, "stat " + folder));
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fail(Code::permission_denied,
                fmt::format("the socket's folder {} belongs to uid {}, who could replace the "
                            "socket: choose a folder of your own",
                            folder, status.st_uid));
  }
  const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (others_write && (status.st_mode & S_ISVTX) == 0) {
    return fail(Code::permission_denied,
                fmt::format("the socket's folder {} is writable by others, who could replace the "
                            "socket: run chmod go-w {}",
                            folder, folder));
  }
  // Two daemons that start together must not both take a socket for stale. Only where nobody else
  // can open the folder, since a lock held by a stranger would keep us waiting for ever.
  if (status.st_uid == ::geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
    while (::flock(opened->get(), LOCK_EX) != 0) {
      if (errno != EINTR) break;  // no locks on this file system: the check goes on without
    }
  }
  return opened;
}

Error in_use(const std::string& path, int connected) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (connected >= 0 && ::getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
    return {Code::socket_in_use,
            fmt::format("process {} already listens at {}: stop it or choose another socket",
                        peer.pid, path)};
  }
  return {Code::socket_in_use,
          fmt::format("a process already listens at {}: stop it or choose another socket", path)};
}

// Removes a socket at which nobody listens.
Result<void> clear_way(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return std::unexpected(errno_error(errno, "stat " + path));
  }
  if (!S_ISSOCK(status.st_mode)) {
    return fail(Code::already_exists,
                path + " is there and is no socket: move it away or choose another path");
  }
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return std::unexpected(errno_error(errno, "socket"));
  const sockaddr_un address = address_of(path);
  if (::connect(probe.get(), plain(address), sizeof address) == 0) {
    return std::unexpected(in_use(path, probe.get()));
  }
  if (errno == EAGAIN) return std::unexpected(in_use(path, -1));  // it lives, its queue is full
  if (errno == ENOENT) return {};
  if (errno != ECONNREFUSED) {
    return std::unexpected(errno_error(errno, "another program's socket lies at " + path));
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return std::unexpected(errno_error(errno, "remove the stale socket " + path));
  }
  return {};
}

}  // namespace

Result<ListenSocket> ListenSocket::bind(const std::string& path) {
  if (path.empty() || path.ends_with('/') || path.find('\0') != std::string::npos) {
    return fail(Code::invalid_path, "the socket's path must name a file");
  }
  if (path.size() > kPathBytes) {
    return fail(Code::name_too_long,
                fmt::format("the socket's path has {} bytes, {} is the most that the system "
                            "takes: choose a shorter one",
                            path.size(), kPathBytes));
  }
  auto folder = open_folder(folder_of(path));
  if (!folder) return std::unexpected(folder.error());
  if (auto cleared = clear_way(path); !cleared) return std::unexpected(cleared.error());

  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return std::unexpected(errno_error(errno, "socket"));
  // The file takes the mode of the unbound socket: 0600 from its first moment, without changing the
  // umask, which all threads of a process share.
  if (::fchmod(fd.get(), 0600) != 0) return std::unexpected(errno_error(errno, "fchmod socket"));
  const sockaddr_un address = address_of(path);
  if (::bind(fd.get(), plain(address), sizeof address) != 0) {
    if (errno == EADDRINUSE) return std::unexpected(in_use(path, -1));
    return std::unexpected(errno_error(errno, "bind " + path));
  }
  ListenSocket out(std::move(fd), path);
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    return std::unexpected(errno_error(errno, "stat " + path));
  }
  out.device_ = status.st_dev;
  out.inode_ = status.st_ino;
  if (::listen(out.fd(), limits::kListenBacklog) != 0) {
    return std::unexpected(errno_error(errno, "listen at " + path));
  }
  return out;
}

void ListenSocket::close() {
  if (!fd_) return;
  struct stat status{};
  const bool ours = ::lstat(path_.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) &&
                    status.st_dev == device_ && status.st_ino == inode_;
  if (ours) ::unlink(path_.c_str());
  fd_.reset();
}

}  // namespace ebla::daemon
