#include "daemon/control/session_order.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "daemon/control/worker_pool.h"

namespace ebla::daemon {
namespace {

// Runs what is due at once, on the test's thread, and keeps the order.
class SessionOrderTest : public ::testing::Test {
 protected:
  SessionOrder::Ticket enter(std::vector<std::string> names) {
    const SessionOrder::Ticket ticket = order_.next_ticket();
    order_.enter(ticket, std::move(names), [this, ticket] { started_.push_back(ticket); });
    return ticket;
  }

  std::vector<SessionOrder::Ticket> started_;
  SessionOrder order_{[](SessionOrder::Task task) { task(); }};
};

using Tickets = std::vector<SessionOrder::Ticket>;

TEST_F(SessionOrderTest, OneNameIsOneQueue) {
  const auto first = enter({"a"});
  const auto second = enter({"a"});
  const auto other = enter({"b"});
  const auto third = enter({"a"});
  EXPECT_EQ(started_, (Tickets{first, other}));
  EXPECT_EQ(order_.waiting(), 2u);
  order_.leave(first);
  EXPECT_EQ(started_, (Tickets{first, other, second}));
  order_.leave(second);
  EXPECT_EQ(started_, (Tickets{first, other, second, third}));
  order_.leave(third);
  order_.leave(other);
  EXPECT_EQ(order_.waiting(), 0u);
  const auto again = enter({"a"});
  EXPECT_EQ(started_.back(), again);
}

TEST_F(SessionOrderTest, SeveralNamesWaitForAll) {
  const auto a = enter({"a"});
  const auto b = enter({"b"});
  const auto both = enter({"b", "a", "b"});
  const auto after = enter({"a"});
  order_.leave(b);
  EXPECT_EQ(started_, (Tickets{a, b}));
  order_.leave(a);
  EXPECT_EQ(started_, (Tickets{a, b, both}));
  order_.leave(both);
  EXPECT_EQ(started_, (Tickets{a, b, both, after}));
}

TEST_F(SessionOrderTest, ClearingDropsWhatWaits) {
  const auto first = enter({"a"});
  auto alive = std::make_shared<int>(0);
  order_.enter(order_.next_ticket(), {"a"}, [alive] { FAIL(); });
  order_.clear();
  EXPECT_EQ(alive.use_count(), 1);
  order_.leave(first);
  EXPECT_EQ(started_.size(), 1u);
  enter({"a"});
  EXPECT_EQ(started_.size(), 1u);
}

TEST(SessionOrder, KeepsOrderOnManyThreads) {
  constexpr int kNames = 5;
  constexpr int kCalls = 4000;
  std::mutex mutex;
  std::condition_variable changed;
  int done = 0;
  std::vector<std::vector<int>> seen(kNames);
  std::set<int> busy;
  std::optional<SessionOrder> order;
  WorkerPool pool;
  order.emplace([&](SessionOrder::Task task) { pool.post(std::move(task)); });
  std::mt19937 random(7);
  pool.start(8);
  std::vector<std::vector<int>> wanted(kNames);
  for (int call = 0; call < kCalls; ++call) {
    const int one = static_cast<int>(random() % kNames);
    const int two = static_cast<int>(random() % kNames);
    std::set<int> names = {one, two};
    std::vector<std::string> texts;
    for (const int name : names) {
      wanted[static_cast<size_t>(name)].push_back(call);
      texts.push_back(std::to_string(name));
    }
    const auto ticket = order->next_ticket();
    order->enter(ticket, texts, [&, ticket, names, call] {
      {
        const std::lock_guard lock(mutex);
        for (const int name : names) {
          EXPECT_TRUE(busy.insert(name).second) << "two at once";
          seen[static_cast<size_t>(name)].push_back(call);
        }
      }
      std::this_thread::yield();
      {
        const std::lock_guard lock(mutex);
        for (const int name : names) busy.erase(name);
      }
      order->leave(ticket);
      const std::lock_guard lock(mutex);
      if (++done == kCalls) changed.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return done == kCalls; }));
  }
  pool.stop();
  EXPECT_EQ(seen, wanted);
}

TEST(WorkerPool, SurvivesATaskThatThrows) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ran = false;
  WorkerPool pool;
  pool.post([] { throw std::runtime_error("planned"); });
  pool.post([&] {
    const std::lock_guard lock(mutex);
    ran = true;
    changed.notify_all();
  });
  pool.start(1);
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return ran; }));
}

TEST(WorkerPool, DropsWhatItIsGivenAfterItsEnd) {
  WorkerPool pool;
  pool.start(2);
  pool.stop();
  auto alive = std::make_shared<int>(0);
  pool.post([alive] { FAIL(); });
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace ebla::daemon
