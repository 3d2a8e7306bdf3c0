#include "fs/host_mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "fs/fusermount.h"
#include "fs/mountinfo.h"

namespace ebla::fs {
namespace {

constexpr const char* kDevice = "/dev/fuse";
constexpr int kProbePatienceMs = 2000;

std::unexpected<Error> failed(std::string text) {
  return fail(Code::mount_failed, std::move(text));
}

Result<UniqueFd> open_device() {
  UniqueFd fd(::open(kDevice, O_RDWR | O_CLOEXEC));
  if (fd) {
    struct stat info = {};
    constexpr unsigned kMajor = 10;
    constexpr unsigned kMinor = 229;
    const bool ours = fstat(fd.get(), &info) == 0 && S_ISCHR(info.st_mode) &&
                      info.st_rdev == makedev(kMajor, kMinor);
    if (ours) return fd;
    return failed(
        "/dev/fuse is not the FUSE device (character device 10:229): something else lies there; "
        "remove it and run 'mknod /dev/fuse c 10 229' as root, or serve the socket alone with "
        "'--no-mount'");
  }
  switch (errno) {
    case ENOENT:
      return failed(
          "there is no FUSE device on this host: run 'modprobe fuse' as root; in a container start "
          "it with '--device /dev/fuse --cap-add SYS_ADMIN'; or serve the socket alone with "
          "'--no-mount'");
    case ENODEV:
    case ENXIO:
      return failed("the kernel's FUSE driver is not loaded: run 'modprobe fuse' as root");
    case EACCES:
      return failed("no access to /dev/fuse: run 'chmod 666 /dev/fuse' as root");
    case EPERM:
      return failed(
          "this container may not use /dev/fuse: start it with '--device /dev/fuse --cap-add "
          "SYS_ADMIN'");
    default:
      return failed(errno_error(errno, "open /dev/fuse").text);
  }
}

Result<std::string> device_id_at(const std::string& directory) {
  const auto entries = read_mountinfo();
  if (!entries) return std::unexpected(entries.error());
  const MountEntry* top = topmost(*entries, directory);
  if (top == nullptr || top->type != kMountType) {
    return failed(fmt::format("the mount at {} vanished while it was made", directory));
  }
  return top->device;
}

// Whether anybody answers for the mount there. The question is one that no cache answers. A child
// asks it, since the server of a stopped process never answers and only a kill ends the wait.
enum class Pulse : uint8_t { dead, alive, silent };
Pulse pulse_of(const std::string& directory) {
  constexpr int kDead = 1;
  const pid_t pid = fork();
  if (pid < 0) return Pulse::silent;
  if (pid == 0) {
    struct statfs values = {};
    const bool gone =
        ::statfs(directory.c_str(), &values) != 0 && (errno == ENOTCONN || errno == ECONNABORTED);
    _exit(gone ? kDead : 0);
  }
  const UniqueFd child(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended = {.fd = child.get(), .events = POLLIN, .revents = 0};
  const bool answered = child && poll(&ended, 1, kProbePatienceMs) == 1;
  if (!answered) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return Pulse::silent;
  }
  if (!answered) return Pulse::silent;
  return WIFEXITED(status) && WEXITSTATUS(status) == kDead ? Pulse::dead : Pulse::alive;
}

std::string no_right_to_mount() {
  if (geteuid() == 0) {
    return "the right to mount is missing: start the container with '--cap-add SYS_ADMIN --device "
           "/dev/fuse' (and '--security-opt apparmor=unconfined' where AppArmor is on), or mount "
           "outside and bind the folder in";
  }
  return "";
}

bool shows(const MountEntry& entry, const std::string& device_id, const std::string& fsname) {
  return entry.device == device_id && entry.type == kMountType && entry.source == fsname;
}

}  // namespace

Result<HostMount> mount_on_host(const std::string& directory, const HostMountOptions& options) {
  auto device = open_device();
  if (!device) return std::unexpected(std::move(device.error()));
  HostMount out;
  const std::string data =
      fmt::format("fd={},rootmode=40000,user_id={},group_id={},default_permissions{}",
                  device->get(), geteuid(), getegid(), options.allow_other ? ",allow_other" : "");
  unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOATIME;
  if (options.read_only) flags |= MS_RDONLY;
  if (options.no_exec) flags |= MS_NOEXEC;
  if (::mount(options.fsname.c_str(), directory.c_str(), std::string(kMountType).c_str(), flags,
              data.c_str()) == 0) {
    out.device = std::move(*device);
  } else if (errno == EPERM) {
    auto helped = fusermount_mount(directory, options);
    if (!helped) {
      const std::string reason = no_right_to_mount();
      return reason.empty() ? std::unexpected(std::move(helped.error())) : failed(reason);
    }
    out.device = std::move(*helped);
    out.by_helper = true;
  } else if (errno == ENODEV) {
    return failed("the kernel knows no FUSE file system: run 'modprobe fuse' as root");
  } else {
    return failed(errno_error(errno, "mount at " + directory).text);
  }
  auto id = device_id_at(directory);
  if (!id) return std::unexpected(std::move(id.error()));
  out.device_id = std::move(*id);
  return out;
}

Result<void> unmount_from_host(const std::string& directory, const std::string& device_id,
                               bool by_helper, Unmount how) {
  const auto entries = read_mountinfo();
  if (!entries) return std::unexpected(entries.error());
  const MountEntry* top = topmost(*entries, directory);
  if (top == nullptr || top->device != device_id) return {};
  if (by_helper) return fusermount_unmount(directory, how == Unmount::detach);
  const int flags = UMOUNT_NOFOLLOW | (how == Unmount::detach ? MNT_DETACH : 0);
  if (::umount2(directory.c_str(), flags) == 0 || errno == EINVAL) return {};
  if (errno == EPERM) return fusermount_unmount(directory, how == Unmount::detach);
  return std::unexpected(errno_error(errno, "unmount: " + directory));
}

Result<void> clear_stale_mounts(const std::string& directory) {
  // Each round takes one away; more than a few on top of each other are not of our making.
  for (int round = 0; round < 8; ++round) {
    const auto entries = read_mountinfo();
    if (!entries) return std::unexpected(entries.error());
    const MountEntry* top = topmost(*entries, directory);
    if (top == nullptr || !top->type.starts_with("fuse")) return {};
    const bool ours = top->type == kMountType;
    const Pulse pulse = pulse_of(directory);
    if (!ours && pulse == Pulse::alive) return {};
    if (!ours) {
      return failed(fmt::format(
          "a mount of another program ({}) at {} does not answer: run 'fusermount3 -uz {}' (or "
          "'umount -l' as root) or choose another folder",
          top->type, directory, directory));
    }
    if (pulse == Pulse::alive) {
      return failed(fmt::format(
          "{} shows the store {} of a running eblad already: stop that one with 'ebla stop' or "
          "choose another folder",
          directory, top->source));
    }
    if (pulse == Pulse::silent) {
      return failed(
          fmt::format("the eblad that serves {} does not answer: end it, then run 'fusermount3 "
                      "-uz {}'",
                      directory, directory));
    }
    detach_copies(directory, top->device, top->source);
    auto gone = unmount_from_host(directory, top->device, false, Unmount::detach);
    if (!gone) {
      return failed(
          fmt::format("a dead mount of Ebla at {} cannot be removed ({}): run 'umount -l "
                      "{}' as root",
                      directory, gone.error().text, directory));
    }
  }
  return failed(
      fmt::format("dead mounts lie on top of each other at {}: run 'umount -l {}' as root "
                  "until none is left",
                  directory, directory));
}

bool is_mounted(const std::string& device_id, const std::string& fsname) {
  const auto entries = read_mountinfo();
  return !entries || std::ranges::any_of(*entries, [&](const MountEntry& entry) {
    return shows(entry, device_id, fsname);
  });
}

void detach_copies(const std::string& directory, const std::string& device_id,
                   const std::string& fsname) {
  const auto entries = read_mountinfo();
  if (!entries) return;
  for (const MountEntry& entry : *entries) {
    if (!shows(entry, device_id, fsname) || entry.directory == directory) continue;
    ::umount2(entry.directory.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH);
  }
}

}  // namespace ebla::fs
