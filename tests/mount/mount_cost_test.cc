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
    if (name == "release" || name == "releasedir" || name == "forget") continue;
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
  expect("first ls -l", "ls -l " + folder, {{"opendir", 1}, {"readdirplus", 3}, {"getxattr", 2}});
  expect("second ls -l", "ls -l " + folder,
         {{"opendir", 1}, {"readdirplus", 2}, {"getattr", 1}, {"getxattr", 2}});
  const Counts list = {{"opendir", 1}, {"readdirplus", 1}, {"readdir", 1}, {"getattr", 1}};
  expect("ls", "ls " + folder, list);
  Counts grep = list;
  grep["opendir"] = 2;
  grep["statfs"] = 1;
  grep["open"] = 51;
  Counts cold_grep = grep;
  cold_grep["read"] = 50;
  expect("first grep -r", "grep -rF absent " + folder, cold_grep);
  grep["getattr"] = 51;
  expect("second grep -r", "grep -rF absent " + folder, grep);
  grep["getattr"] = 1;
  expect("third grep -r", "grep -rF absent " + folder, grep);
  expect("first miss", "stat " + folder + "/absent", {{"lookup", 1}});
  expect("second miss", "stat " + folder + "/absent", {});
}

}  // namespace
}  // namespace ebla
