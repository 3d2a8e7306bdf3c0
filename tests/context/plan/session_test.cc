// Whole passes over whole sessions: what the rules come to together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "context/formats/pairs.h"
#include "context/list/turns.h"
#include "tests/context/plan/pass_driver.h"
#include "tests/context/plan/random_history.h"

namespace ebla::context {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PlanSession, BelowAllLimitsNothingHappens) {
  FakeStore store;
  PassDriver driver(store, 200'000);
  ListBuilder builder;
  for (int i = 0; i < 10; ++i) {
    builder.user(50).calls({std::to_string(i)}).result(std::to_string(i), 500).model(50);
  }
  const PassRun run = driver.prepare(builder.user(5).done());
  EXPECT_THAT(run.steps, IsEmpty());
  EXPECT_EQ(run.before, run.after);
}

TEST(PlanSession, SixLargeResultsAndNoSummaryInTheSameCall) {
  FakeStore store;
  PassDriver driver(store, 128'000);
  ListBuilder builder;
  builder.user(10).calls({"0", "1", "2", "3", "4", "5"});
  for (int i = 0; i < 6; ++i) builder.result(std::to_string(i), 19'900);
  const PassRun run = driver.prepare(builder.done());
  EXPECT_THAT(run.steps, ElementsAre("turn_budget"));
  EXPECT_TRUE(run.fits);
  EXPECT_LT(run.after, 108'800u);
}

// A long session of middling results: old ones give way in few passes, and what the model has just
// asked for is never hidden.
TEST(PlanSession, FreshResultsStayAndPassesAreRare) {
  FakeStore store;
  PassDriver driver(store, 128'000);
  ListBuilder builder;
  builder.user(500);
  size_t passes = 0;
  for (int turn = 0; turn < 150; ++turn) {
    const std::string id = std::to_string(turn);
    builder.calls({id}, "bash", 60).result(id, 2'000 + 997 * static_cast<uint64_t>(turn % 7));
    const PassRun run = driver.prepare(builder.done());
    EXPECT_FALSE(run.did("turn_budget")) << turn;
    EXPECT_FALSE(run.did("summary")) << turn;
    passes += run.did("old_results") ? 1u : 0u;
  }
  EXPECT_GE(passes, 5u);
  EXPECT_LE(passes, 15u);
}

TEST(PlanSession, MostSessionsNeedNoSummary) {
  FakeStore store;
  PassDriver driver(store, 10'000);
  ListBuilder builder;
  builder.user(200);
  for (int i = 0; i < 9; ++i) {
    builder.calls({std::to_string(i)}).result(std::to_string(i), 900);
  }
  const PassRun run = driver.prepare(builder.model(10).user(10).done());
  EXPECT_THAT(run.steps, ElementsAre("old_results"));
  EXPECT_LE(run.after, 8'000u);
}

TEST(PlanSession, ALowerWindowHoldsFromTheNextCallOn) {
  FakeStore store;
  PassDriver driver(store, 400'000);
  ListBuilder builder;
  for (int i = 0; i < 5; ++i) builder.user(5'000).model(5'000);
  const Conversation five_of_ten = builder.user(10).done();
  EXPECT_THAT(driver.prepare(five_of_ten).steps, IsEmpty());
  driver.set_window(32'000);
  const PassRun run = driver.prepare(five_of_ten);
  EXPECT_THAT(run.steps, ElementsAre("summary"));
  EXPECT_TRUE(run.fits);
  EXPECT_THAT(driver.prepare(five_of_ten).steps, IsEmpty()) << "and once";
}

TEST(PlanSession, OnlyTextsOfTheUserThatTheModelHasNotRead) {
  FakeStore store;
  store.settings.item_window_share = 1;
  PassDriver driver(store, 32'000);
  ListBuilder builder;
  for (int i = 0; i < 5; ++i) builder.user(10'000);
  const PassRun run = driver.prepare(builder.done());
  EXPECT_TRUE(run.did("smallest"));
  EXPECT_TRUE(run.fits);
  ASSERT_EQ(run.list.messages.size(), 1u);
  EXPECT_EQ(run.list.messages[0].index, 4u);
}

TEST(PlanSession, WhatCannotFitSaysWhatFillsTheWindow) {
  FakeStore store;
  PassDriver driver(store, 32'000);
  Conversation conversation = ListBuilder().user(300).model(300).user(10).done();
  conversation.overhead_tokens = 40'000;
  const PassRun run = driver.prepare(conversation);
  EXPECT_FALSE(run.fits);
  EXPECT_EQ(what_fills(run.list).front(),
            (std::pair<std::string, uint64_t>{"system and tool definitions", 40'000}));
  const PassRun again = driver.prepare(conversation);
  EXPECT_THAT(again.steps, IsEmpty());
  EXPECT_EQ(again.after, run.after);
}

TEST(PlanSession, FortyTurnsInASmallWindow) {
  FakeStore store;
  PassDriver driver(store, 10'000);
  ListBuilder builder;
  size_t passes = 0;
  for (int turn = 0; turn < 40; ++turn) {
    const PassRun run = driver.prepare(builder.user(250).done());
    EXPECT_TRUE(run.fits);
    if (run.did("summary")) ++passes;
    builder.model(250);
  }
  EXPECT_GE(passes, 1u);
  EXPECT_LE(passes, 3u);
}

TEST(PlanSession, ThirtySmallResultsThatNoNoticeWouldShrink) {
  FakeStore store;
  PassDriver driver(store, 7'000);
  ListBuilder builder;
  builder.user(10);
  std::vector<std::string> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(std::to_string(i));
  builder.calls(ids, "bash", 5);
  for (const std::string& id : ids) builder.result(id, 225);
  const PassRun run = driver.prepare(builder.done());
  EXPECT_EQ(run.before, run.after) << "a notice is no smaller";
}

TEST(PlanSession, ARefusedListShrinksEvenWhereItShouldFit) {
  FakeStore store;
  PassDriver driver(store, 100'000);
  ListBuilder builder;
  for (int i = 0; i < 10; ++i) builder.user(100).model(100);
  const Conversation small = builder.user(100).done();
  const PassRun run = driver.prepare(small, 2'100);
  EXPECT_LT(run.after, run.before);
  EXPECT_TRUE(run.did("smallest"));
}

TEST(PlanSession, SettledBytesChangeOnlyInLatePasses) {
  FakeStore store;
  PassDriver driver(store, 20'000);
  ListBuilder builder;
  std::vector<std::string> earlier;
  for (int turn = 0; turn < 60; ++turn) {
    const std::string id = std::to_string(turn);
    builder.user(40).calls({id}).result(id, 100 + 37 * static_cast<uint64_t>(turn % 20));
    const PassRun run = driver.prepare(builder.done());
    const Conversation sent = as_replaced(run.list);
    std::vector<std::string> now;
    for (const Message& message : sent.messages) now.push_back(message.identity.hex());
    const bool prefix =
        earlier.size() <= now.size() && std::equal(earlier.begin(), earlier.end(), now.begin());
    EXPECT_TRUE(prefix || run.late) << "turn " << turn;
    earlier = std::move(now);
    builder.model(30);
  }
}

// Any history, any window, called at every length as an agent does.
TEST(PlanSession, RandomHistories) {
  size_t late = 0;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const Conversation whole = random_history(random, 30);
    FakeStore store;
    PassDriver driver(store, 1'000 + random() % 8'000);
    for (size_t length = 1; length <= whole.messages.size(); ++length) {
      Conversation conversation = whole;
      conversation.messages.resize(length);
      conversation.pairing = pair_calls(conversation);
      const PassRun run = driver.prepare(conversation);
      if (run.late) ++late;
      EXPECT_LE(run.after, run.before) << "seed " << seed;
      const PassRun again = driver.prepare(conversation);
      EXPECT_EQ(again.after, run.after) << "seed " << seed << " length " << length;
      EXPECT_EQ(again.list.covered, run.list.covered) << "seed " << seed;
      if (!run.list.summary.empty()) {
        EXPECT_LE(run.list.covered, first_needed(conversation)) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(late, 150u);
}

TEST(PlanSession, BothClientsSeeTheSameAtEveryTurn) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const Conversation whole = random_history(random, 40, true);
    FakeStore store;
    const uint64_t window = 1'000 + random() % 8'000;
    PassDriver keeps(store, window);
    PassDriver replaces(store, window);
    Conversation client;
    for (const Message& message : whole.messages) {
      client.messages.push_back(message);
      Conversation full = whole;
      full.messages.resize(static_cast<size_t>(&message - whole.messages.data()) + 1);
      for (Conversation* list : {&client, &full}) list->pairing = pair_calls(*list);
      const PassRun kept = keeps.prepare(full);
      const PassRun replaced = replaces.prepare(client);
      const Conversation a = as_replaced(kept.list);
      const Conversation b = as_replaced(replaced.list);
      ASSERT_EQ(a.messages.size(), b.messages.size()) << "seed " << seed;
      for (size_t i = 0; i < a.messages.size(); ++i) {
        ASSERT_EQ(a.messages[i].identity, b.messages[i].identity) << "seed " << seed << " " << i;
      }
      client = b;
    }
  }
}

}  // namespace
}  // namespace ebla::context
