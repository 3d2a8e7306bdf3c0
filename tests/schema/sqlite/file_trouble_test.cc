// Clients' files on disks that fail, tear and fill up, and what small changes cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "schema/base/limits.h"
#include "schema/path.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"
#include "tests/schema/sqlite/fault_vfs.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

using Fault = FaultVfs::Fault;
using limits::kChunkBytes;

std::unique_ptr<Store> open_at(const std::string& path, const Clock& clock,
                               FaultVfs* disk = nullptr) {
  OpenOptions options;
  options.path = path;
  options.clock = &clock;
  options.reserve_bytes = 0;
  options.low_water_bytes = 1 << 20;
  options.high_water_bytes = 2 << 20;
  if (disk != nullptr) {
    options.sync = [disk, path](int) { return disk->sync_log(path + "-wal"); };
  }
  auto opened = open_store(options);
  if (opened) return std::move(*opened);
  ADD_FAILURE() << opened.error().text;
  return nullptr;
}

// What a file may hold after a failure: what was acknowledged last, or anything written since.
class Expected {
 public:
  void written(const std::string& path, std::optional<std::string> text) {
    auto& states = states_[path];
    if (states.empty()) states.emplace_back();  // it was not there
    states.push_back(std::move(text));
  }
  void acknowledged(const std::string& path) {
    auto& states = states_[path];
    states.erase(states.begin(), states.end() - 1);
  }
  void check(Store& store, const std::string& what) const {
    for (const auto& [path, states] : states_) {
      const auto attr = resolve(store, path);
      std::optional<std::string> text;
      if (attr) text = kit::read_file(store, attr->ino);
      EXPECT_TRUE(std::ranges::count(states, text) > 0)
          << what << ": " << path << " holds " << (text ? text->size() : 0) << " bytes"
          << (text ? "" : " (none)");
    }
  }

 private:
  std::map<std::string, std::vector<std::optional<std::string>>> states_;
};

// A careful program that goes on when something fails.
class Script {
 public:
  Script(Store& store, Expected& expected) : store_(store), expected_(expected) {}

  void run() {
    for (int round = 0; round < 3; ++round) {
      save("/notes", kit::random_bytes(150'000 + 10'000 * static_cast<size_t>(round),
                                       static_cast<uint64_t>(round)));
      append("/log", std::string(30'000, static_cast<char>('a' + round)));
      append("/log", "line\n");
      cut("/notes", 140'000);
    }
    const auto gone = kit::remove(store_, {.parent = store_.root(), .name = "log"});
    expected_.written("/log", std::nullopt);
    if (gone.ok()) expected_.acknowledged("/log");
  }

 private:
  Ino file(const std::string& name) {
    const auto there = store_.lookup(store_.root(), name);
    if (there) return there->ino;
    CreatePlan plan;
    plan.parent = store_.root();
    plan.name = name;
    plan.mode = 0600;
    const auto made = kit::create(store_, plan, {.durability = Durability::ordered});
    return made.ok() ? made->ino : 0;
  }

  // A new file, synced, renamed over the old one.
  void save(const std::string& path, const std::string& text) {
    const Ino ino = file("new");
    if (!kit::setattr(store_, {.ino = ino, .size = 0}).ok()) return;
    if (!kit::write(store_, {.ino = ino}, text).ok()) return;
    if (!kit::flush(store_, ino).ok()) return;
    texts_[path] = text;
    expected_.written(path, text);
    const auto renamed = kit::rename(store_, {.parent = store_.root(),
                                              .name = "new",
                                              .new_parent = store_.root(),
                                              .new_name = path.substr(1)});
    if (renamed.ok()) expected_.acknowledged(path);
  }

  void append(const std::string& path, const std::string& text) {
    const Ino ino = file(path.substr(1));
    if (ino == 0) return;
    if (!texts_.contains(path)) expected_.written(path, "");
    if (!kit::write(store_, {.ino = ino, .append = true}, text).ok()) return;
    texts_[path] += text;
    expected_.written(path, texts_[path]);
    // Readers see it, whatever becomes of the disk.
    EXPECT_EQ(store_.getattr(ino).value_or(Attr{}).size, texts_[path].size());
    if (kit::flush(store_, ino).ok()) expected_.acknowledged(path);
  }

  void cut(const std::string& path, uint64_t size) {
    const auto there = store_.lookup(store_.root(), path.substr(1));
    if (!there || there->size < size) return;
    std::string text = kit::read_file(store_, there->ino);
    text.resize(size);
    texts_[path] = text;
    expected_.written(path, text);
    if (kit::setattr(store_, {.ino = there->ino, .size = size}).ok()) expected_.acknowledged(path);
  }

  Store& store_;
  Expected& expected_;
  std::map<std::string, std::string> texts_;
};

class FileTrouble : public testing::Test {
 protected:
  // Operations of the disk that the script takes with the fault at the n-th.
  uint64_t run(Fault fault, uint64_t nth) {
    const std::string live = folder_.path() + "/live";
    const std::string cut = folder_.path() + "/cut";
    std::filesystem::remove_all(live);
    std::filesystem::remove_all(cut);
    std::filesystem::create_directories(live);
    const std::string what = "fault at " + std::to_string(nth);
    open_at(live + "/store", clock_).reset();
    Expected expected;
    uint64_t operations = 0;
    {
      FaultVfs disk(live);
      auto store = open_at(live + "/store", clock_, &disk);
      if (store == nullptr) return 0;
      disk.arm(fault, nth);
      Script(*store, expected).run();
      operations = disk.operations();
      if (fault == Fault::crash) {
        disk.power_cut(cut, static_cast<uint32_t>(nth % 3));
      } else {
        // The disk is well again: everything is there, and taken in the end.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!kit::sync(*store).ok()) {
          EXPECT_LT(std::chrono::steady_clock::now(), end) << what << ": never well again";
          if (std::chrono::steady_clock::now() >= end) break;
        }
        expected.check(*store, what);
      }
      store.reset();
      if (fault != Fault::crash) std::filesystem::rename(live, cut);
    }
    auto store = open_at(cut + "/store", clock_);
    if (store == nullptr) return 0;
    expected.check(*store, what);
    store.reset();
    EXPECT_THAT(kit::check_store(cut + "/store"), testing::IsEmpty()) << what;
    return operations;
  }

  void every_point(Fault fault, uint64_t stride) {
    const uint64_t last = run(Fault::none, 0);
    ASSERT_GT(last, 100u);
    for (uint64_t nth = 1; nth <= last && !HasFailure(); nth += stride) run(fault, nth);
  }

  SystemClock clock_;
  StoreFolder folder_{/*in_memory=*/true};
};

TEST_F(FileTrouble, PowerCutAnywhere) {
  every_point(Fault::crash, 7);
}

TEST_F(FileTrouble, OneErrorAnywhere) {
  every_point(Fault::error, 11);
}

TEST_F(FileTrouble, FullDiskAnywhere) {
  every_point(Fault::full, 11);
}

TEST_F(FileTrouble, FailedCommitKeepsTheBytesAndTellsWhoSyncs) {
  FaultVfs disk(folder_.path());
  auto store = open_at(folder_.store(), clock_, &disk);
  ASSERT_NE(store, nullptr);
  const std::string text = kit::random_bytes(300'000, 4);
  const Ino file = kit::make_file(*store, store->root(), "f", text);
  const Ino other = kit::make_file(*store, store->root(), "other", "o");
  disk.arm(Fault::crash, 1);
  EXPECT_EQ(kit::flush(*store, file).code(), Code::io_error);
  EXPECT_EQ(kit::read_file(*store, file), text);
  EXPECT_EQ(kit::read_file(*store, other), "o");
  disk.arm(Fault::none, 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!kit::flush(*store, file).ok()) ASSERT_LT(std::chrono::steady_clock::now(), end);
  store.reset();
  store = open_at(folder_.store(), clock_);
  EXPECT_EQ(kit::read_file(*store, file), text);
  EXPECT_EQ(kit::read_file(*store, other), "o");
}

TEST_F(FileTrouble, DamageIsNotWrittenOver) {
  auto store = open_at(folder_.store(), clock_);
  const std::string text = kit::random_bytes(2 * kChunkBytes, 4);
  const Ino file = kit::make_file(*store, store->root(), "f", text);
  store.reset();
  {
    auto db = open_database(folder_.store());
    ASSERT_TRUE(db.exec("UPDATE chunks SET sum = sum + 1 WHERE key & 0xffffff = 1"));
  }
  store = open_at(folder_.store(), clock_);
  std::string bytes(kChunkBytes, '\0');
  EXPECT_TRUE(store->read(file, 0, bytes).has_value());
  EXPECT_EQ(store->read(file, kChunkBytes, bytes).error().code, Code::io_error);
  EXPECT_EQ(store->health().last_damaged, "/f");
  ASSERT_TRUE(kit::write(*store, {.ino = file, .offset = kChunkBytes + 5}, "part").ok());
  EXPECT_EQ(kit::flush(*store, file).code(), Code::io_error);
  // The whole chunk anew mends it.
  ASSERT_TRUE(kit::write(*store, {.ino = file, .offset = kChunkBytes}, bytes).ok());
  EXPECT_TRUE(kit::flush(*store, file).ok());
  EXPECT_TRUE(store->read(file, kChunkBytes, bytes).has_value());
}

TEST_F(FileTrouble, SmallChangesWriteFewPages) {
  auto store = open_at(folder_.store(), clock_);
  const Ino file = kit::make_file(*store, store->root(), "f", std::string(70'000, 't'));
  ASSERT_TRUE(kit::write(*store, {.ino = file, .append = true}, "x").ok());
  ASSERT_TRUE(kit::flush(*store, file).ok());
  constexpr uint64_t kFrame = 16384 + 24;
  constexpr int kTimes = 10;
  uint64_t before = store->usage().wal_bytes;
  for (int i = 0; i < kTimes; ++i) {
    ASSERT_TRUE(kit::write(*store, {.ino = file, .append = true}, std::string(4096, 'a')).ok());
    ASSERT_TRUE(kit::flush(*store, file).ok());
  }
  // Two or three pages hold the bytes and the sum, one the node, one the counters.
  EXPECT_LE(store->usage().wal_bytes - before, kTimes * 6 * kFrame);
  before = store->usage().wal_bytes;
  for (uint64_t i = 0; i < kTimes; ++i) {
    ASSERT_TRUE(kit::write(*store, {.ino = file, .offset = i * 9999}, "small").ok());
    ASSERT_TRUE(kit::flush(*store, file).ok());
  }
  EXPECT_LE(store->usage().wal_bytes - before, kTimes * 6 * kFrame);
}

TEST_F(FileTrouble, UnitsOfOneTransactionWriteTheBytesOnce) {
  auto store = open_at(folder_.store(), clock_);
  const Ino file = kit::make_file(*store, store->root(), "f");
  for (int round = 0; round < 30; ++round) {
    ASSERT_TRUE(kit::write(*store, {.ino = file}, std::string(5000, 'x')).ok());
    // Handed in at once, so that most share a transaction; the last one must not see the first
    // one's bytes as newer than the time that was set between.
    std::promise<void> ended;
    store->flush(file, {.durability = Durability::ordered}, [](Result<void>, const ChangeSet&) {});
    store->setattr({.ino = file, .mtime = TimeValue{.ns = round}},
                   {.durability = Durability::ordered}, [](Result<Attr>, const ChangeSet&) {});
    store->setattr({.ino = file, .mode = 0600}, {}, [&](Result<Attr> attr, const ChangeSet&) {
      EXPECT_EQ(attr.value_or(Attr{}).mtime_ns, round);
      ended.set_value();
    });
    ended.get_future().get();
    EXPECT_EQ(store->getattr(file)->mtime_ns, round);
  }
}

TEST_F(FileTrouble, WhatLivedShortNeverReachesTheDisk) {
  auto store = open_at(folder_.store(), clock_);
  ASSERT_TRUE(kit::sync(*store).ok());
  const uint64_t before = store->usage().wal_bytes;
  const Ino file = kit::make_file(*store, store->root(), "tmp", std::string(3 << 20, 't'));
  ASSERT_TRUE(kit::remove(*store, {.parent = store->root(), .name = "tmp"}).ok());
  ASSERT_TRUE(kit::reap(*store, {file}).ok());
  EXPECT_LT(store->usage().wal_bytes - before, 1u << 20);
}

// A file system of 40 MiB on a folder, gone with the object however the test ends.
class SmallDisk {
 public:
  explicit SmallDisk(std::string folder) : folder_(std::move(folder)) {
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=40m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) {
      EXPECT_EQ(umount(folder_.c_str()), 0);
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_ = false;
};

TEST_F(FileTrouble, AFullDiskIsTheErrorOfWhoeverWritesAndRemovalsMendIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  const SmallDisk disk(folder_.path());
  if (!disk.mounted()) GTEST_SKIP() << "mounting is not allowed here";
  {
    OpenOptions options;
    options.path = folder_.store();
    options.clock = &clock_;
    auto opened = open_store(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().text;
    auto store = std::move(*opened);
    const Ino big = kit::make_file(*store, store->root(), "big");
    const Ino small = kit::make_file(*store, store->root(), "small", "kept");
    const std::string piece = kit::random_bytes(1 << 20, 3);
    uint64_t taken = 0;
    Code code = Code::internal_error;
    while (code == Code::internal_error && taken < 60) {
      const auto ended = kit::write(*store, {.ino = big, .append = true}, piece);
      code = ended.code();
      if (ended.ok()) ++taken;
    }
    EXPECT_EQ(code, Code::no_space);
    EXPECT_GT(taken, 5u);
    // A checkpoint in between may make some room again.
    std::string kept = "kept";
    code = Code::internal_error;
    while (code == Code::internal_error && kept.size() < 60 * piece.size()) {
      const auto ended = kit::write(*store, {.ino = small, .append = true}, piece);
      code = ended.code();
      if (ended.ok()) kept += piece;
    }
    EXPECT_EQ(code, Code::no_space);
    // What was taken is taken.
    EXPECT_TRUE(kit::flush(*store, big).ok());
    EXPECT_TRUE(kit::flush(*store, small).ok());
    EXPECT_EQ(store->getattr(big)->size, taken * piece.size());
    std::string bytes(piece.size(), '\0');
    EXPECT_EQ(*store->read(big, (taken - 1) * piece.size(), bytes), piece.size());
    EXPECT_TRUE(bytes == piece);
    EXPECT_TRUE(kit::read_file(*store, small) == kept);

    const auto gone = kit::remove(*store, {.parent = store->root(), .name = "big"});
    ASSERT_TRUE(gone.ok()) << gone.result.error().text;
    const auto reaped = kit::reap(*store, {big});
    ASSERT_TRUE(reaped.ok()) << reaped.result.error().text;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!kit::write(*store, {.ino = small, .append = true}, " and more").ok()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end)
          << "the space never came back: " << store->health().text << ", "
          << store->usage().host_free_bytes << " free, log " << store->usage().wal_bytes << ", "
          << store->usage().free_bytes << " of " << store->usage().database_bytes;
      std::this_thread::yield();
    }
    EXPECT_TRUE(kit::read_file(*store, small) == kept + " and more");
  }
  EXPECT_THAT(kit::check_store(folder_.store()), testing::IsEmpty());
}

}  // namespace
}  // namespace ebla::sqlite::test
