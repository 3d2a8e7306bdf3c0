// mount(8) and fstab with the real programs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "tests/kit/private_mounts.h"
#include "tests/kit/shell.h"
#include "tests/kit/temp_dir.h"
#include "tools/host.h"

namespace ebla::tools {
namespace {

using kit::shell;
using testing::AllOf;
using testing::HasSubstr;

// mount(8) looks for its helpers in /sbin alone: this process sees one more there.
std::string place_helper() {
  static kit::TempDir folder("sbin");
  const char* build = std::getenv("EBLAD_FOLDER");
  if (build == nullptr) return "the build says where eblad is";
  if (access("/dev/fuse", R_OK | W_OK) != 0) return "/dev/fuse can not be used here";
  if (geteuid() != 0 || !kit::keep_mounts_private()) return "needs the right to mount";
  const auto placed =
      shell("ln -s " + std::string(build) + "/../tools/ebla " + (folder / "mount.fuse.ebla") +
            " && s=$(readlink -f /sbin) && mount -t overlay overlay -o lowerdir=" + folder.path() +
            ":$s $s");
  return placed.status == 0 ? "" : "nothing can be laid over /sbin: " + placed.output;
}

class LiveMountTest : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string kWhy = place_helper();
    if (!kWhy.empty()) GTEST_SKIP() << kWhy;
  }
  void TearDown() override {
    const auto mountinfo = read_file("/proc/self/mountinfo", limits::kMiB).value_or("");
    EXPECT_EQ(mountinfo.find(folder_.path()), std::string::npos) << mountinfo;
    if (holder() > 0 && !ended()) kill(holder(), SIGKILL);
  }

  // With this test's own default socket.
  kit::ShellResult run(const std::string& command) const {
    return shell("export HOME=" + folder_.path() + " XDG_RUNTIME_DIR=" + folder_.path() +
                 "; unset EBLA_SOCKET; cd " + folder_.path() + "; " + command);
  }
  kit::ShellResult mount(const std::string& directory, const std::string& options = "rw") const {
    return run("mount -t fuse.ebla " + store_ + " " + directory + " -o " + options);
  }
  void expect_mounted(const kit::ShellResult& done) const {
    EXPECT_EQ(done.status, 0) << done.output
                              << read_file(folder_ / "x.log", limits::kMiB).value_or("");
  }
  pid_t holder(const std::string& name = "x.db") const {
    return std::atoi(read_file(folder_ / (name + ".lock"), 100).value_or("0").c_str());
  }
  bool ended() const {
    auto lock = open_file(store_ + ".lock", O_RDONLY);
    return !lock || flock(lock->get(), LOCK_EX | LOCK_NB) == 0;
  }
  // Waits for the end of the daemon: it holds the lock until then.
  void expect_end(const std::string& name = "x.db") const {
    auto lock = open_file(folder_ / (name + ".lock"), O_RDONLY);
    ASSERT_TRUE(lock);
    EXPECT_EQ(flock(lock->get(), LOCK_EX), 0);
  }
  std::string in(const std::string& name) const { return folder_ / name; }

  kit::TempDir folder_{"mount8"};
  std::string store_ = folder_ / "x.db";
};

TEST_F(LiveMountTest, ADaemonIsStartedAndEndsWithItsLastMount) {
  expect_mounted(mount(in("m"), "rw,nosuid,noauto,user=root,_netdev,x-a.b=1,comment=hi"));
  EXPECT_EQ(run("findmnt -no SOURCE,FSTYPE " + in("m")).output, store_ + " fuse.ebla\n");
  EXPECT_EQ(run("echo text > m/file && ls m").output,
            "conversation_history\nfile\nlarge_tool_results\n");
  EXPECT_EQ(run("umount m").output, "");
  expect_end();
  EXPECT_FALSE(std::filesystem::exists(in("m"))) << "it was made, so it goes";
  expect_mounted(mount(in("m"), "ro,noexec,allow_other"));
  EXPECT_EQ(run("cat m/file").output, "text\n");
  EXPECT_THAT(run("echo more > m/file").output, HasSubstr("Read-only file system"));
  EXPECT_THAT(run("findmnt -no OPTIONS m").output,
              AllOf(HasSubstr("ro,"), HasSubstr("noexec"), HasSubstr("allow_other")));
  EXPECT_EQ(run("umount m").output, "");
  expect_end();
}

// The kernel gives the lowest free number to the next mount, whoever makes it.
TEST_F(LiveMountTest, TheNumberOfAMountThatWentIsTakenAtOnce) {
  expect_mounted(mount(in("m"), "rw"));
  const pid_t daemon = holder();
  const std::string number = run("findmnt -no MAJ:MIN m").output;
  ASSERT_EQ(kill(daemon, SIGSTOP), 0);
  ASSERT_EQ(::umount2(in("m").c_str(), 0), 0);  // umount(8) asks the daemon first
  expect_mounted(run("mkdir r && XDG_RUNTIME_DIR=$PWD/r mount -t fuse.ebla y.db " + in("n")));
  const bool same = run("findmnt -no MAJ:MIN n").output == number;
  ASSERT_EQ(kill(daemon, SIGCONT), 0);
  expect_end();
  EXPECT_EQ(run("ls n").output, "conversation_history\nlarge_tool_results\n");
  EXPECT_EQ(run("umount n").output, "");
  expect_end("y.db");
  if (!same) GTEST_SKIP() << "another program has made a mount in between";
}

TEST_F(LiveMountTest, LinesOfFstab) {
  const std::string lines = store_ + " " + in("a") + " fuse.ebla defaults,nofail 0 0\n" + store_ +
                            " " + in("b") +
                            " fuse.ebla noauto,ro,subtree=/large_tool_results 0 0\n" + in("y.db") +
                            " " + in("c") + " fuse.ebla x-systemd.requires=none 0 0\n";
  auto fstab = open_file(in("fstab"), O_WRONLY | O_CREAT, 0600);
  ASSERT_TRUE(fstab && write_full(fstab->get(), lines));
  expect_mounted(run("mount -T fstab -a"));
  expect_mounted(run("mount -T fstab " + in("b")));
  expect_mounted(run("mount -T fstab -a"));
  EXPECT_EQ(run("findmnt -rno TARGET -t fuse.ebla | grep " + folder_.path() + " | sort").output,
            in("a") + "\n" + in("b") + "\n" + in("c") + "\n");
  EXPECT_EQ(run("ls b; ls c; touch a/x; touch b/x 2>/dev/null || echo no").output,
            "conversation_history\nlarge_tool_results\nno\n");
  EXPECT_NE(run("readlink a/.ebla/socket").output, run("readlink c/.ebla/socket").output);
  // One goes, the others stay in order.
  const pid_t daemon = holder();
  EXPECT_EQ(run("umount a && ls b").output, "");
  expect_mounted(run("mount -T fstab -a"));
  EXPECT_EQ(holder(), daemon);
  EXPECT_EQ(run("ls a").output, "conversation_history\nlarge_tool_results\nx\n");
  EXPECT_EQ(run("umount a b c").output, "");
  expect_end();
  expect_end("y.db");
}

TEST_F(LiveMountTest, ManyAtOnceShareOneDaemon) {
  std::string all;
  for (int i = 0; i < 6; ++i) {
    all += "mount -t fuse.ebla " + store_ + " " + in("m" + std::to_string(i)) + " & ";
  }
  EXPECT_EQ(run(all + "wait").output, "");
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(run("ls m" + std::to_string(i) + "/ | wc -l").output, "2\n");
  }
  // One is taken away while the next comes: whichever daemon it finds, it stands.
  EXPECT_EQ(run("umount m0 m1 m2 m3 m4").output, "");
  for (int i = 0; i < 10; ++i) {
    const std::string old = "m" + std::to_string(5 + i);
    const std::string next = "m" + std::to_string(6 + i);
    EXPECT_EQ(run("umount " + old + " & mount -t fuse.ebla " + store_ + " " + in(next) +
                  "; s=$?; wait; ls " + next + "/ | wc -l; exit $s")
                  .output,
              "2\n");
  }
  EXPECT_EQ(run("umount m15").output, "");
  expect_end();
}

struct Refusal {
  std::string directory;
  std::string options;
  int status;
  std::string says;
};

TEST_F(LiveMountTest, RefusalsSayWhyAndLeaveNothing) {
  ASSERT_EQ(run("touch file && mkdir full && touch full/x").status, 0);
  const Refusal table[] = {
      {in("file"), "rw", 32, "is not a folder"},
      {in("full"), "rw", 32, "is not empty"},
      {in("no/such"), "rw", 32, "mkdir -p " + in("no")},
      {folder_.path(), "rw", 32, "would cover " + store_},
      {in("m"), "subtree=/absent", 32, "/absent"},
      {in("m"), "subtree=absent", 1, "begins with '/'"},
      {in("m"), "foo=1", 1, "'foo'"},
      {in("m"), "config=/no/such.conf", 1, "/no/such.conf"},
  };
  for (const Refusal& row : table) {
    const auto done = mount(row.directory, row.options);
    EXPECT_EQ(done.status, row.status) << row.directory << " " << done.output;
    EXPECT_THAT(done.output, HasSubstr(row.says)) << row.directory;
    if (std::filesystem::exists(store_ + ".lock")) expect_end();
  }
  store_ = in("none/x.db");
  const auto done = mount(in("m"));
  EXPECT_EQ(done.status, 32);
  EXPECT_THAT(done.output, HasSubstr("mkdir -p " + in("none")));
}

TEST_F(LiveMountTest, ABusyOneAndOneThatIsThereAlready) {
  expect_mounted(mount(in("m")));
  const auto again = mount(in("m"));
  EXPECT_EQ(again.status, 32);
  EXPECT_THAT(again.output, HasSubstr("mounted already"));
  const auto below = mount(in("m/large_tool_results"));
  EXPECT_EQ(below.status, 32);
  EXPECT_THAT(below.output, HasSubstr("overlap"));
  const std::string build = std::getenv("EBLAD_FOLDER");
  const std::string ebla = build + "/../tools/ebla ";
  EXPECT_EQ(run("ls m | wc -l; cd m && umount ../m 2>/dev/null || echo busy").output, "2\nbusy\n");
  const auto busy = run("cd m && " + ebla + "unmount ../m");
  EXPECT_EQ(busy.status, kExitRetry) << busy.output;
  EXPECT_THAT(busy.output, HasSubstr("fuser -vm"));
  EXPECT_THAT(run(ebla + "mount /large_tool_results=n").output, HasSubstr("is mounted at"));
  EXPECT_EQ(run("ls n").output, "");
  EXPECT_THAT(run(ebla + "unmount n").output, HasSubstr("no longer mounted"));
  EXPECT_EQ(run(ebla + "unmount n").status, kExitNotFound);
  EXPECT_THAT(run(ebla + "unmount m").output, HasSubstr("no longer mounted"));
  expect_end();
}

TEST_F(LiveMountTest, OverTheDeadMountOfAKilledDaemon) {
  expect_mounted(mount(in("m")));
  EXPECT_EQ(run("echo text > m/file; sync m/file").output, "");
  kill(holder(), SIGKILL);
  expect_end();
  EXPECT_NE(run("ls m").status, 0);
  expect_mounted(mount(in("m")));
  EXPECT_EQ(run("cat m/file; findmnt -rno TARGET " + in("m")).output, "text\n" + in("m") + "\n");
  EXPECT_EQ(run("umount m").output, "");
  expect_end();
}

TEST_F(LiveMountTest, ADaemonThatRunsIsJoinedAndGoesOn) {
  const std::string build = std::getenv("EBLAD_FOLDER");
  const std::string ebla = "PATH=" + build + ":$PATH " + build + "/../tools/ebla ";
  const auto started =
      run(ebla + "start --store " + store_ + " --no-mount --socket " + in("own.sock"));
  ASSERT_EQ(started.status, 0) << started.output;
  const pid_t daemon = holder();
  expect_mounted(mount(in("m")));
  EXPECT_EQ(holder(), daemon);
  EXPECT_EQ(run("umount m; " + ebla + "ping --socket " + in("own.sock")).status, 0);
  EXPECT_EQ(run(ebla + "stop --socket " + in("own.sock")).status, 0);
}

}  // namespace
}  // namespace ebla::tools
