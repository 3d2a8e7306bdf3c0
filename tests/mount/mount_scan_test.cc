// Listings that are under way while their folder changes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/daemon/failing_store.h"
#include "tests/kit/fill_store.h"
#include "tests/kit/model_store.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/shell.h"
#include "tests/mount/open_folder.h"

namespace ebla {
namespace {

using kit::ChildSide;
using kit::MountedChild;
using kit::shell;
using kit::TempDir;

constexpr int kFiles = 3000;

void fill(const std::string& folder) {
  EXPECT_EQ(shell("mkdir " + folder + " && cd " + folder + " && seq -f f%g 0 " +
                  std::to_string(kFiles - 1) + " | xargs touch")
                .output,
            "");
}

class MountScan : public ::testing::TestWithParam<bool> {};

// Whether or not the kernel has the whole listing when the scan begins.
TEST_P(MountScan, DeletingMeanwhileMissesNothing) {
  EBLA_NEED_FUSE();
  const TempDir dir("scan");
  MountedChild child({.mounts = {dir / "m", dir / "r"}});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/d";
  fill(folder);
  OpenFolder scan(folder);
  OpenFolder other(folder);
  if (GetParam()) {
    ASSERT_EQ(other.again().size(), size_t{kFiles});
  }
  Names seen;
  while (const dirent* entry = readdir(scan.raw())) {
    const std::string name = entry->d_name;
    seen.insert(name);
    if (name == "." || name == ".." || name.back() == '7') continue;
    ASSERT_EQ(unlink((folder + "/" + name).c_str()), 0) << name;
    // Another one begins again and again, and so drops what is kept and keeps it anew.
    if (seen.size() % 500 != 0) continue;
    ASSERT_FALSE(other.again().contains(name)) << name;
  }
  EXPECT_EQ(seen.size(), kFiles + 2U);
  for (int i = 0; i < kFiles; ++i) ASSERT_EQ(seen.count(fmt::format("f{}", i)), 1U) << i;
  EXPECT_EQ(list(folder).size(), size_t{kFiles} / 10);
  EXPECT_EQ(shell("ls " + folder + " | wc -l && rm -r " + folder + " && ls -A " + (dir / "m") +
                  " | grep -c d$")
                .output,
            "300\n0\n");
}

TEST_P(MountScan, RemovingAllMissesNothing) {
  EBLA_NEED_FUSE();
  const TempDir dir("scan");
  MountedChild child({.mounts = {dir / "m"}});
  ASSERT_EQ(child.mount_error(), "");
  fill(dir / "m/d");
  if (GetParam()) list(dir / "m/d");
  EXPECT_EQ(shell("rm -r " + (dir / "m/d")).output, "");
  EXPECT_NE(access((dir / "m/d").c_str(), F_OK), 0);
  fill(dir / "m/d");
  if (GetParam()) list(dir / "m/d");
  EXPECT_EQ(shell("find " + (dir / "m/d") + " -delete").output, "");
  EXPECT_NE(access((dir / "m/d").c_str(), F_OK), 0);
}

TEST_P(MountScan, PlacesAreFoundAgain) {
  EBLA_NEED_FUSE();
  const TempDir dir("scan");
  MountedChild child({.mounts = {dir / "m"}});
  ASSERT_EQ(child.mount_error(), "");
  const std::string folder = dir / "m/d";
  fill(folder);
  if (GetParam()) list(folder);
  OpenFolder scan(folder);
  std::vector<std::pair<long, std::string>> places;
  for (;;) {
    const long at = telldir(scan.raw());
    const dirent* entry = readdir(scan.raw());
    if (entry == nullptr) break;
    places.emplace_back(at, entry->d_name);
  }
  ASSERT_EQ(places.size(), kFiles + 2U);
  const auto check = [&](size_t from) {
    for (size_t i = from; i < places.size(); i += 211) {
      seekdir(scan.raw(), places[i].first);
      const dirent* entry = readdir(scan.raw());
      ASSERT_NE(entry, nullptr) << i;
      ASSERT_EQ(places[i].second, entry->d_name);
    }
  };
  check(0);
  // The places of what is still there stay. Whether what has gone is met until the scan begins anew
  // is open.
  ASSERT_EQ(unlink((folder + "/" + places[2].second).c_str()), 0);
  check(3);
  seekdir(scan.raw(), places[2].first);
  Names rest = scan.rest();
  rest.erase(places[2].second);
  EXPECT_EQ(rest, list(folder));
  EXPECT_EQ(scan.again(), rest);
}

INSTANTIATE_TEST_SUITE_P(Kept, MountScan, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "Warm" : "Cold"; });

// What a test holds up: the third reading of a listing, when the first two were in vain since the
// store changed meanwhile. Its reply has names alone, of which the kernel keeps no entries.
class Stall {
 public:
  void arm() {
    const std::lock_guard lock(mutex_);
    armed_ = true;
  }
  // In the reading of a listing, with what it has read.
  void read(uint64_t after) {
    std::unique_lock lock(mutex_);
    if (!armed_) return;
    table->deliver({}, {});
    if (after != 0 || ++readings_ < 3) return;
    armed_ = false;
    reached_ = true;
    changed_.notify_all();
    // The change must not be told as long as the reply is under way; that it is not shows only by
    // waiting.
    changed_.wait_for(lock, std::chrono::milliseconds(300), [this] { return told_; });
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }
  void tell() {
    const std::lock_guard lock(mutex_);
    told_ = true;
    changed_.notify_all();
  }

  fs::MountTable* table = nullptr;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool armed_ = false;
  bool reached_ = false;
  bool told_ = false;
  int readings_ = 0;
};

struct Owned {
  std::unique_ptr<Store> owned;
};

class StallingStore final : private Owned, public daemon::FailingStore {
 public:
  StallingStore(std::unique_ptr<Store> under, std::shared_ptr<Stall> stall)
      : Owned{std::move(under)}, FailingStore(*owned), stall_(std::move(stall)) {}

  Result<std::vector<DirEntry>> readdir(Ino dir, uint64_t after, size_t limit) override {
    auto entries = FailingStore::readdir(dir, after, limit);
    stall_->read(after);
    return entries;
  }

 private:
  std::shared_ptr<Stall> stall_;
};

TEST(MountScanRace, AReplyThatIsOlderThanAChangeIsNotKept) {
  EBLA_NEED_FUSE();
  const TempDir dir("scan");
  const auto stall = std::make_shared<Stall>();
  MountedChild::Plan plan;
  plan.mounts = {dir / "m"};
  plan.open = [stall](const Clock& clock) {
    return std::make_unique<StallingStore>(kit::make_model_store(clock), stall);
  };
  plan.seed = [](ChildSide& side) {
    for (int i = 0; i < 20; ++i) side.put(fmt::format("f{}", i), "x");
  };
  plan.answer = [stall](ChildSide& side, const std::string& question) -> std::string {
    stall->table = &side.table;
    if (question == "arm") {
      stall->arm();
      return "";
    }
    stall->wait_until_reached();
    const Ino folder = side.store.lookup(side.store.root(), "large_tool_results")->ino;
    const auto done = kit::wait_for<void>([&](Completion<void> finish) {
      side.store.remove({folder, "f5", 0, "test"}, {}, std::move(finish));
    });
    side.deliver(done.changes);
    stall->tell();
    return done.result ? "" : done.result.error().text;
  };
  MountedChild child(std::move(plan));
  ASSERT_EQ(child.mount_error(), "");
  OpenFolder folder(dir / "m/large_tool_results");
  ASSERT_EQ(child.ask("arm"), "");
  Names old;
  std::thread lister([&] { old = folder.again(); });
  EXPECT_EQ(child.ask("remove"), "");
  lister.join();
  EXPECT_EQ(old.size(), 20U) << "it was read before";
  EXPECT_EQ(folder.again().size(), 19U);
}

}  // namespace
}  // namespace ebla
