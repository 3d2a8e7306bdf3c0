#include "schema/sqlite/writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/kit/gate.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

using kit::Gate;

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    make_database(folder_.store());
    options_.path = folder_.store();
    options_.reserve_bytes = 1u << 20;
  }
  Database reader() { return open_database(folder_.store(), Database::Mode::read_only); }

  StoreFolder folder_;
  Writer::Options options_;
};

TEST_F(WriterTest, DurableUnitIsSyncedBeforeItIsAnswered) {
  std::atomic<int> syncs = 0;
  options_.sync = [&](int) { return ++syncs, 0; };
  auto writer = start_writer(options_);
  const Answer answer = put(*writer, 1, "build log\n");
  ASSERT_TRUE(answer.result) << answer.result.error().text;
  EXPECT_GE(syncs.load(), 1);
  EXPECT_EQ(answer.changes.revision, 1u);
  EXPECT_EQ(answer.changes.attributes, std::vector<Ino>{1});
  EXPECT_EQ(writer->revision(), 1u);
  Database db = reader();
  EXPECT_EQ(ids(db), std::vector<int64_t>{1});
}

TEST_F(WriterTest, AcknowledgedOnlyAfterTheSyncHasEnded) {
  Gate gate;
  options_.sync = [&](int) { return gate.pass(), 0; };
  auto writer = start_writer(options_);
  auto durable = submit(*writer, insert_unit(1, "a", Durability::durable));
  gate.await_arrivals();
  // Committed and visible, but not answered.
  Database db = reader();
  EXPECT_EQ(ids(db), std::vector<int64_t>{1});
  EXPECT_EQ(durable.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  // While the sync is in flight the writer goes on, and ordered units are answered.
  const Answer ordered = put(*writer, 2, "b", Durability::ordered);
  EXPECT_TRUE(ordered.result);
  EXPECT_EQ(ordered.changes.revision, 2u);
  gate.open();
  EXPECT_TRUE(durable.get().result);
}

TEST_F(WriterTest, OrderedUnitIsSyncedInTheBackground) {
  Gate gate;
  gate.open();
  options_.sync = [&](int) { return gate.pass(), 0; };
  auto writer = start_writer(options_);
  ASSERT_TRUE(put(*writer, 1, "a", Durability::ordered).result);
  gate.await_arrivals();
}

TEST_F(WriterTest, EmptyDurableUnitSyncsWhatWasOrderedBefore) {
  std::atomic<int> syncs = 0;
  options_.sync = [&](int) { return ++syncs, 0; };
  auto writer = start_writer(options_);
  ASSERT_TRUE(put(*writer, 1, "a", Durability::ordered).result);
  EXPECT_EQ(syncs.load(), 0);
  Writer::Unit unit;
  unit.growth = false;
  unit.apply = [](Database&, ChangeSet&) { return Result<void>{}; };
  ASSERT_TRUE(submit(*writer, std::move(unit)).get().result);
  EXPECT_EQ(syncs.load(), 1);
}

TEST_F(WriterTest, ManyUnitsShareOneTransactionAndOneSync) {
  std::atomic<int> syncs = 0;
  Gate gate;
  options_.sync = [&](int) { return ++syncs, 0; };
  auto writer = start_writer(options_);
  Writer::Unit blocker;
  blocker.options.durability = Durability::ordered;
  blocker.apply = [&](Database&, ChangeSet&) { return gate.pass(), Result<void>{}; };
  auto first = submit(*writer, std::move(blocker));
  gate.await_arrivals();
  std::vector<std::future<Answer>> answers;
  for (int64_t id = 1; id <= 100; ++id)
    answers.push_back(submit(*writer, insert_unit(id, "x", Durability::durable)));
  gate.open();
  uint64_t revision = first.get().changes.revision;
  for (auto& answer : answers) {
    const Answer got = answer.get();
    ASSERT_TRUE(got.result);
    EXPECT_EQ(got.changes.revision, ++revision);
  }
  EXPECT_LE(syncs.load(), 20);  // one, unless the time for a transaction ran out in between
}

TEST_F(WriterTest, UnitThatFailsFailsAlone) {
  Gate gate;
  auto writer = start_writer(options_);
  Writer::Unit blocker;
  blocker.apply = [&](Database&, ChangeSet&) { return gate.pass(), Result<void>{}; };
  auto first = submit(*writer, std::move(blocker));
  gate.await_arrivals();
  auto good = submit(*writer, insert_unit(1, "a", Durability::durable));
  Writer::Unit bad = insert_unit(2, "half", Durability::durable);
  bad.apply = [inner = std::move(bad.apply)](Database& db, ChangeSet& changes) mutable {
    EXPECT_TRUE(inner(db, changes));
    return Result<void>(fail(Code::conflict, "second half refused"));
  };
  auto failed = submit(*writer, std::move(bad));
  Writer::Unit thrower;
  thrower.apply = [](Database&, ChangeSet&) -> Result<void> { throw std::runtime_error("bug"); };
  auto thrown = submit(*writer, std::move(thrower));
  auto duplicate = submit(*writer, insert_unit(1, "again", Durability::durable));
  auto last = submit(*writer, insert_unit(3, "c", Durability::durable));
  gate.open();
  EXPECT_TRUE(first.get().result);
  EXPECT_EQ(good.get().changes.revision, 2u);
  const Answer refused = failed.get();
  ASSERT_FALSE(refused.result);
  EXPECT_EQ(refused.result.error().code, Code::conflict);
  EXPECT_TRUE(refused.changes.empty());
  EXPECT_EQ(thrown.get().result.error().code, Code::internal_error);
  EXPECT_EQ(duplicate.get().result.error().code, Code::conflict);
  EXPECT_EQ(last.get().changes.revision, 3u);
  Database db = reader();
  EXPECT_EQ(ids(db), (std::vector<int64_t>{1, 3}));
}

TEST_F(WriterTest, DeadlineThatPassedChangesNothing) {
  auto writer = start_writer(options_);
  Writer::Unit late = insert_unit(1, "a", Durability::durable);
  late.options.deadline = Deadline::min();
  const Answer answer = submit(*writer, std::move(late)).get();
  ASSERT_FALSE(answer.result);
  EXPECT_EQ(answer.result.error().code, Code::timeout);
  Database db = reader();
  EXPECT_TRUE(ids(db).empty());
}

TEST_F(WriterTest, OriginIsToldToTheChangeSet) {
  auto writer = start_writer(options_);
  Writer::Unit unit = insert_unit(1, "a", Durability::ordered);
  unit.options.origin = 7;
  EXPECT_EQ(submit(*writer, std::move(unit)).get().changes.origin, 7u);
}

TEST_F(WriterTest, RevisionGoesOnWhereItWas) {
  options_.revision = 41;
  auto writer = start_writer(options_);
  EXPECT_EQ(put(*writer, 1, "a").changes.revision, 42u);
}

TEST_F(WriterTest, FailedSyncIsToldAndTheStoreComesBack) {
  std::atomic<int> next_error = EIO;
  options_.sync = [&](int) { return next_error.exchange(0); };
  auto writer = start_writer(options_);
  const Answer failed = put(*writer, 1, "a");
  ASSERT_FALSE(failed.result);
  EXPECT_EQ(failed.result.error().code, Code::io_error);
  EXPECT_EQ(failed.changes.attributes, std::vector<Ino>{1});
  EXPECT_EQ(writer->health().failed_syncs, 1u);
  // The disk is well again: the log is emptied into a synced database, then changes go on.
  const Answer next = put(*writer, 2, "b");
  ASSERT_TRUE(next.result) << next.result.error().text;
  EXPECT_TRUE(writer->health().writable);
  EXPECT_EQ(put(*writer, 3, "c").changes.revision, 3u);
}

TEST_F(WriterTest, WhileAReaderKeepsTheLogAFailedStoreStaysReadOnly) {
  std::atomic<int> next_error = EIO;
  options_.sync = [&](int) { return next_error.exchange(0); };
  auto writer = start_writer(options_);
  ASSERT_TRUE(put(*writer, 1, "a", Durability::ordered).result);
  Database db = reader();
  ASSERT_TRUE(db.exec("BEGIN; SELECT count(*) FROM row;"));
  ASSERT_FALSE(put(*writer, 2, "b").result);
  const Answer refused = put(*writer, 3, "c", Durability::ordered);
  ASSERT_FALSE(refused.result);
  EXPECT_EQ(refused.result.error().code, Code::io_error);
  const Health health = writer->health();
  EXPECT_FALSE(health.writable);
  EXPECT_EQ(health.name, "io_error");
  ASSERT_TRUE(db.exec("COMMIT"));
  EXPECT_EQ(ids(db), (std::vector<int64_t>{1, 2}));
  while (!writer->health().writable) std::this_thread::yield();
  EXPECT_TRUE(put(*writer, 4, "d").result);
}

TEST_F(WriterTest, StopRunsWhatIsQueuedAndEmptiesTheLog) {
  auto writer = start_writer(options_);
  std::vector<std::future<Answer>> answers;
  for (int64_t id = 1; id <= 300; ++id)
    answers.push_back(submit(*writer, insert_unit(id, sample_bytes(3000, 1), Durability::durable)));
  ASSERT_TRUE(writer->stop());
  for (auto& answer : answers) EXPECT_TRUE(answer.get().result);
  EXPECT_EQ(writer->wal_bytes(), 0u);
  const Answer late = put(*writer, 301, "x");
  ASSERT_FALSE(late.result);
  EXPECT_EQ(late.result.error().code, Code::unavailable);
  EXPECT_TRUE(writer->stop());
  Database db = reader();
  EXPECT_EQ(ids(db).size(), 300u);
}

TEST_F(WriterTest, ManyClientsAtOnce) {
  options_.checkpoint_frames = 16;
  auto writer = start_writer(options_);
  std::vector<std::thread> clients;
  std::atomic<int> good = 0;
  for (int client = 0; client < 16; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 40; ++i) {
        const auto durability = i % 3 == 0 ? Durability::ordered : Durability::durable;
        if (put(*writer, client * 1000 + i, sample_bytes(8192, 3), durability).result) ++good;
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(good.load(), 640);
  EXPECT_EQ(writer->revision(), 640u);
  ASSERT_TRUE(writer->stop());
  Database db = reader();
  EXPECT_EQ(ids(db).size(), 640u);
}

TEST_F(WriterTest, IdleWorkRunsUntilItIsDoneAndAgainAfterTheNextCommit) {
  Gate gate;
  gate.open();
  std::atomic<int> left = 3;
  auto writer = start_writer(options_);
  writer->add_idle("count", [&](Database& db, ChangeSet&) -> Result<bool> {
    if (auto done = db.exec("UPDATE row SET bytes = x'00' WHERE id = 1"); !done)
      return std::unexpected(done.error());
    gate.pass();
    return --left > 0;
  });
  gate.await_arrivals(3);
  ASSERT_TRUE(put(*writer, 1, "a").result);
  gate.await_arrivals(4);
  ASSERT_TRUE(writer->stop());
}

TEST_F(WriterTest, IdleWorkThatFailsIsRolledBack) {
  Gate gate;
  gate.open();
  auto writer = start_writer(options_);
  writer->add_idle("fail", [&](Database& db, ChangeSet&) -> Result<bool> {
    EXPECT_TRUE(db.exec("INSERT INTO row VALUES(9, x'00')"));
    gate.pass();
    return fail(Code::io_error, "half way");
  });
  gate.await_arrivals();
  ASSERT_TRUE(put(*writer, 1, "a").result);
  gate.await_arrivals(2);
  ASSERT_TRUE(writer->stop());
  Database db = reader();
  EXPECT_EQ(ids(db), std::vector<int64_t>{1});
}

TEST(Locked, AnotherProgramIsWaitedForOnceAndThenRefusedAtOnce) {
  StoreFolder folder(true);
  make_database(folder.store());
  Writer::Options options;
  options.path = folder.store();
  auto writer = start_writer(options);
  ASSERT_TRUE(put(*writer, 1, "a").result);
  std::atomic<int> idle_steps = 0;
  Database other = open_database(folder.store());
  ASSERT_TRUE(other.exec("BEGIN EXCLUSIVE"));
  writer->add_idle("test", [&](Database&, ChangeSet&) -> Result<bool> {
    ++idle_steps;
    return false;
  });
  std::vector<std::future<Answer>> answers;
  for (int64_t id = 2; id < 50; ++id) {
    answers.push_back(submit(*writer, insert_unit(id, "b", Durability::durable)));
  }
  for (auto& answer : answers) EXPECT_EQ(answer.get().result.error().code, Code::busy);
  EXPECT_FALSE(writer->health().writable);
  EXPECT_EQ(writer->health().name, "busy");
  EXPECT_EQ(idle_steps, 0);
  ASSERT_TRUE(other.exec("COMMIT"));
  EXPECT_TRUE(put(*writer, 2, "b").result);
  EXPECT_TRUE(writer->health().writable);
  EXPECT_EQ(ids(other), (std::vector<int64_t>{1, 2}));
  while (idle_steps == 0) std::this_thread::yield();  // its turn comes after a change
}

}  // namespace
}  // namespace ebla::sqlite::test
