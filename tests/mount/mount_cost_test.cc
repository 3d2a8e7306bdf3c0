// How many requests ordinary work costs: the cheapest guard of speed there is. A number that grows
// fails; one that shrinks should be taken over.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/kit/mounted_child.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/shell.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::shell;
using kit::TempDir;

using Counts = std::map<std::string, uint64_t>;

// What `command` costs.
Counts cost(MountedChild& child, const std::string& command) {
  const Counts before = child.counts();
  const auto run = shell(command);
  Counts out = child.counts();
  for (const auto& [name, n] : before) out[name] -= n;
  std::erase_if(out, [](const auto& pair) { return pair.second == 0; });
  return out;
}

std::string show(const Counts& counts) {
  std::string out;
  for (const auto& [name, n] : counts) out += fmt::format(" {}:{}", name, n);
  return out;
}

// Closing is told without being waited for, so it may be counted with the next command.
void expect_at_most(const Counts& counts, const Counts& limits, const std::string& what) {
  for (const auto& [name, n] : counts) {
    if (name == "release" || name == "forget") continue;
    const auto limit = limits.find(name);
    EXPECT_LE(n, limit == limits.end() ? 0 : limit->second) << what << " cost" << show(counts);
  }
}

TEST(MountCost, OrdinaryWork) {
  EBLA_NEED_FUSE();
  const TempDir dir("cost");
  const std::string text = kit::even_lines(1'000'000, 16'000);
  MountedChild child({.mounts = {dir / "m"}, .seed = [&](ChildSide& side) {
                        side.put("big", text);
                        for (int i = 0; i < 50; ++i) side.put(fmt::format("f{}", i), "some text\n");
                      }});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/large_tool_results";
  const std::string big = folder + "/big";

  const auto expect = [&](const std::string& what, const std::string& command,
                          const Counts& limits) {
    expect_at_most(cost(child, command), limits, what);
  };
  // After a READ or a listing the kernel asks once more for the time of last access.
  expect("first cat", "cat " + big, {{"lookup", 2}, {"open", 1}, {"read", 9}});
  expect("second cat", "cat " + big, {{"open", 1}, {"getattr", 1}});
  expect("third cat", "cat " + big, {{"open", 1}});
  expect("tail", "tail -n 3 " + big, {{"open", 1}});
  expect("stat", "stat " + big, {});
  // A kernel before 6.16 takes a listing in pieces of 4 KiB.
  expect("first ls -l", "ls -l " + folder, {{"readdirplus", 4}, {"getxattr", 2}});
  expect("second ls -l", "ls -l " + folder, {{"getattr", 1}, {"getxattr", 2}});
  expect("ls", "ls " + folder, {});
  // It asks the large one for holes.
  Counts grep = {{"statfs", 1}, {"open", 51}, {"lseek", 1}};
  Counts cold_grep = grep;
  cold_grep["read"] = 50;
  expect("first grep -r", "grep -rF absent " + folder, cold_grep);
  grep["getattr"] = 50;
  expect("second grep -r", "grep -rF absent " + folder, grep);
  grep.erase("getattr");
  expect("third grep -r", "grep -rF absent " + folder, grep);
  expect("first miss", "stat " + folder + "/absent", {{"lookup", 1}});
  expect("second miss", "stat " + folder + "/absent", {});
}

TEST(MountCost, ATreeThatDidNotChange) {
  EBLA_NEED_FUSE();
  const TempDir dir("cost");
  MountedChild child({.mounts = {dir / "m"}});
  ASSERT_EQ(child.mount_error(), "");
  ASSERT_EQ(
      shell("cd " + (dir / "m") + " && mkdir a a/b a/b/c a/d && touch a/1 a/b/2 a/b/c/3 a/d/4")
          .output,
      "");
  const std::vector<std::string> walks = {"find " + (dir / "m") + " -ls", "ls -R " + (dir / "m"),
                                          "du -a " + (dir / "m")};
  // Once for the listings, and once for the times of last access after them.
  for (int i = 0; i < 2; ++i) {
    for (const std::string& walk : walks) shell(walk);
  }
  const Counts none = {{"statfs", 1}};  // find and du ask which file system it is
  for (const std::string& walk : walks) expect_at_most(cost(child, walk), none, walk);
  // What one folder costs that changed, by whatever door.
  const Counts once = {{"statfs", 1}, {"readdirplus", 2}, {"readdir", 1}, {"getattr", 1}};
  for (const std::string& change : {"touch " + (dir / "m/a/b/new"), "rm " + (dir / "m/a/b/2")}) {
    ASSERT_EQ(shell(change).output, "");
    expect_at_most(cost(child, walks[0]), once, change);
    shell(walks[0]);
    expect_at_most(cost(child, walks[0]), none, walks[0]);
  }
  child.ask("put new text");
  expect_at_most(cost(child, walks[0]), once, "put");
}

TEST(MountCost, OwnFiles) {
  EBLA_NEED_FUSE();
  const TempDir dir("cost");
  MountedChild child({.mounts = {dir / "m"}});
  ASSERT_EQ(child.mount_error(), "");
  const auto expect = [&](const std::string& what, const std::string& command,
                          const Counts& limits) {
    expect_at_most(cost(child, "cd " + (dir / "m") + "; " + command), limits, what);
  };
  // Before each write the kernel asks for security.capability, and a shell closes what it redirects
  // to twice.
  expect("a new file", "echo text >f",
         {{"lookup", 1}, {"create", 1}, {"getxattr", 1}, {"write", 1}, {"flush", 2}});
  expect("an append", "echo text >>f",
         {{"open", 1}, {"getattr", 1}, {"getxattr", 1}, {"write", 1}, {"flush", 2}});
  expect("a rewrite", "echo text >f",
         {{"open", 1}, {"setattr", 1}, {"getxattr", 2}, {"write", 1}, {"flush", 2}});
  expect("a copy", "cp f g",
         {{"lookup", 2},
          {"open", 1},
          {"create", 1},
          {"getattr", 1},
          {"getxattr", 1},
          {"copy_file_range", 1},
          {"flush", 1}});
  expect("1 MB in 10 pieces", "dd if=/dev/zero of=h bs=100k count=10 2>/dev/null",
         {{"lookup", 1},
          {"create", 1},
          {"getattr", 1},
          {"getxattr", 10},
          {"write", 10},
          {"flush", 2}});
  expect("a rename over", "mv g f", {{"lookup", 2}, {"getattr", 2}, {"rename", 1}});
  expect("ten files", "mkdir a; for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >a/$i; done",
         {{"mkdir", 1},
          {"lookup", 11},
          {"getattr", 11},
          {"create", 10},
          {"getxattr", 10},
          {"write", 10},
          {"flush", 20}});
  expect("a removal of ten files", "rm -r a",
         {{"readdirplus", 2},
          {"readdir", 1},
          {"getattr", 11},
          {"statfs", 1},
          {"unlink", 10},
          {"rmdir", 1}});
}

}  // namespace
}  // namespace ebla
