#include "daemon/control/listen_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/daemon/control_fixture.h"

namespace ebla::daemon {
namespace {

class ListenSocketTest : public ::testing::Test {
 protected:
  std::string in(std::string_view name) const { return folder_.path() + "/" + std::string(name); }

  static mode_t mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  static Error refusal(const std::string& path) {
    auto bound = ListenSocket::bind(path);
    EXPECT_FALSE(bound.has_value()) << path;
    return bound ? Error{Code::usage, ""} : bound.error();
  }

  // As a process leaves it that was killed.
  static void leave_stale(const std::string& path) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const auto* plain = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(::bind(fd.get(), plain, sizeof address), 0);
  }

  TempFolder folder_;
};

TEST_F(ListenSocketTest, MakesFolderAndSocketPrivate) {
  const mode_t before = ::umask(0);
  auto bound = ListenSocket::bind(in("run/ebla/a.sock"));
  ::umask(before);
  ASSERT_TRUE(bound.has_value()) << bound.error().text;
  EXPECT_EQ(mode_of(in("run")), 0700u);
  EXPECT_EQ(mode_of(in("run/ebla")), 0700u);
  EXPECT_EQ(mode_of(in("run/ebla/a.sock")), 0600u);
  bound->close();
  EXPECT_FALSE(std::filesystem::exists(in("run/ebla/a.sock")));
}

TEST_F(ListenSocketTest, TakesPathsUpToTheLimit) {
  const std::string at_most = in(std::string(107 - in("").size(), 's'));
  ASSERT_EQ(at_most.size(), 107u);
  EXPECT_TRUE(ListenSocket::bind(at_most).has_value());
  for (const size_t more : {1u, 93u}) {
    const Error error = refusal(at_most + std::string(more, 's'));
    EXPECT_EQ(error.code, Code::name_too_long);
    EXPECT_NE(error.text.find("107"), std::string::npos) << error.text;
    EXPECT_NE(error.text.find(std::to_string(107 + more)), std::string::npos) << error.text;
  }
  EXPECT_EQ(refusal("").code, Code::invalid_path);
  EXPECT_EQ(refusal(in("")).code, Code::invalid_path);
  EXPECT_EQ(refusal(in(std::string("a\0b", 3))).code, Code::invalid_path);
}

TEST_F(ListenSocketTest, ReplacesAStaleSocket) {
  leave_stale(in("a.sock"));
  auto bound = ListenSocket::bind(in("a.sock"));
  ASSERT_TRUE(bound.has_value()) << bound.error().text;
  Client client(in("a.sock"));
}

TEST_F(ListenSocketTest, LeavesALiveOneAlone) {
  auto first = ListenSocket::bind(in("a.sock"));
  ASSERT_TRUE(first.has_value());
  const Error error = refusal(in("a.sock"));
  EXPECT_EQ(error.code, Code::socket_in_use);
  EXPECT_NE(error.text.find(std::to_string(::getpid())), std::string::npos) << error.text;
  Client client(in("a.sock"));
}

TEST_F(ListenSocketTest, TouchesNothingElse) {
  ASSERT_TRUE(write_full(open_file(in("file"), O_WRONLY | O_CREAT, 0600)->get(), "kept"));
  EXPECT_EQ(refusal(in("file")).code, Code::already_exists);
  EXPECT_EQ(read_file(in("file"), 100), "kept");
  std::filesystem::create_directory(in("folder"));
  EXPECT_EQ(refusal(in("folder")).code, Code::already_exists);
  std::filesystem::create_symlink("file", in("link"));
  EXPECT_EQ(refusal(in("link")).code, Code::already_exists);
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(in("pipe")).code, Code::already_exists);
}

TEST_F(ListenSocketTest, LeavesAnotherProgramsSocketAlone) {
  const UniqueFd other(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = in("datagram");
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(other.get(), plain, sizeof address), 0);
  const Error error = refusal(path);
  EXPECT_NE(error.text.find("another program"), std::string::npos) << error.text;
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ListenSocketTest, RefusesAFolderWhereOthersWrite) {
  for (const mode_t mode : {0777u, 0770u, 0722u}) {
    ASSERT_EQ(::chmod(folder_.path().c_str(), mode), 0);
    const Error error = refusal(in("a.sock"));
    EXPECT_EQ(error.code, Code::permission_denied);
    EXPECT_NE(error.text.find("chmod go-w"), std::string::npos) << error.text;
  }
  // Sticky: others may add files, not replace ours.
  ASSERT_EQ(::chmod(folder_.path().c_str(), 01777), 0);
  EXPECT_TRUE(ListenSocket::bind(in("a.sock")).has_value());
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_TRUE(ListenSocket::bind(in("a.sock")).has_value());
}

TEST_F(ListenSocketTest, RefusesAForeignFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(folder_.path().c_str(), 65534, 65534), 0);
  const Error error = refusal(in("a.sock"));
  EXPECT_EQ(error.code, Code::permission_denied);
  EXPECT_NE(error.text.find("65534"), std::string::npos) << error.text;
}

TEST_F(ListenSocketTest, SaysWhatIsWrongWithTheFolder) {
  ASSERT_TRUE(open_file(in("file"), O_WRONLY | O_CREAT, 0600).has_value());
  const Error error = refusal(in("file/a.sock"));
  EXPECT_EQ(error.code, Code::not_directory);
  EXPECT_NE(error.text.find(in("file")), std::string::npos) << error.text;
}

TEST_F(ListenSocketTest, RemovesOnlyItsOwnFile) {
  auto first = ListenSocket::bind(in("a.sock"));
  ASSERT_TRUE(first.has_value());
  std::filesystem::remove(in("a.sock"));
  auto second = ListenSocket::bind(in("a.sock"));
  ASSERT_TRUE(second.has_value());
  first->close();
  Client client(in("a.sock"));
}

}  // namespace
}  // namespace ebla::daemon
