// What changes while it is looked at: new results, removals, and all that is refused.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "schema/base/fd.h"
#include "schema/path.h"
#include "tests/kit/fill_store.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/shell.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::shell;
using kit::TempDir;

bool exists(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0;
}

// For what follows by itself and soon, but in no order with us.
bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// "remove PATH": as another door of the daemon would. "known INO": whether the store has the node.
std::string answer(ChildSide& side, const std::string& question) {
  const std::string rest = question.substr(question.find(' ') + 1);
  if (question.starts_with("known ")) return side.store.getattr(std::stoull(rest)) ? "yes" : "no";
  const size_t slash = rest.rfind('/');
  const auto parent = resolve(side.store, rest.substr(0, slash));
  if (!parent) return parent.error().text;
  const auto done = kit::wait_for<void>([&](Completion<void> finish) {
    side.store.remove({parent->ino, rest.substr(slash + 1), 0, "purge"}, {}, std::move(finish));
  });
  if (!done.result) return done.result.error().text;
  side.deliver(done.changes);
  return "";
}

TEST(MountChange, AbsentNamesAppearAtOnce) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  MountedChild child({.mounts = {dir / "m", "/large_tool_results=" + (dir / "r")}});
  ASSERT_EQ(child.mount_error(), "");
  for (int i = 0; i < 200; ++i) {
    const std::string name = fmt::format("result{}", i);
    const std::string first = dir / "m/large_tool_results/" + name;
    const std::string second = dir / "r/" + name;
    ASSERT_FALSE(exists(first));
    ASSERT_FALSE(exists(second));
    ASSERT_FALSE(exists(first));  // the kernel answers this one
    child.ask("put " + name + " text of " + name);
    ASSERT_TRUE(exists(first)) << i;
    ASSERT_TRUE(exists(second)) << i;
    ASSERT_EQ(read_file(second, 100).value_or(""), "text of " + name);
  }
}

TEST(MountChange, AListingThatWasReadBeforeIsNotReadAgainFromACache) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  MountedChild child({.mounts = {dir / "m"}});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/large_tool_results";
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(shell("ls " + folder + " | wc -l").output, fmt::format("{}\n", i));
    EXPECT_EQ(shell("ls -l " + folder + " | wc -l").output, fmt::format("{}\n", i + 1));
    child.ask(fmt::format("put n{} x", i));
  }
}

TEST(MountChange, FolderTimesFollow) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  MountedChild child({.mounts = {dir / "m"}});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/large_tool_results";
  struct stat before = {};
  struct stat after = {};
  ASSERT_EQ(stat(folder.c_str(), &before), 0);
  child.ask("put a x");
  ASSERT_EQ(stat(folder.c_str(), &after), 0);
  EXPECT_TRUE(before.st_mtim.tv_sec != after.st_mtim.tv_sec ||
              before.st_mtim.tv_nsec != after.st_mtim.tv_nsec);
}

TEST(MountChange, RemovedElsewhereIsGoneAtOnce) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  MountedChild child({.mounts = {dir / "m"},
                      .seed = [](ChildSide& side) { side.put("log", "text"); },
                      .answer = answer});
  ASSERT_EQ(child.mount_error(), "");
  const std::string path = dir / "m/large_tool_results/log";
  ASSERT_TRUE(exists(path));
  EXPECT_EQ(child.ask("remove /large_tool_results/log"), "");
  EXPECT_FALSE(exists(path));
  EXPECT_EQ(shell("ls " + (dir / "m/large_tool_results")).output, "");
  child.ask("put log2 again");
  EXPECT_EQ(read_file(path + "2", 100).value_or(""), "again");
}

TEST(MountChange, RmRemovesAResultAndAReaderKeepsIt) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  const std::string text = kit::random_bytes(size_t{2} << 20, 5);
  MountedChild child({.mounts = {dir / "m"},
                      .seed = [&](ChildSide& side) { side.put("log", text); },
                      .answer = answer});
  ASSERT_EQ(child.mount_error(), "");
  const std::string path = dir / "m/large_tool_results/log";
  auto fd = open_file(path, O_RDONLY);
  ASSERT_TRUE(fd);
  struct stat info = {};
  ASSERT_EQ(fstat(fd->get(), &info), 0);
  const auto removed = shell("rm " + path);
  EXPECT_EQ(removed.status, 0) << removed.output;
  EXPECT_FALSE(exists(path));
  EXPECT_EQ(child.ask(fmt::format("known {}", info.st_ino)), "yes");
  std::string read(text.size(), '\0');
  const auto n = read_full(fd->get(), read.data(), read.size());
  ASSERT_TRUE(n) << n.error().text;
  EXPECT_TRUE(read == text);
  ASSERT_EQ(fstat(fd->get(), &info), 0);
  EXPECT_EQ(info.st_nlink, 0U);
  fd->reset();
  EXPECT_TRUE(comes_true([&] { return child.ask(fmt::format("known {}", info.st_ino)) == "no"; }));
}

TEST(MountChange, ANodeIsFreedWhenTheLastOfTwoMountsLetsGo) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  MountedChild child({.mounts = {dir / "m", "/large_tool_results=" + (dir / "r")},
                      .seed = [](ChildSide& side) { side.put("log", "text"); },
                      .answer = answer});
  ASSERT_EQ(child.mount_error(), "");
  auto one = open_file(dir / "m/large_tool_results/log", O_RDONLY);
  auto two = open_file(dir / "r/log", O_RDONLY);
  ASSERT_TRUE(one && two);
  struct stat info = {};
  ASSERT_EQ(fstat(one->get(), &info), 0);
  const std::string known = fmt::format("known {}", info.st_ino);
  ASSERT_EQ(unlink((dir / "r/log").c_str()), 0);
  EXPECT_TRUE(comes_true([&] { return !exists(dir / "m/large_tool_results/log"); }));
  two->reset();
  EXPECT_EQ(child.ask(known), "yes");
  std::string read(4, '\0');
  EXPECT_EQ(read_full(one->get(), read.data(), 4).value_or(0), 4U);
  EXPECT_EQ(read, "text");
  one->reset();
  EXPECT_TRUE(comes_true([&] { return child.ask(known) == "no"; }));
}

TEST(MountChange, TwoMountsThatRemoveInOneFolderDoNotBlock) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  constexpr int kFiles = 300;
  MountedChild child(
      {.mounts = {dir / "m", "/large_tool_results=" + (dir / "r")}, .seed = [](ChildSide& side) {
         for (int i = 0; i < 2 * kFiles; ++i) side.put(fmt::format("f{}", i), "x");
       }});
  ASSERT_EQ(child.mount_error(), "");
  int failures[2] = {0, 0};
  const auto remove_all = [&](int which, const std::string& base) {
    for (int i = which; i < 2 * kFiles; i += 2) {
      const std::string other = fmt::format("{}f{}", base, i ^ 1);
      exists(other);
      if (unlink(fmt::format("{}f{}", base, i).c_str()) != 0) ++failures[which];
    }
  };
  std::thread one([&] { remove_all(0, dir / "m/large_tool_results/"); });
  std::thread two([&] { remove_all(1, dir / "r/"); });
  one.join();
  two.join();
  EXPECT_EQ(failures[0], 0);
  EXPECT_EQ(failures[1], 0);
  EXPECT_TRUE(comes_true([&] { return shell("ls " + (dir / "r")).output.empty(); }));
  for (int i = 0; i < 2 * kFiles; ++i) {
    const std::string path = fmt::format("{}f{}", dir / "m/large_tool_results/", i);
    ASSERT_TRUE(comes_true([&] { return !exists(path); })) << path;
  }
}

TEST(MountChange, DeletingWhileScanningMissesNothing) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  constexpr int kFiles = 3000;
  MountedChild child({.mounts = {dir / "m"}, .seed = [](ChildSide& side) {
                        for (int i = 0; i < kFiles; ++i) side.put(fmt::format("f{}", i), "x");
                      }});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/large_tool_results";
  DIR* scan = opendir(folder.c_str());
  ASSERT_NE(scan, nullptr);
  std::multiset<std::string> seen;
  while (const dirent* entry = readdir(scan)) {
    const std::string name = entry->d_name;
    seen.insert(name);
    if (name == "." || name == ".." || name.back() == '7') continue;
    ASSERT_EQ(unlink((folder + "/" + name).c_str()), 0) << name;
  }
  closedir(scan);
  EXPECT_EQ(seen.size(), kFiles + 2U);
  for (int i = 0; i < kFiles; ++i) ASSERT_EQ(seen.count(fmt::format("f{}", i)), 1U) << i;
  EXPECT_EQ(shell("ls -l " + folder + " | wc -l").output, fmt::format("{}\n", kFiles / 10 + 1));
  EXPECT_EQ(shell("find " + folder + " -type f -delete && ls " + folder + " | wc -l").output,
            "0\n");
}

TEST(MountChange, EntriesThatLiveThroughAScanComeOnceWhileOthersAppear) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  constexpr int kFiles = 1000;
  MountedChild child({.mounts = {dir / "m"}, .seed = [](ChildSide& side) {
                        for (int i = 0; i < kFiles; ++i) side.put(fmt::format("f{}", i), "x");
                      }});
  ASSERT_EQ(child.mount_error(), "");
  DIR* scan = opendir((dir / "m/large_tool_results").c_str());
  ASSERT_NE(scan, nullptr);
  std::multiset<std::string> seen;
  for (int i = 0; const dirent* entry = readdir(scan); ++i) {
    seen.insert(entry->d_name);
    if (i % 10 == 0 && i < kFiles) child.ask(fmt::format("put new{} x", i));
  }
  closedir(scan);
  for (int i = 0; i < kFiles; ++i) ASSERT_EQ(seen.count(fmt::format("f{}", i)), 1U) << i;
}

struct Refused {
  const char* what;
  int error;
  std::function<int()> call;
};

TEST(MountChange, WhatIsProtectedStaysSo) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  MountedChild child({.mounts = {dir / "m"}, .seed = [](ChildSide& side) {
                        side.put("log", "text");
                        side.open_session("s-one");
                      }});
  ASSERT_EQ(child.mount_error(), "");
  const std::string top = dir / "m";
  const std::string folder = top + "/large_tool_results";
  const std::string log = folder + "/log";
  const std::string fresh = folder + "/fresh";
  const std::string session = folder + "/s-one";
  const std::string history = top + "/conversation_history/default.md";
  const auto open_for = [](const std::string& path, int flags) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd < 0 ? -1 : 0;
  };
  const timespec times[2] = {{1, 0}, {1, 0}};
  const Refused table[] = {
      {"link", EPERM, [&] { return link(log.c_str(), fresh.c_str()); }},
      {"rename result", EPERM, [&] { return rename(log.c_str(), fresh.c_str()); }},
      {"rename folder", EBUSY, [&] { return rename(folder.c_str(), (top + "/x").c_str()); }},
      {"chmod result", EPERM, [&] { return chmod(log.c_str(), 0600); }},
      {"chmod folder", EPERM, [&] { return chmod(folder.c_str(), 0755); }},
      {"chown", EPERM, [&] { return chown(log.c_str(), 1, 1); }},
      {"utimens", EPERM, [&] { return utimensat(AT_FDCWD, log.c_str(), times, 0); }},
      {"truncate", EPERM, [&] { return truncate(log.c_str(), 0); }},
      {"open to write", EPERM, [&] { return open_for(log, O_WRONLY); }},
      {"open to read and write", EPERM, [&] { return open_for(log, O_RDWR); }},
      {"open to append", EPERM, [&] { return open_for(log, O_WRONLY | O_APPEND); }},
      {"open to truncate", EPERM, [&] { return open_for(log, O_WRONLY | O_TRUNC); }},
      {"open an unnamed file", EOPNOTSUPP, [&] { return open_for(folder, O_TMPFILE | O_RDWR); }},
      {"setxattr", EPERM, [&] { return setxattr(log.c_str(), "user.x", "1", 1, 0); }},
      {"removexattr", EPERM, [&] { return removexattr(log.c_str(), "user.ebla.kind"); }},
      {"rmdir results", EBUSY, [&] { return rmdir(folder.c_str()); }},
      {"rmdir session", EPERM, [&] { return rmdir(session.c_str()); }},
      {"unlink history", EPERM, [&] { return unlink(history.c_str()); }},
      {"write history", EPERM, [&] { return open_for(history, O_WRONLY | O_APPEND); }},
      {"unlink folder", EISDIR, [&] { return unlink(folder.c_str()); }},
      {"unlink nothing", ENOENT, [&] { return unlink(fresh.c_str()); }},
  };
  for (const Refused& row : table) {
    errno = 0;
    EXPECT_EQ(row.call(), -1) << row.what;
    EXPECT_EQ(errno, row.error) << row.what << ": " << strerror(errno);
  }
  EXPECT_EQ(read_file(log, 100).value_or(""), "text");
  EXPECT_EQ(shell("ls " + folder).output, "log\ns-one\n");
  const auto fd = open_file(folder, O_RDONLY | O_DIRECTORY);
  ASSERT_TRUE(fd);
  EXPECT_EQ(fsync(fd->get()), 0);
}

TEST(MountChange, ATreeIsWrittenThroughItsFirstMountAlone) {
  EBLA_NEED_FUSE();
  const TempDir dir("change");
  MountedChild child({.mounts = {"/large_tool_results=" + (dir / "r"), dir / "m",
                                 "/conversation_history=" + (dir / "h")}});
  ASSERT_EQ(child.mount_error(), "");
  const std::string command =
      "umask 077; f=" + (dir / "r/own") + "; g=" + (dir / "m/large_tool_results/own");
  EXPECT_EQ(
      shell(command + "; echo first >$f; cat $g; echo more >>$f; stat -c %s $g; cat $g").output,
      "first\n11\nfirst\nmore\n");
  for (const char* refused : {"echo x >>$g", "echo x >$g.new", "mkdir $g.d", "mv $g $g.2", "rm $g",
                              "ln $g $g.3", "chmod 600 $g", "touch $g", "truncate -s 0 $g"}) {
    const auto run = shell(command + "; " + refused);
    EXPECT_NE(run.status, 0) << refused;
    EXPECT_NE(run.output.find("Read-only file system"), std::string::npos) << run.output;
  }
  EXPECT_EQ(shell(command + "; rm $f; cat $g").status, 1);
  // The second one shows the third one's tree as well, and does not write it.
  EXPECT_EQ(
      shell("echo x >" + (dir / "h/own") + "; cat " + (dir / "m/conversation_history/own")).output,
      "x\n");
}

}  // namespace
}  // namespace ebla
