// Start, stop and everything that kills a mount.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "fs/mountinfo.h"
#include "schema/base/fd.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/shell.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::shell;
using kit::TempDir;

size_t mounts_at(const std::string& directory) {
  const auto entries = fs::read_mountinfo();
  EXPECT_TRUE(entries);
  size_t n = 0;
  for (const auto& entry : *entries) n += entry.directory == directory ? 1U : 0U;
  return n;
}

// A process that sits in a folder until it goes.
class Squatter {
 public:
  explicit Squatter(const std::string& folder) {
    std::array<int, 2> ready{};
    if (pipe2(ready.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      const bool there = chdir(folder.c_str()) == 0;
      if (write(ready[1], there ? "y" : "n", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    close(ready[0]);
  }
  Squatter(const Squatter&) = delete;
  Squatter& operator=(const Squatter&) = delete;
  ~Squatter() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
};

TEST(MountLife, TheNextStartClearsADeadMount) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  const std::string folder = dir / "m";
  const auto seed = [](ChildSide& side) { side.put("log", "text"); };
  MountedChild first({.mounts = {folder}, .seed = seed});
  ASSERT_EQ(first.mount_error(), "");
  // Cached attributes must not make it look alive.
  struct stat info = {};
  ASSERT_EQ(stat(folder.c_str(), &info), 0);
  first.kill_hard();
  ASSERT_EQ(mounts_at(folder), 1U);
  MountedChild second({.mounts = {folder}, .seed = seed});
  EXPECT_EQ(second.mount_error(), "");
  EXPECT_EQ(mounts_at(folder), 1U);
  EXPECT_EQ(read_file(folder + "/large_tool_results/log", 10).value_or(""), "text");
}

TEST(MountLife, ADeadMountWithAShellInsideAndACopyIsCleared) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  const std::string folder = dir / "m";
  const std::string copy = dir / "copy";
  ASSERT_EQ(mkdir(copy.c_str(), 0700), 0);
  MountedChild first({.mounts = {folder}});
  ASSERT_EQ(first.mount_error(), "");
  ASSERT_EQ(mount(folder.c_str(), copy.c_str(), nullptr, MS_BIND, nullptr), 0);
  const Squatter squatter(folder + "/large_tool_results");
  first.kill_hard();
  MountedChild second({.mounts = {folder}});
  EXPECT_EQ(second.mount_error(), "");
  EXPECT_EQ(mounts_at(folder), 1U);
  EXPECT_EQ(mounts_at(copy), 0U);
  EXPECT_EQ(shell("ls " + folder).output, "conversation_history\nlarge_tool_results\n");
}

TEST(MountLife, ALivingMountOfAnotherDaemonStays) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  const std::string folder = dir / "m";
  MountedChild first({.mounts = {folder}});
  ASSERT_EQ(first.mount_error(), "");
  {
    MountedChild second({.mounts = {folder}});
    EXPECT_NE(second.mount_error().find("running eblad already"), std::string::npos)
        << second.mount_error();
    EXPECT_NE(second.mount_error().find("/test/store.db"), std::string::npos);
    second.kill_hard();  // its own plan names a mount that is not its
  }
  EXPECT_EQ(mounts_at(folder), 1U);
  EXPECT_EQ(shell("ls " + folder + " | wc -l").output, "2\n");
}

TEST(MountLife, StopIsBoundedWithAnOpenFileAndAShellInside) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  const std::string folder = dir / "m";
  MountedChild child({.mounts = {folder}, .seed = [](ChildSide& side) {
                        side.put("log", std::string(size_t{1} << 20, 'x'));
                      }});
  ASSERT_EQ(child.mount_error(), "");
  auto file = open_file(folder + "/large_tool_results/log", O_RDONLY);
  ASSERT_TRUE(file);
  const Squatter squatter(folder + "/large_tool_results");
  EXPECT_EQ(child.ask("unmount 100"), "");
  EXPECT_EQ(mounts_at(folder), 0U);
  char byte = 0;
  EXPECT_EQ(pread(file->get(), &byte, 1, 500'000), -1);  // an error, never a hang
  EXPECT_EQ(child.stop(), "");
}

TEST(MountLife, StopIsStrictWhileNobodyIsInside) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  MountedChild child({.mounts = {dir / "a", dir / "b", "/large_tool_results=" + (dir / "c")}});
  ASSERT_EQ(child.mount_error(), "");
  EXPECT_EQ(child.ask("unmount 60000"), "");
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(mounts_at(dir / name), 0U);
    EXPECT_NE(access((dir / name).c_str(), F_OK), 0) << "the folder was made, so it goes";
  }
}

TEST(MountLife, BareFolderIsClosedToWritersAndOpenedForTheNextMount) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  const std::string folder = dir / "m";
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  const auto mode = [&] {
    struct stat info = {};
    EXPECT_EQ(stat(folder.c_str(), &info), 0);
    return info.st_mode & 07777;
  };
  for (int round = 0; round < 2; ++round) {
    MountedChild child({.mounts = {folder}});
    ASSERT_EQ(child.mount_error(), "");
    child.stop();
    EXPECT_EQ(mode(), 0555U) << "a folder that was there stays";
  }
}

TEST(MountLife, OneMountDiesAndTheOtherServes) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  MountedChild child(
      {.mounts = {dir / "a", dir / "b"}, .seed = [](ChildSide& side) { side.put("log", "text"); }});
  ASSERT_EQ(child.mount_error(), "");
  ASSERT_EQ(umount2((dir / "a").c_str(), MNT_DETACH), 0);
  EXPECT_EQ(read_file(dir / "b/large_tool_results/log", 10).value_or(""), "text");
  const std::string rest = "alive " + (dir / "b") + "\n";
  while (child.ask("list") != rest) {
  }
  // The folder was made, so it goes, a moment after the mount.
  while (access((dir / "a").c_str(), F_OK) == 0) {
  }
  EXPECT_EQ(child.ask("put more text2"), "");
  EXPECT_EQ(read_file(dir / "b/large_tool_results/more", 10).value_or(""), "text2");
  EXPECT_EQ(child.ask("mount " + (dir / "a")), "") << "and comes back";
  EXPECT_EQ(read_file(dir / "a/large_tool_results/more", 10).value_or(""), "text2");
  EXPECT_EQ(child.ask("unmount 1000"), "");
}

TEST(MountLife, MountsAreAddedWhileOthersServe) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  MountedChild child(
      {.mounts = {dir / "first"}, .seed = [](ChildSide& side) { side.put("log", "text"); }});
  ASSERT_EQ(child.mount_error(), "");
  for (int i = 0; i < 20; ++i) {
    const std::string folder = dir / fmt::format("m{}", i);
    ASSERT_EQ(child.ask("mount /large_tool_results=" + folder), "");
    EXPECT_EQ(read_file(folder + "/log", 10).value_or(""), "text");
  }
  EXPECT_EQ(child.ask("unmount 5000"), "");
  EXPECT_EQ(shell("ls " + dir.path()).output, "");
}

TEST(MountLife, OneIsTakenAwayWhileOthersServe) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  MountedChild child(
      {.mounts = {dir / "a", dir / "b"}, .seed = [](ChildSide& side) { side.put("log", "text"); }});
  ASSERT_EQ(child.mount_error(), "");
  {
    const Squatter squatter(dir / "a");
    const std::string said = child.ask("unmount-one " + (dir / "a"));
    EXPECT_NE(said.find("fuser -vm " + (dir / "a")), std::string::npos) << said;
    EXPECT_EQ(mounts_at(dir / "a"), 1U);
  }
  EXPECT_EQ(child.ask("unmount-one " + (dir / "a")), "");
  EXPECT_EQ(mounts_at(dir / "a"), 0U);
  EXPECT_EQ(child.ask("list"), "alive " + (dir / "b") + "\n");
  EXPECT_NE(child.ask("unmount-one " + (dir / "a")).find("nothing of this daemon"),
            std::string::npos);
  EXPECT_EQ(read_file(dir / "b/large_tool_results/log", 10).value_or(""), "text");
  // The first of two mounts of one tree was the one to write through; now there is none, so the
  // next is.
  EXPECT_EQ(shell("touch " + (dir / "b/new") + " 2>/dev/null").status, 1);
  EXPECT_EQ(child.ask("mount " + (dir / "c")), "");
  EXPECT_EQ(shell("touch " + (dir / "c/new")).output, "");
  EXPECT_EQ(shell("ls " + (dir / "b/new")).output, (dir / "b/new") + "\n");
  EXPECT_EQ(child.ask("unmount-one " + (dir / "c/")), "");
  EXPECT_EQ(child.ask("unmount 1000"), "");
}

TEST(MountLife, AConnectionThatWasCutStaysInTheList) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  MountedChild child({.mounts = {dir / "a"}});
  ASSERT_EQ(child.mount_error(), "");
  struct stat info = {};
  ASSERT_EQ(stat((dir / "a").c_str(), &info), 0);
  const std::string control = dir / "control";
  ASSERT_EQ(mkdir(control.c_str(), 0700), 0);
  if (mount("none", control.c_str(), "fusectl", 0, nullptr) != 0) {
    EXPECT_EQ(child.ask("unmount 1000"), "");
    GTEST_SKIP() << "the kernel's list of FUSE connections cannot be mounted here";
  }
  const std::string abort = fmt::format("{}/{}/abort", control, minor(info.st_dev));
  EXPECT_EQ(shell("echo 1 > " + abort).output, "");
  ASSERT_EQ(umount2(control.c_str(), MNT_DETACH), 0);
  while (child.ask("list") != "dead " + (dir / "a") + "\n") {
  }
  EXPECT_EQ(child.ask("mount " + (dir / "a")), "") << "and is replaced";
  EXPECT_EQ(mounts_at(dir / "a"), 1U);
  EXPECT_EQ(child.ask("unmount 1000"), "");
}

TEST(MountLife, OptionsOfOneMount) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  const auto mount_with_options = [](ChildSide& side, const std::string& folder) -> std::string {
    fs::MountSpec spec;
    spec.directory = folder;
    spec.read_only = spec.no_exec = spec.allow_other = true;
    const auto made = side.table.mount(spec);
    if (!made) return made.error().text;
    return made->writable ? "writable" : "";
  };
  MountedChild child({.mounts = {}, .answer = mount_with_options});
  EXPECT_EQ(child.ask(dir / "r"), "");
  const std::string options = shell("findmnt -no OPTIONS " + (dir / "r")).output;
  for (const char* option :
       {"ro,", "nosuid", "nodev", "noexec", "noatime", "allow_other", "default_permissions"}) {
    EXPECT_NE(options.find(option), std::string::npos) << options;
  }
  // It takes nobody's right to write.
  EXPECT_EQ(child.ask("mount " + (dir / "w")), "");
  EXPECT_EQ(shell("touch " + (dir / "w/new") + " && ls " + (dir / "r/new")).output,
            (dir / "r/new") + "\n");
  EXPECT_EQ(child.ask("unmount 1000"), "");
}

TEST(MountLife, ATableThatEndsWithItsMounts) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  fs::MountTableOptions options;
  options.on_last_gone = [told = dir / "told"] { shell("echo gone >> " + told); };
  MountedChild child({.mounts = {dir / "a", dir / "b"}, .options = options});
  ASSERT_EQ(child.mount_error(), "");
  EXPECT_EQ(child.ask("unmount-one " + (dir / "a")), "");
  EXPECT_NE(access((dir / "told").c_str(), F_OK), 0) << "one is left";
  ASSERT_EQ(shell("umount " + (dir / "b")).output, "");
  while (access((dir / "told").c_str(), F_OK) != 0) {
  }
  EXPECT_NE(child.ask("mount " + (dir / "a")).find("ended"), std::string::npos);
  EXPECT_EQ(child.ask("unmount 1000"), "");
  child.stop();
  EXPECT_EQ(shell("cat " + (dir / "told")).output, "gone\n");
}

TEST(MountLife, ReadyMeansListed) {
  EBLA_NEED_FUSE();
  const TempDir dir("life");
  for (int i = 0; i < 30; ++i) {
    MountedChild child({.mounts = {dir / "m"}});
    ASSERT_EQ(child.mount_error(), "");
    ASSERT_GE(child.counts()["opendir"], 1U);
    ASSERT_EQ(shell("ls " + (dir / "m") + " | wc -l").output, "2\n");
  }
}

}  // namespace
}  // namespace ebla
