// What ordinary programs see of a mounted tree.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <sstream>
#include <thread>

#include "schema/base/fd.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/shell.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::shell;
using kit::TempDir;

std::string read_whole(const std::string& path) {
  auto text = read_file(path, size_t{1} << 30);
  EXPECT_TRUE(text) << (text ? "" : text.error().text);
  return text.value_or("");
}

TEST(MountRead, EveryShapeComesBackByteForByte) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  const auto shapes = kit::all_shapes();
  MountedChild child({.mounts = {dir / "m"}, .seed = [&](ChildSide& side) {
                        int i = 0;
                        for (const auto& shape : shapes) {
                          side.put("shape" + std::to_string(i++), shape.text);
                        }
                        side.put("empty", "");
                        side.put("big", kit::random_bytes((size_t{5} << 20) + 4321, 7));
                      }});
  ASSERT_EQ(child.mount_error(), "");
  const std::string results = dir / "m/large_tool_results/";
  int i = 0;
  for (const auto& shape : shapes) {
    EXPECT_EQ(read_whole(results + "shape" + std::to_string(i++)), shape.text) << shape.name;
  }
  EXPECT_EQ(read_whole(results + "empty"), "");
  EXPECT_EQ(read_whole(results + "big"), kit::random_bytes((size_t{5} << 20) + 4321, 7));
}

TEST(MountRead, OrdinaryProgramsWork) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  MountedChild child({.mounts = {dir / "m"}, .seed = [](ChildSide& side) {
                        side.put("log", kit::numbered_rows(200'000) + "\nthe needle\n");
                        side.put("other", "nothing here\n");
                        side.open_session("s-one");
                        side.put("inner", "needle too\n", "s-one");
                      }});
  ASSERT_EQ(child.mount_error(), "");
  const std::string cd = "cd " + dir.path() + "/m && ";
  EXPECT_EQ(shell(cd + "ls").output, "conversation_history\nlarge_tool_results\n");
  EXPECT_EQ(shell(cd + "ls -a").output, ".\n..\nconversation_history\nlarge_tool_results\n");
  EXPECT_EQ(shell(cd + "find . -type f | sort").output,
            "./conversation_history/default.md\n./conversation_history/s-one.md\n"
            "./large_tool_results/log\n./large_tool_results/other\n"
            "./large_tool_results/s-one/inner\n");
  EXPECT_EQ(shell(cd + "grep -rlF needle . | sort").output,
            "./large_tool_results/log\n./large_tool_results/s-one/inner\n");
  EXPECT_EQ(shell(cd + "tail -n 1 large_tool_results/log").output, "the needle\n");
  EXPECT_EQ(shell(cd + "sed -n 3p large_tool_results/log").output, "row 3\n");
  EXPECT_EQ(shell(cd + "stat -c '%a %F %u %h %s' large_tool_results/other").output,
            "400 regular file 0 1 13\n");
  EXPECT_EQ(shell(cd + "stat -c '%a %F' large_tool_results/s-one").output, "700 directory\n");
  EXPECT_EQ(shell(cd + "ls -la large_tool_results | wc -l").output, "6\n");
  EXPECT_EQ(shell(cd + "cp -a large_tool_results " + dir.path() +
                  "/copy && cmp large_tool_results/log " + dir.path() + "/copy/log && echo equal")
                .output,
            "equal\n");
  EXPECT_EQ(shell("df --output=fstype,target " + dir.path() + "/m | tail -1").output,
            "fuse.ebla " + dir.path() + "/m\n");
  const auto options = shell("findmnt -no OPTIONS,SOURCE " + dir.path() + "/m").output;
  for (const char* word : {"nosuid", "nodev", "noatime", "default_permissions", "/test/store.db"}) {
    EXPECT_NE(options.find(word), std::string::npos) << word << " in " << options;
  }
}

TEST(MountRead, AttributesAreThoseOfTheStore) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  MountedChild child(
      {.mounts = {dir / "m"}, .seed = [](ChildSide& side) { side.put("log", kit::chinese(5)); }});
  ASSERT_EQ(child.mount_error(), "");
  const std::string path = dir / "m/large_tool_results/log";
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_blksize, 128 * 1024);
  EXPECT_EQ(info.st_size, 15);
  const auto listed = shell("getfattr --absolute-names -d -m - " + path).output;
  EXPECT_NE(listed.find("user.ebla.tool_call_id=\"log\""), std::string::npos) << listed;
  char room[2];
  EXPECT_EQ(getxattr(path.c_str(), "user.ebla.tool_call_id", room, sizeof(room)), -1);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(getxattr(path.c_str(), "user.ebla.tool_call_id", nullptr, 0), 3);
  EXPECT_EQ(getxattr(path.c_str(), "user.absent", nullptr, 0), -1);
  EXPECT_EQ(errno, ENODATA);
  EXPECT_EQ(getxattr(path.c_str(), "security.capability", nullptr, 0), -1);
  EXPECT_TRUE(errno == EOPNOTSUPP || errno == ENODATA) << errno;
}

TEST(MountRead, MemoryMapsShowTheBytes) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  const std::string text = kit::random_bytes((size_t{1} << 20) + 77, 3);
  MountedChild child(
      {.mounts = {dir / "m"}, .seed = [&](ChildSide& side) { side.put("map", text); }});
  ASSERT_EQ(child.mount_error(), "");
  const int fd = open((dir / "m/large_tool_results/map").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  void* at = mmap(nullptr, text.size(), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  ASSERT_NE(at, MAP_FAILED);
  EXPECT_EQ(std::string_view(static_cast<const char*>(at), text.size()), text);
  munmap(at, text.size());
}

TEST(MountRead, ManyReadersAtOnceSeeTheSame) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  const std::string text = kit::random_bytes(size_t{3} << 20, 11);
  MountedChild child(
      {.mounts = {dir / "m", "/large_tool_results=" + (dir / "r")}, .seed = [&](ChildSide& side) {
         for (int i = 0; i < 8; ++i) side.put("f" + std::to_string(i), text + char('a' + i));
       }});
  ASSERT_EQ(child.mount_error(), "");
  std::atomic<int> equal = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 16; ++i) {
    readers.emplace_back([&, i] {
      const std::string name = "f" + std::to_string(i % 8);
      const std::string base = i < 8 ? dir / "m/large_tool_results/" : dir / "r/";
      auto read = read_file(base + name, size_t{1} << 30);
      if (read && *read == text + char('a' + i % 8)) ++equal;
    });
  }
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(equal, 16);
}

TEST(MountRead, SubtreesShowTheSameNodes) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  MountedChild child({.mounts = {dir / "m", "/large_tool_results=" + (dir / "r"),
                                 "/conversation_history=" + (dir / "h")},
                      .seed = [](ChildSide& side) { side.put("log", "text\n"); }});
  ASSERT_EQ(child.mount_error(), "");
  EXPECT_EQ(shell("ls " + dir.path() + "/r").output, "log\n");
  EXPECT_EQ(shell("ls " + dir.path() + "/h").output, "default.md\n");
  const auto number = [&](const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(stat((dir / path).c_str(), &info), 0) << path;
    return info.st_ino;
  };
  EXPECT_EQ(number("m/large_tool_results/log"), number("r/log"));
  EXPECT_EQ(number("m/large_tool_results"), number("r"));
  EXPECT_EQ(number("m/conversation_history/default.md"), number("h/default.md"));
  EXPECT_EQ(shell("ls -id " + dir.path() + "/r/. " + dir.path() + "/r/..  | wc -l").output, "2\n");
}

TEST(MountRead, TheHiddenFolderIsFoundByNameOnly) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  MountedChild child({.mounts = {dir / "m", "/large_tool_results=" + (dir / "r")}});
  ASSERT_EQ(child.mount_error(), "");
  for (const char* mount : {"m", "r"}) {
    const std::string cd = "cd " + (dir / mount) + " && ";
    EXPECT_EQ(shell(cd + "ls -a | grep -c ebla").output, "0\n");
    EXPECT_EQ(shell(cd + "ls .ebla").output, "socket\nversion\n");
    EXPECT_EQ(shell(cd + "cat .ebla/version").output, "0.1.0\n");
    EXPECT_EQ(shell(cd + "readlink .ebla/socket").output, "/test/ebla.sock\n");
    EXPECT_EQ(shell(cd + "echo x > .ebla/version").status, 2);
    EXPECT_NE(shell(cd + "rm .ebla/version").output.find("Operation not permitted"),
              std::string::npos);
  }
}

TEST(MountRead, ScanOfManyEntriesIsComplete) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  MountedChild child({.mounts = {dir / "m"}, .seed = [](ChildSide& side) {
                        for (int i = 0; i < 3000; ++i) {
                          side.put("entry-with-a-longer-name-" + std::to_string(i), "x");
                        }
                      }});
  ASSERT_EQ(child.mount_error(), "");
  const std::string cd = "cd " + (dir / "m/large_tool_results") + " && ";
  EXPECT_EQ(shell(cd + "ls -U | wc -l").output, "3000\n");
  EXPECT_EQ(shell(cd + "ls -l | wc -l").output, "3001\n");
  EXPECT_EQ(shell(cd + "ls -U | sort -u | wc -l").output, "3000\n");
}

TEST(MountRead, OtherUsersAreRefused) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  MountedChild child({.mounts = {dir / "m"}});
  ASSERT_EQ(child.mount_error(), "");
  ASSERT_EQ(shell("chmod 755 " + dir.path()).status, 0);
  const auto listed = shell("setpriv --reuid 65534 --regid 65534 --clear-groups ls " + (dir / "m"));
  EXPECT_NE(listed.status, 0);
  EXPECT_NE(listed.output.find("Permission denied"), std::string::npos) << listed.output;
}

TEST(MountRead, OtherUsersAreRefusedByModeWhenTheyMayEnter) {
  EBLA_NEED_FUSE();
  const TempDir dir("read");
  MountedChild::Plan plan{.mounts = {dir / "m"},
                          .seed = [](ChildSide& side) { side.put("secret", "text"); }};
  plan.options.allow_other = true;
  MountedChild child(std::move(plan));
  ASSERT_EQ(child.mount_error(), "");
  ASSERT_EQ(shell("chmod 755 " + dir.path()).status, 0);
  const std::string as = "setpriv --reuid 65534 --regid 65534 --clear-groups ";
  EXPECT_NE(shell(as + "ls " + (dir / "m")).status, 0);
  EXPECT_NE(shell(as + "cat " + (dir / "m/large_tool_results/secret")).status, 0);
}

}  // namespace
}  // namespace ebla
