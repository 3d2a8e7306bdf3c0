// What a failed start says, and with which status; and the starts that must work anyway.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>

#include "tests/daemon/eblad_fixture.h"

namespace ebla::daemon {
namespace {

class EbladStartTest : public EbladFixture {
 protected:
  // One line, the status, and no trace of a store that was not there before.
  void expect_refused(Eblad::Setup setup, int status, std::vector<std::string> words) {
    Eblad eblad(std::move(setup));
    EXPECT_FALSE(eblad.ready());
    EXPECT_EQ(eblad.wait(), status) << eblad.log();
    EXPECT_EQ(std::ranges::count(eblad.log(), '\n'), 1) << eblad.log();
    for (const std::string& word : words) {
      EXPECT_NE(eblad.log().find(word), std::string::npos) << eblad.log() << "lacks " << word;
    }
  }
};

// A /dev that has null and nothing else, seen by this process alone.
void hide_the_device(const std::string& folder) {
  ::mkdir(folder.c_str(), 0755);
  ::mknod((folder + "/null").c_str(), S_IFCHR | 0666, makedev(1, 3));
  ::mknod((folder + "/urandom").c_str(), S_IFCHR | 0666, makedev(1, 9));
  const bool hidden = ::unshare(CLONE_NEWNS) == 0 &&
                      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      ::mount(folder.c_str(), "/dev", nullptr, MS_BIND, nullptr) == 0;
  if (!hidden) ::_exit(126);
}

TEST_F(EbladStartTest, WithoutTheDeviceTheSocketStillServesAll) {
  EBLA_NEED_ROOT();
  const auto hide = [dev = folder_ / "dev"] { hide_the_device(dev); };
  Eblad::Setup setup = mounted();
  setup.in_child = hide;
  expect_refused(setup, kExitMountFailed, {"/dev/fuse"});
  setup = unmounted();
  setup.in_child = hide;
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const Json gone = client.must("evict", evict_params("c"), {kit::prose(90'000)});
  EXPECT_EQ(gone.find("host_path"), nullptr);
  EXPECT_EQ(read_all(client, text_of(gone, "path")), kit::prose(90'000));
}

TEST_F(EbladStartTest, MountFoldersThatDoNotFit) {
  EBLA_NEED_DEVICE();
  Eblad::Setup setup = unmounted();
  std::ofstream(folder_ / "plain") << "x";
  setup.arguments = {"--mount", folder_ / "plain"};
  expect_refused(setup, kExitMountFailed, {folder_ / "plain"});
  std::ofstream(mount_ + "/file") << "x";
  expect_refused(mounted(), kExitMountFailed, {mount_});
  ASSERT_EQ(::unlink((mount_ + "/file").c_str()), 0);
  // After a refusal nothing is held: the next start works.
  Eblad eblad(mounted());
  EXPECT_TRUE(eblad.ready()) << eblad.log();
}

TEST_F(EbladStartTest, AMountThatAKilledDaemonLeftIsTakenAway) {
  EBLA_NEED_DEVICE();
  {
    Eblad eblad(mounted());
    ASSERT_TRUE(eblad.ready()) << eblad.log();
    eblad.kill_hard();
  }
  Eblad eblad(mounted());
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  EXPECT_EQ(kit::shell("ls " + mount_).output, "conversation_history\nlarge_tool_results\n");
  const std::string mounts = whole_file("/proc/self/mountinfo");
  const size_t first = mounts.find(mount_);
  EXPECT_EQ(mounts.find(mount_, first + 1), std::string::npos) << mounts;
}

TEST_F(EbladStartTest, UnfitOptions) {
  Eblad::Setup setup = unmounted();
  setup.arguments = {"--threads", "1000"};
  expect_refused(setup, kExitBadConfiguration, {"--threads", "1000", "0 to 64"});
  setup.arguments = {"--nonsense"};
  expect_refused(setup, kExitUsage, {"nonsense", "--help"});
  setup.arguments = {"--ready-fd", "9999"};
  expect_refused(setup, kExitBadConfiguration, {"9999"});
  setup = unmounted();
  setup.environment = {{"EBLA_TOOL_RESULT_TOKENS", "0"}};
  expect_refused(setup, kExitBadConfiguration, {"EBLA_TOOL_RESULT_TOKENS", "1 to"});
  EXPECT_NE(::access(store_.c_str(), F_OK), 0);
}

TEST_F(EbladStartTest, FilesThatAreNoStore) {
  const std::string foreign = folder_ / "foreign.db";
  std::ofstream(foreign) << "this is a diary, not a database\n";
  Eblad::Setup setup = unmounted();
  setup.store = foreign;
  expect_refused(setup, kExitStoreForeign, {"foreign.db"});
  EXPECT_EQ(whole_file(foreign), "this is a diary, not a database\n");
}

TEST_F(EbladStartTest, AStoreFolderThatIsNotWritable) {
  EBLA_NEED_ROOT();
  const std::string locked = folder_ / "locked";
  ASSERT_EQ(::mkdir(locked.c_str(), 0500), 0);
  ASSERT_EQ(::chown(locked.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  Eblad::Setup setup = unmounted();
  setup.store = locked + "/store.db";
  setup.in_child = [] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(126);
  };
  setup.socket = folder_ / "nobody/s.sock";
  expect_refused(setup, kExitDenied, {});
}

TEST_F(EbladStartTest, AReadOnlyFileSystem) {
  EBLA_NEED_ROOT();
  const std::string disk = folder_ / "disk";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  Eblad::Setup setup = unmounted();
  setup.store = disk + "/store.db";
  setup.in_child = [disk] {
    const bool done = ::unshare(CLONE_NEWNS) == 0 &&
                      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      ::mount("none", disk.c_str(), "tmpfs", MS_RDONLY, "size=1m") == 0;
    if (!done) ::_exit(126);
  };
  expect_refused(setup, code_info(Code::read_only).exit_status, {"read-only"});
}

TEST_F(EbladStartTest, AnotherUserIsRefusedByTheSocketAndTheMount) {
  EBLA_NEED_ROOT();
  EBLA_NEED_DEVICE();
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  Eblad::Setup setup = mounted();
  setup.arguments.insert(setup.arguments.end(), {"--allow-uid", "65533"});
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  Client client(socket_);
  const Json gone = client.must("evict", evict_params("c"), {kit::prose(90'000)});
  // The modes alone would keep them out; the check of the peer must hold by itself.
  ASSERT_EQ(::chmod((folder_ / "run").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(socket_.c_str(), 0666), 0);
  EXPECT_EQ(as_user(65534,
                    [&] {
                      Client stranger(socket_);
                      return stranger.call("status", "{}").error == "closed" ? 0 : 1;
                    }),
            0);
  EXPECT_EQ(as_user(65534, [&] { return ::access(mount_.c_str(), R_OK) == 0 ? 1 : 0; }), 0);
  EXPECT_EQ(as_user(65533,
                    [&] {
                      Client guest(socket_);
                      const std::string path = json_string(text_of(gone, "path"));
                      const auto theirs = guest.call("fs.read", "{\"path\":" + path + "}");
                      if (theirs.error != "permission_denied") return 1;
                      const auto own = guest.call("evict", R"({"content":"mine","force":true})");
                      return own.result ? 0 : 2;
                    }),
            0);
}

TEST_F(EbladStartTest, StandardDescriptorsThatAreClosedStayHarmless) {
  Eblad::Setup setup = unmounted();
  setup.in_child = [] {
    ::close(0);
    ::close(1);
  };
  Eblad eblad(setup);
  ASSERT_TRUE(eblad.ready()) << eblad.log();
  const std::string fds = "/proc/" + std::to_string(eblad.pid()) + "/fd/";
  EXPECT_EQ(kit::shell("readlink " + fds + "0 " + fds + "1").output, "/dev/null\n/dev/null\n");
}

}  // namespace
}  // namespace ebla::daemon
