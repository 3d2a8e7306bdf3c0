// A file system that becomes read-only under an open store, and is writable again.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/kit/private_mounts.h"
#include "tests/kit/shell.h"
#include "tests/schema/sqlite/fault_vfs.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

void expect_read_only(const Error& error) {
  EXPECT_EQ(error.code, Code::read_only) << error.text;
  EXPECT_NE(error.text.find("writable again"), std::string::npos) << error.text;
}

void expect_told(const Writer& writer) {
  const Health health = writer.health();
  EXPECT_FALSE(health.writable);
  EXPECT_EQ(health.name, "read_only") << health.text;
  EXPECT_NE(health.text.find("writable again"), std::string::npos) << health.text;
}

// The first call that is refused may be any: a write of the log, its sync, a checkpoint.
TEST(ReadOnly, WhicheverCallMeetsItTheStoreSaysSoAndGoesOnAfterwards) {
  for (uint64_t nth = 1; nth <= 8; ++nth) {
    StoreFolder folder(/*in_memory=*/true);
    make_database(folder.store());
    FaultVfs disk(folder.path());
    Writer::Options options;
    options.path = folder.store();
    options.sync = [&](int) { return disk.sync_log(folder.store() + "-wal"); };
    auto writer = start_writer(options);
    disk.arm(FaultVfs::Fault::read_only, nth);
    int64_t id = 0;
    Answer answer;
    do {
      answer = put(*writer, ++id, sample_bytes(3000, 1));
    } while (answer.result && id < 10);
    ASSERT_FALSE(answer.result) << nth;
    expect_read_only(answer.result.error());
    expect_told(*writer);
    // Too large for the cache: it meets the disk before its end.
    const Answer large = put(*writer, ++id, sample_bytes(6u << 20, 2));
    ASSERT_FALSE(large.result);
    expect_read_only(large.result.error());
    expect_told(*writer);

    disk.arm(FaultVfs::Fault::none, 0);
    while (!writer->health().writable) std::this_thread::yield();
    EXPECT_TRUE(put(*writer, ++id, "well again").result) << nth;
  }
}

TEST(ReadOnly, AnErrorOfTheDiskThatMadeItSoIsNotWhatIsTold) {
  StoreFolder folder(/*in_memory=*/true);
  make_database(folder.store());
  FaultVfs disk(folder.path());
  Writer::Options options;
  options.path = folder.store();
  bool first = true;
  options.sync = [&](int) {
    if (!std::exchange(first, false)) return disk.sync_log(folder.store() + "-wal");
    disk.arm(FaultVfs::Fault::read_only, 1);
    return EIO;
  };
  auto writer = start_writer(options);
  EXPECT_EQ(put(*writer, 1, "a").result.error().code, Code::io_error);
  const Answer next = put(*writer, 2, "b");
  ASSERT_FALSE(next.result);
  expect_read_only(next.result.error());
  expect_told(*writer);
  disk.arm(FaultVfs::Fault::none, 0);
}

// With the kernel's own errors: an ext4 that gave up, as after an error of its disk.
TEST(ReadOnly, ARealFileSystem) {
  if (geteuid() != 0 || !kit::keep_mounts_private()) GTEST_SKIP() << "needs the right to mount";
  StoreFolder outer;
  const std::string disk = outer.path() + "/disk";
  const std::string image = outer.path() + "/image";
  std::filesystem::create_directory(disk);
  const auto made = kit::shell("truncate -s 64M " + image + " && mkfs.ext4 -q -F " + image +
                               " && mount -o loop,errors=remount-ro " + image + " " + disk);
  if (made.status != 0) GTEST_SKIP() << "no ext4 on a loop device: " << made.output;
  make_database(disk + "/store");
  Writer::Options options;
  options.path = disk + "/store";
  {
    auto writer = start_writer(options);
    ASSERT_TRUE(put(*writer, 1, "a").result);
    const auto aborted = kit::shell("mount -o remount,abort " + disk);
    if (aborted.status != 0) GTEST_SKIP() << "no remount,abort: " << aborted.output;
    for (int64_t id = 2; id < 5; ++id) {
      const Answer answer = put(*writer, id, sample_bytes(3000, 1));
      ASSERT_FALSE(answer.result);
      expect_read_only(answer.result.error());
      expect_told(*writer);
      ::sync();
    }
    EXPECT_FALSE(writer->stop());
  }
  EXPECT_EQ(kit::shell("umount " + disk).status, 0);
  // Mounted anew, it has what was acknowledged.
  ASSERT_EQ(kit::shell("mount -o loop " + image + " " + disk).status, 0);
  {
    auto writer = start_writer(options);
    EXPECT_TRUE(put(*writer, 9, "b").result);
  }
  Database reader = open_database(disk + "/store");
  EXPECT_EQ(ids(reader).front(), 1);
}

}  // namespace
}  // namespace ebla::sqlite::test
