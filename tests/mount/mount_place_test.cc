// Where a mount may lie, and what is said where it may not.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/kit/mounted_child.h"
#include "tests/kit/shell.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::shell;
using kit::TempDir;

constexpr uid_t kNobody = 65534;

struct Refusal {
  std::string spec;
  std::string says;
};

TEST(MountPlace, RefusalsNameTheRemedy) {
  EBLA_NEED_FUSE();
  const TempDir dir("place");
  ASSERT_EQ(shell("cd " + dir.path() +
                  " && touch file && mkdir full store && touch full/x store/store.db")
                .status,
            0);
  MountedChild::Plan plan{.mounts = {dir / "m"}};
  plan.options.forbidden = {dir / "store/store.db", dir / "run/ebla.sock", "/var/log/ebla.log"};
  MountedChild child(std::move(plan));
  ASSERT_EQ(child.mount_error(), "");
  const Refusal table[] = {
      {dir / "no/such", "mkdir -p " + (dir / "no")},
      {dir / "file", "is not a folder"},
      {dir / "file/below", "is not a folder"},
      {dir / "full", "is not empty"},
      {dir / "store", "would cover " + (dir / "store/store.db")},
      {dir.path(), "overlap"},
      {dir / "m", "mounted already"},
      {dir / "m/large_tool_results", "overlap"},
      {"/var/log", "would cover /var/log/ebla.log"},
      {"/absent=" + (dir / "n"), "/absent"},
      {"/conversation_history/default.md=" + (dir / "n"), "not a folder"},
      {"relative=" + (dir / "n"), "starts with '/'"},
      {"/=", "no folder is named"},
  };
  for (const Refusal& row : table) {
    const std::string said = child.ask("mount " + row.spec);
    EXPECT_NE(said.find(row.says), std::string::npos) << row.spec << " says: " << said;
  }
  EXPECT_EQ(shell("ls " + dir.path()).output, "file\nfull\nm\nstore\n") << "nothing was made";
}

TEST(MountPlace, SymbolicLinksAreResolved) {
  EBLA_NEED_FUSE();
  const TempDir dir("place");
  ASSERT_EQ(shell("cd " + dir.path() + " && mkdir real && ln -s real link && ln -s . here").status,
            0);
  MountedChild child({.mounts = {}});
  EXPECT_EQ(child.ask("mount " + (dir / "here/link")), "");
  EXPECT_EQ(shell("ls " + (dir / "real")).output, "conversation_history\nlarge_tool_results\n");
  EXPECT_NE(child.ask("mount " + (dir / "real")), "");
  EXPECT_EQ(child.ask("unmount 1000"), "");
}

TEST(MountPlace, AFolderWithAnEqualsSign) {
  EBLA_NEED_FUSE();
  const TempDir dir("place");
  MountedChild child({.mounts = {}});
  EXPECT_EQ(child.ask("mount /=" + (dir / "a=b")), "");
  EXPECT_EQ(shell("ls " + (dir / "a=b") + " | wc -l").output, "2\n");
  EXPECT_EQ(child.ask("unmount 1000"), "");
}

// A private /dev with a FUSE device of the given mode, or with none (mode 0).
void private_dev(mode_t device_mode) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("dev", "/dev", "tmpfs", 0, "mode=755") != 0 ||
      mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)) != 0 || chmod("/dev/null", 0666) != 0) {
    std::abort();
  }
  if (device_mode == 0) return;
  if (mknod("/dev/fuse", S_IFCHR | device_mode, makedev(10, 229)) != 0 ||
      chmod("/dev/fuse", device_mode) != 0) {
    std::abort();
  }
}

TEST(MountPlace, WithoutADevice) {
  EBLA_NEED_FUSE();
  const TempDir dir("place");
  MountedChild child({.mounts = {}, .before = [] { private_dev(0); }});
  const std::string said = child.ask("mount " + (dir / "m"));
  EXPECT_NE(said.find("modprobe fuse"), std::string::npos) << said;
  EXPECT_NE(said.find("--no-mount"), std::string::npos) << said;
  EXPECT_EQ(shell("ls " + dir.path()).output, "") << "the folder that was made is gone";
}

TEST(MountPlace, WithoutAccessToTheDevice) {
  EBLA_NEED_FUSE();
  const TempDir dir("place");
  ASSERT_EQ(chmod(dir.path().c_str(), 0777), 0);
  MountedChild child({.mounts = {}, .uid = kNobody, .before = [] { private_dev(0600); }});
  const std::string said = child.ask("mount " + (dir / "m"));
  EXPECT_NE(said.find("chmod 666 /dev/fuse"), std::string::npos) << said;
}

// Run in the child, which alone sees its mounts: "sh COMMAND".
std::string run(ChildSide&, const std::string& question) {
  return shell(question.substr(3)).output;
}

class Unprivileged : public ::testing::Test {
 protected:
  void SetUp() override {
    EBLA_NEED_FUSE();
    if (access("/usr/bin/fusermount3", X_OK) != 0) GTEST_SKIP() << "fusermount3 is not installed";
    if (shell("stat -c %A /usr/bin/fusermount3").output.find('s') == std::string::npos) {
      GTEST_SKIP() << "fusermount3 is not set-uid here";
    }
    ASSERT_EQ(chmod(dir_.path().c_str(), 0777), 0);
  }
  MountedChild::Plan plan() {
    return {.mounts = {},
            .seed = [](ChildSide& side) { side.put("log", "text\n"); },
            .answer = run,
            .uid = kNobody,
            .before = [] { private_dev(0666); }};
  }
  TempDir dir_{"place"};
};

TEST_F(Unprivileged, MountsThroughFusermountAndOwnsEveryNode) {
  MountedChild child(plan());
  ASSERT_EQ(child.ask("mount " + (dir_ / "m")), "");
  EXPECT_EQ(child.ask("sh cat " + (dir_ / "m/large_tool_results/log")), "text\n");
  EXPECT_EQ(child.ask("sh stat -c %u " + (dir_ / "m") + " " + (dir_ / "m/large_tool_results/log")),
            "65534\n65534\n");
  EXPECT_EQ(child.ask("sh rm -f " + (dir_ / "m/large_tool_results/log")), "");
  EXPECT_EQ(child.ask("sh ls " + (dir_ / "m/large_tool_results")), "");
  EXPECT_EQ(child.ask("sh findmnt -no FSTYPE " + (dir_ / "m")), "fuse.ebla\n");
  EXPECT_EQ(child.ask("unmount 1000"), "");
  EXPECT_EQ(child.ask("sh ls " + dir_.path()), "");
}

TEST_F(Unprivileged, BusyIsDetached) {
  MountedChild child(plan());
  ASSERT_EQ(child.ask("mount " + (dir_ / "m")), "");
  child.ask("sh cd " + (dir_ / "m") + "; (exec 1>&- 2>&-; sleep 1000 & echo $!) > " +
            (dir_ / "pid"));
  EXPECT_EQ(child.ask("unmount 50"), "");
  EXPECT_EQ(child.ask("sh findmnt " + (dir_ / "m")), "");
  child.ask("sh kill $(cat " + (dir_ / "pid") + ")");
}

TEST_F(Unprivileged, OtherUsersNeedTheConfiguration) {
  if (shell("grep -q ^user_allow_other /etc/fuse.conf").status == 0) {
    GTEST_SKIP() << "this host allows allow_other to everybody";
  }
  auto with_others = plan();
  with_others.options.allow_other = true;
  MountedChild child(std::move(with_others));
  const std::string said = child.ask("mount " + (dir_ / "m"));
  EXPECT_NE(said.find("echo user_allow_other >> /etc/fuse.conf"), std::string::npos) << said;
}

TEST_F(Unprivileged, WithoutFusermount) {
  auto without = plan();
  without.before = [] {
    private_dev(0666);
    if (mount("/dev/null", "/usr/bin/fusermount3", nullptr, MS_BIND, nullptr) != 0) std::abort();
  };
  MountedChild child(std::move(without));
  const std::string said = child.ask("mount " + (dir_ / "m"));
  EXPECT_NE(said.find("apt install fuse3"), std::string::npos) << said;
}

}  // namespace
}  // namespace ebla
