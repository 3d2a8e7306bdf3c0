// Units that their caller's own thread may run.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "schema/sqlite/writer.h"
#include "tests/kit/gate.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

using kit::Gate;

class WriterHereTest : public testing::Test {
 protected:
  WriterHereTest() {
    make_database(folder_.store());
    options_.path = folder_.store();
    options_.reserve_bytes = 1u << 20;
  }

  static Writer::Unit here_unit(int64_t id, Durability durability = Durability::ordered) {
    Writer::Unit unit = insert_unit(id, "a", durability);
    unit.options.here = true;
    return unit;
  }
  // The thread on which the unit ended.
  static std::thread::id ended_on(Writer& writer, Writer::Unit unit) {
    std::promise<std::thread::id> ended;
    unit.done = [&](const Result<void>& result, const ChangeSet&) {
      EXPECT_TRUE(result);
      ended.set_value(std::this_thread::get_id());
    };
    writer.submit(std::move(unit));
    return ended.get_future().get();
  }

  StoreFolder folder_;
  Writer::Options options_;
};

TEST_F(WriterHereTest, RunsOnItsCallersThreadWhenNobodyWrites) {
  auto writer = start_writer(options_);
  for (int64_t id = 1; id <= 100; ++id) {
    EXPECT_EQ(ended_on(*writer, here_unit(id)), std::this_thread::get_id());
  }
  EXPECT_EQ(writer->revision(), 100U);
  EXPECT_NE(ended_on(*writer, here_unit(101, Durability::durable)), std::this_thread::get_id())
      << "a sync is not for the caller to wait for";
}

TEST_F(WriterHereTest, WaitsForNobodyAndOvertakesNobody) {
  Gate gate;
  auto writer = start_writer(options_);
  Writer::Unit blocker;
  blocker.apply = [&](Database&, ChangeSet&) { return gate.pass(), Result<void>{}; };
  auto first = submit(*writer, std::move(blocker));
  gate.await_arrivals();
  auto second = submit(*writer, here_unit(1));  // returns although the writer is stuck
  EXPECT_EQ(second.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  gate.open();
  EXPECT_EQ(first.get().changes.revision + 1, second.get().changes.revision);
}

// No thread of the writer's was told of the unit, but what follows it must come.
TEST_F(WriterHereTest, IsSyncedAndFollowedByIdleWork) {
  Gate synced;
  synced.open();
  options_.sync = [&](int) { return synced.pass(), 0; };
  auto writer = start_writer(options_);
  Gate worked;
  worked.open();
  writer->add_idle("count", [&](Database&, ChangeSet&) -> Result<bool> {
    worked.pass();
    return false;
  });
  worked.await_arrivals();
  ASSERT_TRUE(submit(*writer, here_unit(1)).get().result);
  worked.await_arrivals(2);
  synced.await_arrivals();
}

TEST_F(WriterHereTest, ManyThreadsAndAStop) {
  auto writer = start_writer(options_);
  constexpr int64_t kEach = 200;
  std::atomic<int64_t> good = 0;
  std::atomic<int64_t> refused = 0;
  const auto run = [&](int64_t thread) {
    for (int64_t i = 0; i < kEach; ++i) {
      Writer::Unit unit = here_unit(thread * kEach + i + 1);
      unit.done = [&](const Result<void>& result, const ChangeSet&) {
        ++(result ? good : refused);
      };
      writer->submit(std::move(unit));
      if (thread == 3 && i == kEach / 2) (void)writer->stop();
    }
  };
  std::vector<std::jthread> threads;
  for (int64_t thread = 0; thread < 4; ++thread) threads.emplace_back(run, thread);
  threads.clear();
  EXPECT_EQ(good + refused, 4 * kEach) << "each is answered once";
  EXPECT_GE(good, kEach / 2);
  Database db = open_database(folder_.store(), Database::Mode::read_only);
  EXPECT_EQ(static_cast<int64_t>(ids(db).size()), good.load());
}

}  // namespace
}  // namespace ebla::sqlite::test
