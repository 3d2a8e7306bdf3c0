#include "tests/parity/both_sides.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "schema/sqlite/open.h"
#include "tests/kit/shell.h"

namespace ebla::kit {

std::unique_ptr<TempDir> BothSides::folder;
std::unique_ptr<MountedChild> BothSides::child;

void BothSides::SetUpTestSuite() {
  if (!MountedChild::unusable().empty()) return;
  folder = std::make_unique<TempDir>("parity");
  const std::string path = *folder / "store";
  MountedChild::Plan plan;
  plan.mounts = {*folder / "m"};
  plan.options.allow_other = true;
  plan.open = [path](const Clock& clock) {
    sqlite::OpenOptions options;
    options.path = path;
    options.clock = &clock;
    auto store = sqlite::open_store(options);
    return store ? std::move(*store) : nullptr;
  };
  child = std::make_unique<MountedChild>(std::move(plan));
}

void BothSides::TearDownTestSuite() {
  child.reset();
  folder.reset();
}

void BothSides::SetUp() {
  EBLA_NEED_FUSE();
  ASSERT_EQ(child->mount_error(), "");
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  mounted_ = *folder / ("m/" + name);
  native_ = *folder / name;
  ASSERT_EQ(::mkdir(mounted_.c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(native_.c_str(), 0755), 0);
}

void BothSides::TearDown() {
  if (mounted_.empty()) return;
  EXPECT_EQ(shell(fmt::format("cd '{}/..' && rm -rf '{}' && ls -A", mounted_, mounted_)).output,
            "conversation_history\nlarge_tool_results\n");
}

std::string BothSides::tree_of(const std::string& folder) {
  return shell(fmt::format("cd '{}' && find . \\( -type d -printf '%p %y %m %U %G %n\\n' -o "
                           "-printf '%p %y %m %U %G %n %s %l\\n' \\) | sort; "
                           "find . -type f -print0 | sort -z | xargs -r0 md5sum",
                           folder))
      .output;
}

void BothSides::expect_same(const std::string& script) {
  const auto run = [&](const std::string& root) {
    return shell(fmt::format("cd '{}' || exit 99\n{}", root, script));
  };
  const auto there = run(mounted_);
  const auto here = run(native_);
  EXPECT_EQ(there.output, here.output);
  EXPECT_EQ(there.status, here.status);
  EXPECT_EQ(tree_of(mounted_), tree_of(native_));
}

}  // namespace ebla::kit
