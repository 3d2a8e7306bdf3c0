// Disks that are full, and a process that may not write longer files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <vector>

#include "schema/base/fd.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

constexpr uint64_t kMiB = 1u << 20;

TEST(Marks, GrowthEndsBelowTheLowOneAndGoesOnAboveTheHighOne) {
  StoreFolder folder;
  make_database(folder.store());
  std::atomic<uint64_t> free_mib = 1000;
  Writer::Options options;
  options.path = folder.store();
  options.reserve_bytes = kMiB;
  options.disk_free = [&](const std::string&) {
    return Writer::DiskFree{free_mib * kMiB, 100'000 * kMiB};
  };
  auto writer = start_writer(options);
  struct stat info{};
  ASSERT_EQ(stat((folder.store() + ".reserve").c_str(), &info), 0);
  EXPECT_GE(static_cast<uint64_t>(info.st_blocks) * 512, kMiB);
  ASSERT_TRUE(put(*writer, 1, "a").result);

  free_mib = 63;
  EXPECT_FALSE(writer->health().writable);
  EXPECT_EQ(writer->health().name, "no_space");
  const Answer refused = put(*writer, 2, "b");
  ASSERT_FALSE(refused.result);
  EXPECT_EQ(refused.result.error().code, Code::no_space);
  EXPECT_TRUE(code_info(refused.result.error().code).retry);
  EXPECT_TRUE(remove(*writer, 1).result);
  free_mib = 127;  // between the marks: stays refused
  EXPECT_EQ(put(*writer, 3, "c").result.error().code, Code::no_space);
  free_mib = 129;
  EXPECT_TRUE(writer->health().writable);
  EXPECT_TRUE(put(*writer, 4, "d").result);
  free_mib = 65;  // between the marks: stays accepted
  EXPECT_TRUE(put(*writer, 5, "e").result);
}

TEST(Marks, FreePagesOfTheDatabaseCount) {
  StoreFolder folder;
  make_database(folder.store());
  std::atomic<uint64_t> free_mib = 1000;
  Writer::Options options;
  options.path = folder.store();
  options.reserve_bytes = kMiB;
  options.low_water_bytes = 4 * kMiB;
  options.high_water_bytes = 8 * kMiB;
  options.disk_free = [&](const std::string&) {
    return Writer::DiskFree{free_mib * kMiB, 100'000 * kMiB};
  };
  auto writer = start_writer(options);
  ASSERT_TRUE(put(*writer, 1, sample_bytes(10 * kMiB, 1)).result);
  free_mib = 3;
  EXPECT_FALSE(put(*writer, 2, "b").result);
  ASSERT_TRUE(remove(*writer, 1).result);
  EXPECT_TRUE(put(*writer, 3, "c").result);
}

TEST(Marks, SmallDisksHaveSmallOnes) {
  StoreFolder folder;
  make_database(folder.store());
  std::atomic<uint64_t> free_mib = 32;
  Writer::Options options;
  options.path = folder.store();
  options.disk_free = [&](const std::string&) {
    return Writer::DiskFree{free_mib * kMiB, 32 * kMiB};
  };
  auto writer = start_writer(options);
  EXPECT_EQ(std::filesystem::file_size(folder.store() + ".reserve"), 2 * kMiB);
  free_mib = 3;
  EXPECT_TRUE(put(*writer, 1, "a").result);
  free_mib = 1;
  EXPECT_FALSE(put(*writer, 2, "b").result);
  free_mib = 5;
  EXPECT_TRUE(put(*writer, 3, "c").result);
}

// A file system of 24 MiB that a test may fill.
class SmallDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
    if (mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=24m") != 0)
      GTEST_SKIP() << "mounting is not allowed here";
    mounted_ = true;
    make_database(folder_.store());
  }
  void TearDown() override {
    if (mounted_) {
      EXPECT_EQ(umount(folder_.path().c_str()), 0);
    }
  }
  std::string filler() const { return folder_.path() + "/filler"; }
  // Takes every block that is left.
  void fill() {
    const UniqueFd fd(open(filler().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::string block(4096, 'f');
    while (::write(fd.get(), block.data(), block.size()) > 0) {
    }
  }

  StoreFolder folder_;
  bool mounted_ = false;
};

TEST_F(SmallDisk, FilledByTheStoreItself) {
  Writer::Options options;
  options.path = folder_.store();
  options.checkpoint_frames = 64;
  std::vector<int64_t> kept;
  {
    auto writer = start_writer(options);
    int64_t id = 1;
    for (;; ++id) {
      ASSERT_LT(id, 1000);
      const Answer answer = put(*writer, id, sample_bytes(200'000, static_cast<uint32_t>(id)));
      if (!answer.result) {
        EXPECT_EQ(answer.result.error().code, Code::no_space);
        break;
      }
      kept.push_back(id);
    }
    EXPECT_GT(kept.size(), 20u);
    EXPECT_EQ(writer->health().name, "no_space");
    // Removals go on, and free enough for growth to go on.
    for (int i = 0; i < 30; ++i) {
      ASSERT_TRUE(remove(*writer, kept.back()).result);
      kept.pop_back();
    }
    const Answer again = put(*writer, 5000, "room again");
    ASSERT_TRUE(again.result) << again.result.error().text;
    kept.push_back(5000);
    ASSERT_TRUE(writer->stop());
  }
  Database db = open_database(folder_.store());
  EXPECT_EQ(ids(db), kept);
}

// Several of them share a transaction, and the log is long: whatever it holds must still find its
// place in the database, or nothing could be removed any more.
TEST_F(SmallDisk, FilledByManyUnitsAtOnce) {
  Writer::Options options;
  options.path = folder_.store();
  std::vector<int64_t> kept;
  {
    auto writer = start_writer(options);
    bool full = false;
    for (int64_t id = 1; !full; id += 6) {
      ASSERT_LT(id, 100);
      std::vector<std::future<Answer>> answers;
      for (int64_t i = id; i < id + 6; ++i) {
        answers.push_back(
            submit(*writer, insert_unit(i, sample_bytes(kMiB, 1), Durability::durable)));
      }
      for (int64_t i = id; auto& one : answers) {
        const Answer answer = one.get();
        if (answer.result) {
          kept.push_back(i);
        } else {
          EXPECT_EQ(answer.result.error().code, Code::no_space) << answer.result.error().text;
          full = true;
        }
        ++i;
      }
    }
    // How far it comes depends on when the log is emptied. If never, all is needed twice, beside
    // the reserve and the low mark, 1/16 of the disk each.
    EXPECT_GE(kept.size(), 8u) << "a third of the disk";
    EXPECT_EQ(writer->health().name, "no_space");
    while (kept.size() > 4) {
      const Answer removed = remove(*writer, kept.back());
      ASSERT_TRUE(removed.result) << removed.result.error().text;
      kept.pop_back();
    }
    const Answer again = put(*writer, 5000, "room again");
    ASSERT_TRUE(again.result) << again.result.error().text;
    kept.push_back(5000);
    ASSERT_TRUE(writer->stop());
  }
  Database db = open_database(folder_.store());
  EXPECT_EQ(ids(db), kept);
}

TEST_F(SmallDisk, FilledByOthersToTheLastBlock) {
  Writer::Options options;
  options.path = folder_.store();
  auto writer = start_writer(options);
  for (int64_t id = 1; id <= 20; ++id)
    ASSERT_TRUE(put(*writer, id, sample_bytes(100'000, static_cast<uint32_t>(id))).result);
  fill();
  EXPECT_EQ(put(*writer, 21, sample_bytes(100'000, 21)).result.error().code, Code::no_space);
  // The reserve gives removals and checkpoints the room that they need.
  for (int64_t id = 1; id <= 10; ++id) {
    const Answer removed = remove(*writer, id);
    ASSERT_TRUE(removed.result) << id << ": " << removed.result.error().text;
  }
  ASSERT_EQ(unlink(filler().c_str()), 0);
  const Answer again = put(*writer, 22, sample_bytes(100'000, 22));
  ASSERT_TRUE(again.result) << again.result.error().text;
  ASSERT_TRUE(writer->stop());
  Database db = open_database(folder_.store(), Database::Mode::read_only);
  EXPECT_EQ(ids(db), (std::vector<int64_t>{11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22}));
}

TEST_F(SmallDisk, FilledWhileTheMarksDoNotSeeIt) {
  Writer::Options options;
  options.path = folder_.store();
  options.low_water_bytes = 0;
  options.high_water_bytes = 0;
  auto writer = start_writer(options);
  fill();
  int64_t id = 1;
  Answer answer;
  do {
    ASSERT_LT(id, 500);
    answer = put(*writer, id, sample_bytes(100'000, static_cast<uint32_t>(id)));
    ++id;
  } while (answer.result);
  EXPECT_EQ(answer.result.error().code, Code::no_space) << answer.result.error().text;
  ASSERT_EQ(unlink(filler().c_str()), 0);
  while (!writer->health().writable) usleep(1000);
  const Answer again = put(*writer, 900, "room again");
  ASSERT_TRUE(again.result) << again.result.error().text;
  ASSERT_TRUE(writer->stop());
}

// Runs in a child: a lowered hard limit is for ever. Exit 0: as it should be.
int run_with_file_limit(const std::string& path) {
  struct rlimit limit{};
  limit.rlim_cur = 8 * kMiB;
  limit.rlim_max = 8 * kMiB;
  std::signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 10;
  Writer::Options options;
  options.path = path;
  auto writer = start_writer(options);
  int64_t id = 1;
  for (;; ++id) {
    if (id > 1000) return 11;
    const Answer answer = put(*writer, id, sample_bytes(300'000, 1));
    if (answer.result) continue;
    if (answer.result.error().code != Code::no_space) return 12;
    break;
  }
  if (id < 10) return 13;
  // One unit larger than the log may become, then a removal, then room again.
  if (put(*writer, 500, sample_bytes(9 * kMiB, 1)).result) return 14;
  for (int64_t old = 1; old < id; ++old) {
    if (!remove(*writer, old).result) return 15;
  }
  if (!put(*writer, 501, "room again").result) return 16;
  if (!writer->stop()) return 17;
  return 0;
}

TEST(FileLimit, IsAnErrorAndNotTheEnd) {
  StoreFolder folder;
  make_database(folder.store());
  const pid_t child = fork();
  if (child == 0) _exit(run_with_file_limit(folder.store()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Database db = open_database(folder.store());
  EXPECT_EQ(ids(db), std::vector<int64_t>{501});
}

}  // namespace
}  // namespace ebla::sqlite::test
