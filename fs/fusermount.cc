#include "fs/fusermount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace ebla::fs {
namespace {

constexpr int kChildChannel = 3;
constexpr size_t kMessageBytes = 4096;

std::unexpected<Error> failed(std::string text) {
  return fail(Code::mount_failed, std::move(text));
}

// Fixed places, not the PATH: what runs here mounts in our name. Empty: in none.
std::string find_helper() {
  for (const char* candidate : {"/usr/bin/fusermount3", "/bin/fusermount3",
                                "/usr/local/bin/fusermount3", "/run/wrappers/bin/fusermount3"}) {
    if (access(candidate, X_OK) == 0) return candidate;
  }
  return "";
}

struct Run {
  int status = 0;       // of waitpid
  std::string message;  // what it wrote to stderr, one line
};

// `channel` becomes descriptor 3 of the helper; -1: none.
Result<Run> run_helper(const std::string& helper, std::vector<std::string> words, int channel) {
  std::array<int, 2> pipe_fds{};
  if (pipe2(pipe_fds.data(), O_CLOEXEC) != 0) return std::unexpected(errno_error(errno, "pipe"));
  UniqueFd from_child(pipe_fds[0]);
  UniqueFd to_parent(pipe_fds[1]);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, to_parent.get(), STDERR_FILENO);
  if (channel >= 0) posix_spawn_file_actions_adddup2(&actions, channel, kChildChannel);

  words.insert(words.begin(), helper);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string channel_text = fmt::format("_FUSE_COMMFD={}", kChildChannel);
  std::string locale = "LC_ALL=C";
  std::array<char*, 3> environment{channel_text.data(), locale.data(), nullptr};
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, helper.c_str(), &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::unexpected(errno_error(error, "run " + helper));

  to_parent.reset();
  Run run;
  run.message.resize(kMessageBytes);
  const auto n = read_full(from_child.get(), run.message.data(), run.message.size());
  run.message.resize(n.value_or(0));
  while (run.message.ends_with('\n')) run.message.pop_back();
  while (waitpid(pid, &run.status, 0) < 0) {
    if (errno != EINTR) break;  // somebody else collected it
  }
  return run;
}

UniqueFd receive_descriptor(int channel) {
  char byte = 0;
  iovec part = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = 0;
  do {
    n = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  const cmsghdr* header = n <= 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return UniqueFd(fd);
}

// What of the helper's words an ordinary user can act on.
std::string explain(const std::string& helper, const std::string& directory,
                    const std::string& message) {
  struct stat info = {};
  if (message.find("user_allow_other") != std::string::npos) {
    return "other users may only be let in if /etc/fuse.conf says so: run 'echo user_allow_other "
           ">> "
           "/etc/fuse.conf' as root, or leave out --allow-other";
  }
  if (stat(helper.c_str(), &info) == 0 && geteuid() != 0 &&
      ((info.st_mode & S_ISUID) == 0 || info.st_uid != 0)) {
    return fmt::format(
        "{} has lost its right to mount: run 'chown root {} && chmod u+s {}' as root", helper,
        helper, helper);
  }
  if (message.find("no write access") != std::string::npos) {
    return fmt::format(
        "{} is not yours to mount on: choose a folder of yours or run 'chown {} {}' "
        "as root",
        directory, getuid(), directory);
  }
  if (message.find("Operation not permitted") != std::string::npos) {
    return fmt::format(
        "fusermount3 may not mount here ({}): a sandbox took its rights (no_new_privs) or the "
        "container lacks SYS_ADMIN; mount outside and bind {} in",
        message, directory);
  }
  return fmt::format("fusermount3 refused {}: {}", directory,
                     message.empty() ? "no reason given" : message);
}

std::string escape_option(const std::string& value) {
  std::string out;
  for (const char c : value) {
    if (c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Result<UniqueFd> fusermount_mount(const std::string& directory, const HostMountOptions& options) {
  const std::string helper = find_helper();
  if (helper.empty()) {
    return failed("fusermount3 is not installed: run 'apt install fuse3' as root");
  }
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::unexpected(errno_error(errno, "socketpair"));
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  std::string words = "nosuid,nodev,noatime,default_permissions,subtype=ebla,fsname=";
  words += escape_option(options.fsname);
  if (options.allow_other) words += ",allow_other";
  if (options.read_only) words += ",ro";
  if (options.no_exec) words += ",noexec";
  const auto run = run_helper(helper, {"-o", words, "--", directory}, theirs.get());
  theirs.reset();
  if (!run) return std::unexpected(run.error());
  UniqueFd device = receive_descriptor(ours.get());
  if (!device) return failed(explain(helper, directory, run->message));
  return device;
}

Result<void> fusermount_unmount(const std::string& directory, bool lazily) {
  const std::string helper = find_helper();
  if (helper.empty()) {
    return failed("fusermount3 is not installed: run 'apt install fuse3' as root");
  }
  const auto run = run_helper(helper, {lazily ? "-uz" : "-u", "--", directory}, -1);
  if (!run) return std::unexpected(run.error());
  if (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 0) return {};
  if (run->message.find("busy") != std::string::npos) {
    return fail(Code::busy, fmt::format("{} is in use", directory));
  }
  return failed(run->message);
}

}  // namespace ebla::fs
