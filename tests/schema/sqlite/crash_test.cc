// Every point of a scripted workload at which the disk can fail or the machine can stop: the store
// opens again, is whole, holds everything that was acknowledged, and nothing out of its order.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/kit/gate.h"
#include "tests/schema/sqlite/fault_vfs.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

using Fault = FaultVfs::Fault;

struct Step {
  int64_t id;
  size_t bytes;
  Durability durability;
};

// Small and large ones; with passes of 4 frames the log starts anew several times.
std::vector<Step> script() {
  std::vector<Step> steps;
  for (int64_t id = 1; id <= 14; ++id) {
    steps.push_back({id, id % 4 == 0 ? size_t{70'000} : static_cast<size_t>(300 * id),
                     id % 5 == 0 ? Durability::ordered : Durability::durable});
  }
  return steps;
}

std::string bytes_of(int64_t id, size_t size) {
  return sample_bytes(size, static_cast<uint32_t>(id));
}

class CrashTest : public testing::Test {
 protected:
  struct Run {
    std::vector<int64_t> committed;     // in their order, acknowledged or not
    std::vector<int64_t> acknowledged;  // as durable
    uint64_t operations = 0;
    bool fired = false;
  };

  // Makes a store, runs the script with the fault, and keeps what a power cut at the end would
  // leave in folder_/cut-SEED.
  Run run(Fault fault, uint64_t nth, const std::vector<uint32_t>& seeds) {
    std::filesystem::remove_all(folder_.path() + "/live");
    std::filesystem::create_directories(folder_.path() + "/live");
    const std::string path = folder_.path() + "/live/store";
    make_database(path);
    Run out;
    FaultVfs disk(folder_.path() + "/live");
    {
      Writer::Options options;
      options.path = path;
      options.checkpoint_frames = 4;
      options.reserve_bytes = 0;
      options.sync = [&](int) { return disk.sync_log(path + "-wal"); };
      auto writer = start_writer(options);
      disk.arm(fault, nth);
      for (const Step& step : script()) {
        const Answer answer = put(*writer, step.id, bytes_of(step.id, step.bytes), step.durability);
        if (!answer.changes.attributes.empty()) out.committed.push_back(step.id);
        if (answer.result && step.durability == Durability::durable)
          out.acknowledged.push_back(step.id);
      }
      if (fault == Fault::error || fault == Fault::full) {
        // The disk is well again, and so must be the store. The fault may meet the first of these,
        // and be told once more to each of the two others who sync the same file.
        int good = 0;
        for (const int64_t id : {100, 101, 102, 103}) {
          while (!writer->health().writable) std::this_thread::yield();
          const Answer answer = put(*writer, id, "last");
          if (!answer.changes.attributes.empty()) out.committed.push_back(id);
          if (!answer.result) continue;
          ++good;
          out.acknowledged.push_back(id);
        }
        EXPECT_GE(good, 1) << "fault at " << nth;
      }
      for (const uint32_t seed : seeds) disk.power_cut(cut_folder(seed), seed);
      out.operations = disk.operations();
      out.fired = disk.fired();
      writer.reset();
      EXPECT_EQ(disk.drained_passes(), 0u) << "fault at " << nth;
    }
    return out;
  }

  std::string cut_folder(uint32_t seed) const {
    return folder_.path() + "/cut-" + std::to_string(seed);
  }

  void check(const Run& run, uint32_t seed, const std::string& what) {
    const std::string path = cut_folder(seed) + "/store";
    auto writer = start_writer({.path = path, .reserve_bytes = 0, .sync = {}, .disk_free = {}});
    Database db = open_database(path, Database::Mode::read_only);
    EXPECT_EQ(db.scalar("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'")
                  .value(),
              1)
        << what;
    const std::vector<int64_t> found = ids(db);
    for (const int64_t id : run.acknowledged)
      EXPECT_TRUE(std::ranges::binary_search(found, id)) << what << ": lost " << id;
    ASSERT_LE(found.size(), run.committed.size()) << what;
    EXPECT_TRUE(std::ranges::equal(found, std::span(run.committed).first(found.size())))
        << what << ": out of order";
    for (const Step& step : script()) {
      if (!std::ranges::binary_search(found, step.id)) continue;
      auto row = db.prepare("SELECT bytes FROM row WHERE id = ?1");
      ASSERT_TRUE(row);
      row->bind(step.id);
      ASSERT_TRUE(row->step().value());
      EXPECT_EQ(row->bytes(0), bytes_of(step.id, step.bytes)) << what << ": torn " << step.id;
    }
    EXPECT_TRUE(put(*writer, 1000, "goes on").result) << what;
    ASSERT_TRUE(writer->stop());
    writer.reset();
    std::filesystem::remove_all(cut_folder(seed));
  }

  void every_point(Fault fault) {
    const std::vector<uint32_t> seeds{0, 1};
    uint64_t last = run(Fault::none, 0, {}).operations;
    ASSERT_GT(last, 30u);
    uint64_t fired = 0;
    uint64_t acknowledged = 0;
    for (uint64_t nth = 1; nth <= last; ++nth) {
      const Run result = run(fault, nth, seeds);
      fired += result.fired ? 1 : 0;
      acknowledged += result.acknowledged.size();
      for (const uint32_t seed : seeds) {
        check(result, seed, "operation " + std::to_string(nth) + " seed " + std::to_string(seed));
        if (HasFatalFailure()) return;
      }
    }
    // Passes run beside the script, so that the count differs a little from run to run.
    EXPECT_GT(fired, last / 2);
    EXPECT_GT(acknowledged, last);
  }

  StoreFolder folder_{/*in_memory=*/true};
};

// The first transaction after a pass begins a new log. When it fails, its frames stand where those
// stood that the pass has taken over.
TEST_F(CrashTest, AFailedTransactionThatBeganANewLogLeavesNothing) {
  bool fired = true;
  for (uint64_t nth = 1; fired; ++nth) {
    const std::string folder = folder_.path() + "/first-" + std::to_string(nth);
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/store";
    make_database(path);
    kit::Gate after_pass;
    after_pass.open();
    FaultVfs disk(folder);
    disk.at_moment = [&](FaultVfs::Moment moment) {
      if (moment == FaultVfs::Moment::pass_ended) after_pass.pass();
    };
    Writer::Options options;
    options.path = path;
    options.checkpoint_frames = 1;
    options.reserve_bytes = 0;
    options.sync = [&](int) { return disk.sync_log(path + "-wal"); };
    auto writer = start_writer(options);
    ASSERT_TRUE(put(*writer, 1, "a few frames").result);
    after_pass.await_arrivals();
    disk.arm(Fault::error, nth);
    const bool stored = put(*writer, 2, sample_bytes(200'000, 2)).result.has_value();
    fired = disk.fired();
    while (!writer->health().writable) std::this_thread::yield();
    (void)writer->stop();  // may be told of the fault, too
    writer.reset();
    Database db = open_database(path, Database::Mode::read_only);
    EXPECT_EQ(db.scalar("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'")
                  .value(),
              1)
        << nth;
    const std::vector<int64_t> found = ids(db);
    EXPECT_TRUE(std::ranges::binary_search(found, 1)) << nth;
    EXPECT_TRUE(!stored || std::ranges::binary_search(found, 2)) << nth;
    ASSERT_LT(nth, 100U);
  }
}

// With the versions of SQLite that are in use, a checkpoint that begins on a drained log beside a
// writer can damage the database.
TEST_F(CrashTest, NoPassBeginsOnADrainedLog) {
  const std::string path = folder_.path() + "/store";
  make_database(path);
  FaultVfs disk(folder_.path());
  Writer::Options options;
  options.path = path;
  options.checkpoint_frames = 1;
  options.reserve_bytes = 0;
  options.sync = [&](int) { return disk.sync_log(path + "-wal"); };
  auto writer = start_writer(options);
  disk.arm(Fault::none, 0);
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 300; ++i) {
        const auto durability = i % 2 == 0 ? Durability::durable : Durability::ordered;
        EXPECT_TRUE(put(*writer, client * 1000 + i, sample_bytes(100, 1), durability).result);
      }
    });
  }
  for (auto& client : clients) client.join();
  ASSERT_TRUE(writer->stop());
  writer.reset();
  EXPECT_GT(disk.passes(), 0u);
  EXPECT_EQ(disk.drained_passes(), 0u);
}

// That the tests around this one would see it.
TEST_F(CrashTest, APassOnADrainedLogIsSeen) {
  const std::string path = folder_.path() + "/store";
  make_database(path);
  FaultVfs disk(folder_.path());
  Database db = open_database(path);
  ASSERT_TRUE(db.exec("INSERT INTO row VALUES(1, x'00')"));
  std::jthread([&] {
    pthread_setname_np(pthread_self(), FaultVfs::kPassThread);
    EXPECT_TRUE(db.exec("PRAGMA wal_checkpoint(PASSIVE)"));
    EXPECT_EQ(disk.drained_passes(), 0u);
    EXPECT_TRUE(db.exec("PRAGMA wal_checkpoint(PASSIVE)"));
  }).join();
  EXPECT_EQ(disk.passes(), 2u);
  EXPECT_EQ(disk.drained_passes(), 1u);
}

// A pass takes over a transaction that the writer has committed and not yet counted. When it is
// counted then, that is no reason for another pass.
TEST_F(CrashTest, ACommitCountedAfterThePassThatTookItBeginsNone) {
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder_.path() + "/store" + std::to_string(round);
    make_database(path);
    kit::Gate before_pass;
    kit::Gate after_pass;
    kit::Gate after_commit;
    after_pass.open();
    std::atomic<bool> hold = false;
    FaultVfs disk(folder_.path());
    disk.at_moment = [&](FaultVfs::Moment moment) {
      if (moment == FaultVfs::Moment::pass_begins) before_pass.pass();
      if (moment == FaultVfs::Moment::pass_ended) after_pass.pass();
      if (moment == FaultVfs::Moment::committed && hold.exchange(false)) after_commit.pass();
    };
    Writer::Options options;
    options.path = path;
    options.checkpoint_frames = 1;
    options.reserve_bytes = 0;
    options.sync = [&](int) { return disk.sync_log(path + "-wal"); };
    auto writer = start_writer(options);
    ASSERT_TRUE(put(*writer, 1, "makes a pass due").result);
    before_pass.await_arrivals();
    hold = true;
    auto late = submit(*writer, insert_unit(2, "is counted late", Durability::durable));
    after_commit.await_arrivals();
    before_pass.open();
    after_pass.await_arrivals();
    after_commit.open();
    ASSERT_TRUE(late.get().result);
    // Nothing is to happen. A pass that is wrong would begin now.
    for (int i = 0; i < 500 && disk.passes() == 1; ++i) std::this_thread::yield();
    EXPECT_EQ(disk.passes(), 1u);
    ASSERT_TRUE(put(*writer, 3, "another").result);
    after_pass.await_arrivals(2);
    ASSERT_TRUE(writer->stop());
    writer.reset();
    ASSERT_EQ(disk.drained_passes(), 0u) << "round " << round;
  }
}

TEST_F(CrashTest, PowerCutAtEveryOperation) {
  every_point(Fault::crash);
}
TEST_F(CrashTest, OneErrorAtEveryOperation) {
  every_point(Fault::error);
}
TEST_F(CrashTest, FullDiskAtEveryOperation) {
  every_point(Fault::full);
}

}  // namespace
}  // namespace ebla::sqlite::test
