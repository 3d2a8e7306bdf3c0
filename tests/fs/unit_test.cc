// The parts that know neither libfuse nor a mount.
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <set>

#include "fs/mount_table.h"
#include "fs/mountinfo.h"
#include "fs/node_table.h"
#include "schema/base/clock.h"
#include "tests/kit/model_store.h"

namespace ebla::fs {
namespace {

TEST(MountInfo, FieldsAndEscapes) {
  const auto entries = parse_mountinfo(
      "24 30 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
      "99 30 0:51 / /home/a\\040b rw - fuse.ebla /store\\134x\\011y rw,user_id=0\n"
      "100 30 0:52 / /home/a\\040b rw master:1 propagate_from:2 - tmpfs none rw\n"
      "broken line\n");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[1].directory, "/home/a b");
  EXPECT_EQ(entries[1].type, "fuse.ebla");
  EXPECT_EQ(entries[1].source, "/store\\x\ty");
  EXPECT_EQ(entries[1].device, "0:51");
  ASSERT_NE(topmost(entries, "/home/a b"), nullptr);
  EXPECT_EQ(topmost(entries, "/home/a b")->device, "0:52") << "the later one lies on top";
  EXPECT_EQ(topmost(entries, "/home"), nullptr);
}

TEST(MountInfo, PathsAreComparedByElement) {
  EXPECT_TRUE(lies_in("/a/b", "/a"));
  EXPECT_TRUE(lies_in("/a", "/a"));
  EXPECT_TRUE(lies_in("/a", "/"));
  EXPECT_FALSE(lies_in("/ab", "/a"));
  EXPECT_FALSE(lies_in("/a", "/a/b"));
  EXPECT_EQ(clean_path("/a//b/../c/./"), "/a/c");
  EXPECT_EQ(clean_path("/"), "/");
  EXPECT_EQ(clean_path("/.."), "/");
}

TEST(MountSpec, Forms) {
  EXPECT_EQ(parse_mount_spec("/mnt")->directory, "/mnt");
  EXPECT_EQ(parse_mount_spec("/mnt")->subtree, "/");
  EXPECT_EQ(parse_mount_spec("/large_tool_results/=/mnt/")->subtree, "/large_tool_results");
  EXPECT_EQ(parse_mount_spec("/large_tool_results/=/mnt/")->directory, "/mnt");
  EXPECT_EQ(parse_mount_spec("/=/a=b")->directory, "/a=b");
  EXPECT_TRUE(parse_mount_spec("here")->directory.ends_with("/here"));
  EXPECT_TRUE(parse_mount_spec("here")->directory.starts_with("/"));
  for (const char* bad : {"", "/x=", "x=/y", "=/y", "/a/../b=/y"}) {
    EXPECT_FALSE(parse_mount_spec(bad)) << bad;
  }
}

TEST(NodeTable, CountsUntilTheLast) {
  NodeTable nodes;
  nodes.remember(5, 1);
  nodes.remember(5, 2);
  nodes.remember(21, 5);
  EXPECT_EQ(nodes.parent_of(5), 2U);
  EXPECT_FALSE(nodes.forget(5, 1));
  EXPECT_TRUE(nodes.holds(5));
  EXPECT_TRUE(nodes.forget(5, 1));
  EXPECT_FALSE(nodes.forget(5, 1)) << "more than was given";
  EXPECT_FALSE(nodes.holds(5));
  EXPECT_EQ(nodes.parent_of(5), 0U);
  nodes.remember(5, 1);
  EXPECT_TRUE(nodes.forget(5, 1000)) << "never below none";
  EXPECT_EQ(nodes.all(), std::vector<uint64_t>{21});
  EXPECT_EQ(nodes.clear(), std::vector<uint64_t>{21});
  EXPECT_TRUE(nodes.all().empty());
}

TEST(MountTable, WithoutMounts) {
  const SystemClock clock;
  const auto store = kit::make_model_store(clock);
  std::promise<void> told;
  auto table = MountTable::create(
      *store, {.fsname = "s", .socket_path = "", .version = "", .forbidden = {}});
  ASSERT_TRUE(table);
  EXPECT_TRUE((*table)->list().empty());
  EXPECT_EQ((*table)->find_for("/x").id, 0U);
  EXPECT_EQ((*table)->tree_path_of("/x"), "");
  (*table)->deliver({}, [&] { told.set_value(); });
  told.get_future().wait();
  EXPECT_TRUE((*table)->unmount_all(std::chrono::milliseconds(0)));
  EXPECT_EQ((*table)->mount({"/", "/tmp/x"}).error().code, Code::unavailable);
}

}  // namespace
}  // namespace ebla::fs
