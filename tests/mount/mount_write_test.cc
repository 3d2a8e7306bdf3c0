// Clients' files on a mount of a store on disk: what outlives a kill, a restart and a full disk.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "schema/base/fd.h"
#include "schema/base/hash.h"
#include "tests/kit/check_store.h"
#include "tests/kit/mounted_child.h"
#include "tests/kit/private_mounts.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/shell.h"
#include "tests/mount/on_disk.h"

namespace ebla {
namespace {

using kit::MountedChild;
using kit::on_disk;
using kit::shell;
using kit::TempDir;

uint64_t kill_rounds() {
  const char* text = std::getenv("EBLA_KILL_ROUNDS");
  return text == nullptr ? 6 : std::strtoull(text, nullptr, 10);
}

// As a careful program does it: a new file, synced, renamed to its name, the folder synced.
bool write_safely(const std::string& folder, const std::string& name, const std::string& bytes) {
  {
    const auto file = open_file(folder + "/new", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!file || !write_full(file->get(), bytes) || ::fsync(file->get()) != 0) return false;
  }
  if (::rename((folder + "/new").c_str(), (folder + "/" + name).c_str()) != 0) return false;
  const auto dir = open_file(folder, O_RDONLY | O_DIRECTORY);
  return dir && ::fsync(dir->get()) == 0;
}

TEST(MountWrite, WhatWasSyncedOutlivesAKill) {
  EBLA_NEED_FUSE();
  ASSERT_TRUE(kit::keep_mounts_private());
  const TempDir dir("write");
  const std::string store = dir / "store";
  const std::string folder = dir / "m";
  std::mt19937_64 random(7);
  std::map<std::string, std::string> synced;
  for (uint64_t round = 0; round < kill_rounds(); ++round) {
    std::pair<std::string, std::string> begun;
    {
      MountedChild child(on_disk(store, folder));
      ASSERT_EQ(child.mount_error(), "");
      std::atomic<uint64_t> done = 0;
      std::jthread writer([&] {
        for (uint64_t i = 0;; ++i) {
          begun = {fmt::format("f{}", i % 7), kit::random_bytes(i * 7919 % 300'000, round + i)};
          if (!write_safely(folder, begun.first, begun.second)) return;
          synced[begun.first] = begun.second;
          shell("cp '" + folder + "/" + begun.first + "' '" + folder + "/copy" +
                std::to_string(i % 3) + "' 2>/dev/null");
          ++done;
          done.notify_all();
        }
      });
      const uint64_t wanted = 1 + random() % 12;
      for (uint64_t seen = 0; seen < wanted; seen = done.load()) done.wait(seen);
      child.kill_hard();
    }
    ASSERT_EQ(::umount2(folder.c_str(), MNT_DETACH), 0);
    MountedChild child(on_disk(store, folder));
    ASSERT_EQ(child.mount_error(), "");
    for (const auto& [name, bytes] : synced) {
      const std::string now = read_file(folder + "/" + name, 1 << 20).value_or("(none)");
      // The rename that the kill came upon may have been done.
      if (name == begun.first && now == begun.second) continue;
      ASSERT_TRUE(now == bytes) << name << " in round " << round << ": " << now.size() << " bytes";
    }
    if (!begun.first.empty()) {
      synced[begun.first] = read_file(folder + "/" + begun.first, 1 << 20).value_or("");
    }
    child.stop();
    ASSERT_THAT(kit::check_store(store), testing::IsEmpty()) << "round " << round;
  }
}

TEST(MountWrite, ARestartChangesNothing) {
  EBLA_NEED_FUSE();
  ASSERT_TRUE(kit::keep_mounts_private());
  const TempDir dir("write");
  const std::string folder = dir / "m";
  const std::string list = "cd '" + folder +
                           "' && find . -printf '%p %i %y %m %U %G %n %s %l %T@ %C@\\n' | sort; "
                           "find . -type f -print0 | sort -z | xargs -0 md5sum";
  std::string before;
  {
    MountedChild child(on_disk(dir / "store", folder));
    ASSERT_EQ(child.mount_error(), "");
    ASSERT_EQ(shell("cd '" + folder +
                    "' && cp -a /etc/default d && mkfifo d/p && ln -s p d/l && "
                    "seq 1 90000 >d/n && ln d/n d/m && truncate -s 50M d/hole && "
                    "dd if=/dev/zero of=d/x bs=1 count=1 seek=5000000 2>/dev/null")
                  .output,
              "");
    before = shell(list).output;
  }
  EXPECT_THAT(kit::check_store(dir / "store"), testing::IsEmpty());
  MountedChild child(on_disk(dir / "store", folder));
  ASSERT_EQ(child.mount_error(), "");
  EXPECT_EQ(shell(list).output, before);
}

// What is written into a hole is not counted before the file is committed.
TEST(MountWrite, BlocksAreTrueAfterAClose) {
  EBLA_NEED_FUSE();
  ASSERT_TRUE(kit::keep_mounts_private());
  const TempDir dir("write");
  const std::string file = dir / "m/f";
  MountedChild child(on_disk(dir / "store", dir / "m"));
  ASSERT_EQ(child.mount_error(), "");
  const auto blocks = [&] {
    struct stat info = {};
    return ::stat(file.c_str(), &info) == 0 ? info.st_blocks : -1;
  };
  ASSERT_EQ(shell("truncate -s 10M " + file).status, 0);
  ASSERT_EQ(blocks(), 0);
  ASSERT_EQ(shell("echo text | dd of=" + file + " conv=notrunc seek=99 bs=512 2>/dev/null").status,
            0);
  // The kernel is told after the close was answered.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (blocks() == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_GT(blocks(), 0);
}

// A file that is unlinked while it is open when the daemon is killed is nobody's afterwards.
TEST(MountWrite, AnOpenFileWithoutANameGoesAtTheNextStart) {
  EBLA_NEED_FUSE();
  ASSERT_TRUE(kit::keep_mounts_private());
  const TempDir dir("write");
  const std::string folder = dir / "m";
  {
    MountedChild child(on_disk(dir / "store", folder));
    ASSERT_EQ(child.mount_error(), "");
    const auto file = open_file(folder + "/f", O_RDWR | O_CREAT, 0600);
    ASSERT_TRUE(file);
    ASSERT_TRUE(write_full(file->get(), std::string(300'000, 'x')));
    ASSERT_EQ(::unlink((folder + "/f").c_str()), 0);
    ASSERT_EQ(::fsync(file->get()), 0);
    child.kill_hard();
  }
  ASSERT_EQ(::umount2(folder.c_str(), MNT_DETACH), 0);
  {
    MountedChild child(on_disk(dir / "store", folder));
    ASSERT_EQ(child.mount_error(), "");
    EXPECT_EQ(shell("ls -A '" + folder + "'").output, "conversation_history\nlarge_tool_results\n");
  }
  EXPECT_THAT(kit::check_store(dir / "store"), testing::IsEmpty());
}

// The one that fills the disk gets the error; everybody else goes on, and room that is made counts.
TEST(MountWrite, AFullDiskRefusesGrowthAlone) {
  EBLA_NEED_FUSE();
  ASSERT_TRUE(kit::keep_mounts_private());
  const TempDir dir("write");
  const std::string disk = dir / "disk";
  const std::string folder = dir / "m";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  ASSERT_EQ(::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=32m"), 0);
  {
    MountedChild child(on_disk(disk + "/store", folder));
    EXPECT_EQ(child.mount_error(), "");
    const std::string go = "cd '" + folder + "'; ";
    EXPECT_EQ(shell(go + "seq 1 1000 >kept && sync kept && md5sum <kept >/dev/null").status, 0);
    const auto filled = shell(go + "dd if=/dev/urandom of=big bs=128k count=1000");
    EXPECT_NE(filled.status, 0);
    EXPECT_NE(filled.output.find("No space left on device"), std::string::npos) << filled.output;
    EXPECT_EQ(shell(go + "seq 1 1000 | cmp - kept && ls && stat big >/dev/null").output,
              "big\nconversation_history\nkept\nlarge_tool_results\n");
    EXPECT_EQ(shell(go + "rm big; ls").output, "conversation_history\nkept\nlarge_tool_results\n");
    // Pages are given back by and by.
    bool open_again = false;
    for (int i = 0; i < 2000 && !open_again; ++i) {
      open_again = shell(go + "echo more >>kept && sync kept").status == 0;
    }
    EXPECT_TRUE(open_again);
  }
  EXPECT_THAT(kit::check_store(disk + "/store"), testing::IsEmpty());
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace ebla
