// A disk that takes its time: whoever asks for a sync waits, and nobody else.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "schema/base/fd.h"
#include "schema/sqlite/open.h"
#include "tests/kit/gate.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/private_mounts.h"
#include "tests/kit/real_texts.h"
#include "tests/schema/sqlite/fault_vfs.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::TempDir;
using sqlite::test::FaultVfs;

// Lives in the child. While the gate is shut, every sync of the store's log and database hangs.
struct SlowDisk {
  explicit SlowDisk(const std::string& folder) : disk(folder) {
    gate.open();
    disk.at_moment = [this](FaultVfs::Moment moment) {
      if (moment == FaultVfs::Moment::syncs) gate.pass();
    };
  }
  kit::Gate gate;
  FaultVfs disk;
};

std::string text_of(int number) {
  return kit::random_bytes(150'000, static_cast<uint64_t>(number));
}

// Asks for what no kernel has in its cache: the results, of which each is looked at once.
class Reader {
 public:
  explicit Reader(std::string mount) : mount_(std::move(mount)) {}

  void look() {
    const std::string name = fmt::format("{}/large_tool_results/r{}", mount_, ++next_);
    struct stat info{};
    ASSERT_EQ(lstat(name.c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_size, 150'000);
    EXPECT_TRUE(read_file(name, 1 << 20).value_or("") == text_of(next_)) << name;
    struct statvfs space{};
    ASSERT_EQ(statvfs(mount_.c_str(), &space), 0);
    EXPECT_GT(space.f_blocks, 0u);
    std::set<std::string> names;
    DIR* folder = opendir((mount_ + "/large_tool_results").c_str());
    ASSERT_NE(folder, nullptr);
    while (const dirent* entry = readdir(folder)) names.insert(entry->d_name);
    closedir(folder);
    EXPECT_TRUE(names.contains("r1") && names.contains("r5"));
  }

 private:
  std::string mount_;
  int next_ = 0;
};

MountedChild::Plan slow(const TempDir& dir) {
  MountedChild::Plan plan;
  plan.mounts = {dir / "m"};
  const auto disk = std::make_shared<std::unique_ptr<SlowDisk>>();
  plan.open = [disk, folder = dir.path()](const Clock& clock) -> std::unique_ptr<Store> {
    *disk = std::make_unique<SlowDisk>(folder);
    sqlite::OpenOptions options;
    options.path = folder + "/store";
    options.clock = &clock;
    options.sync = [disk, log = folder + "/store-wal"](int) { return (*disk)->disk.sync_log(log); };
    auto opened = sqlite::open_store(options);
    return opened ? std::move(*opened) : nullptr;
  };
  plan.seed = [](ChildSide& side) {
    for (int i = 1; i <= 5; ++i) side.put(fmt::format("r{}", i), text_of(i));
  };
  plan.answer = [disk](ChildSide&, const std::string& question) {
    kit::Gate& gate = (*disk)->gate;
    if (question == "shut") gate.shut();
    if (question == "open") gate.open();
    if (question.starts_with("await "))
      gate.await_arrivals(std::stoul(question.substr(question.find(' '))));
    return std::string();
  };
  return plan;
}

TEST(MountSlowDisk, WhoDoesNotAskForASyncWaitsForNone) {
  EBLA_NEED_FUSE();
  ASSERT_TRUE(kit::keep_mounts_private());
  const TempDir dir("slow");
  const std::string m = dir / "m";
  MountedChild child(slow(dir));
  ASSERT_EQ(child.mount_error(), "");
  Reader reader(m);
  reader.look();

  child.ask("shut");
  const auto file = open_file(m + "/synced", O_RDWR | O_CREAT, 0600);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(write_full(file->get(), "text").has_value());
  std::atomic<bool> synced = false;
  std::jthread caller([&] {
    EXPECT_EQ(::fsync(file->get()), 0);
    synced = true;
  });
  child.ask("await 1");
  reader.look();
  EXPECT_EQ(read_file(m + "/synced", 100).value_or(""), "text");

  // Nor do other changes wait, nor those who read when a checkpoint hangs as well.
  {
    const auto big = open_file(m + "/big", O_WRONLY | O_CREAT, 0600);
    ASSERT_TRUE(big.has_value());
    const std::string piece = kit::random_bytes(1 << 20, 9);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(write_full(big->get(), piece).has_value());
  }
  ASSERT_EQ(::rename((m + "/big").c_str(), (m + "/bigger").c_str()), 0);
  ASSERT_EQ(::mkdir((m + "/folder").c_str(), 0700), 0);
  child.ask("await 2");
  reader.look();
  ASSERT_EQ(::unlink((m + "/bigger").c_str()), 0);
  reader.look();

  EXPECT_FALSE(synced) << "nothing hung: this has shown nothing";
  child.ask("open");
  caller.join();
  reader.look();
}

}  // namespace
}  // namespace ebla
