// The budget of a turn: many results, each below its limit, that together fill the window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/context/list/list_builder.h"

namespace ebla::context {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Places = std::vector<std::string>;

const Room kRoom = room_of({}, 128'000, 0);

std::vector<ItemPlan> budget_plan(const WorkingList& list, const Room& room) {
  return plan_turn_budget(list, room, TurnBudget::below_trigger);
}

std::vector<std::string> ids(size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.push_back("call_" + std::to_string(i));
  return out;
}

// Which calls' results go.
std::vector<std::string> gone(const WorkingList& list, const std::vector<ItemPlan>& plans) {
  std::vector<std::string> out;
  for (const ItemPlan& plan : plans) {
    out.push_back(list.messages[plan.message].message->parts[plan.part].call_id);
  }
  return out;
}

TEST(PlanBudget, TenLargeResultsInWhateverOrderTheyArrive) {
  std::mt19937 random(7);
  std::vector<std::string> order = ids(10);
  std::vector<std::string> first;
  for (int round = 0; round < 50; ++round) {
    std::ranges::shuffle(order, random);
    ListBuilder builder;
    builder.user(10).calls(ids(10));
    for (const std::string& id : order) builder.result(id, 19'900);
    const Conversation conversation = builder.done();
    const WorkingList list = list_of(conversation);
    EXPECT_THAT(plan_fresh(list, {}, kRoom), IsEmpty());
    const auto plans = budget_plan(list, kRoom);
    ASSERT_EQ(plans.size(), 7u);
    EXPECT_STREQ(plans[0].reason, "turn_budget");
    EXPECT_TRUE(plans[0].force);
    if (round == 0) first = gone(list, plans);
    EXPECT_EQ(gone(list, plans), first);
  }
  EXPECT_EQ(first, ids(7)) << "equal ones by the place of their call";
}

TEST(PlanBudget, OneMessageOfResultsIsTheSame) {
  std::vector<std::pair<std::string, uint64_t>> results;
  for (const std::string& id : ids(10)) results.insert(results.begin(), {id, 19'900});
  const Conversation conversation = ListBuilder().user(10).calls(ids(10)).results(results).done();
  const WorkingList list = list_of(conversation);
  EXPECT_EQ(gone(list, budget_plan(list, kRoom)), ids(7));
}

TEST(PlanBudget, ReplacedOnesAreNoLongerCounted) {
  ListBuilder builder;
  builder.user(10).calls(ids(10));
  for (const std::string& id : ids(10)) builder.result(id, 19'900);
  const Conversation conversation = builder.done();
  WorkingList list = list_of(conversation);
  for (const ItemPlan& plan : budget_plan(list, kRoom)) {
    replace_part(list.messages[plan.message], plan.part, "notice", "/x", 1'100);
  }
  EXPECT_THAT(budget_plan(list, kRoom), IsEmpty()) << "three stay";
  EXPECT_FALSE(late_pass_due(list, kRoom, 0));
}

TEST(PlanBudget, LargestFirst) {
  const Conversation conversation = ListBuilder()
                                        .user(10)
                                        .calls({"a", "b", "c"})
                                        .result("a", 10'000)
                                        .result("b", 19'000)
                                        .result("c", 15'000)
                                        .done();
  const WorkingList list = list_of(conversation);
  EXPECT_EQ(gone(list, budget_plan(list, room_of({}, 60'000, 0))), Places{"b"});
  EXPECT_EQ(gone(list, budget_plan(list, room_of({}, 30'000, 0))), (Places{"b", "c"}));
}

TEST(PlanBudget, FortySmallOnesAreUntouched) {
  ListBuilder builder;
  builder.user(10).calls(ids(40));
  for (const std::string& id : ids(40)) builder.result(id, 150);
  const Conversation conversation = builder.done();
  EXPECT_THAT(budget_plan(list_of(conversation), kRoom), IsEmpty());
}

TEST(PlanBudget, BelowTheTriggerCountsTheRestOfTheList) {
  // 100,000 + 3 x 4,000 = 112,000, trigger 108,800: one goes.
  Conversation conversation = ListBuilder()
                                  .user(99'940)
                                  .calls({"a", "b", "c"})
                                  .result("a", 4'000)
                                  .result("b", 4'000)
                                  .result("c", 4'000)
                                  .done();
  EXPECT_EQ(budget_plan(list_of(conversation), kRoom).size(), 1u);
  conversation.overhead_tokens = 4'000;
  EXPECT_EQ(budget_plan(list_of(conversation), kRoom).size(), 2u);
  conversation.overhead_tokens = 9'000;  // over the trigger without any result
  EXPECT_THAT(budget_plan(list_of(conversation), kRoom), IsEmpty());
}

TEST(PlanBudget, AFullListHidesNothingSmall) {
  // 108,000 of 108,800: whatever comes is over the trigger, and 6,400 are never too many.
  ListBuilder builder;
  builder.user(107'960).calls({"a", "b"}).result("a", 3'000).result("b", 3'400);
  EXPECT_THAT(budget_plan(list_of(builder.done()), kRoom), IsEmpty());
  builder.conversation = {};
  builder.user(107'960).calls({"a", "b"}).result("a", 3'000).result("b", 3'401);
  const Conversation conversation = builder.done();
  EXPECT_EQ(gone(list_of(conversation), budget_plan(list_of(conversation), kRoom)), Places{"b"});
}

TEST(PlanBudget, BeforeOldItemsYieldOnlyHalfTheWindowCounts) {
  const Conversation conversation =
      ListBuilder().user(80'000).calls({"a", "b"}).result("a", 19'000).result("b", 19'900).done();
  const WorkingList list = list_of(conversation);
  EXPECT_THAT(plan_turn_budget(list, kRoom, TurnBudget::whole_turn), IsEmpty());
  EXPECT_EQ(budget_plan(list, kRoom).size(), 1u);
}

TEST(PlanBudget, RatioScalesBothSides) {
  ListBuilder builder;
  builder.user(10).calls(ids(5));
  for (const std::string& id : ids(5)) builder.result(id, 10'000);
  const Conversation conversation = builder.done();
  WorkingList list = list_of(conversation);
  EXPECT_THAT(budget_plan(list, kRoom), IsEmpty());
  list.ratio = 2;
  EXPECT_EQ(budget_plan(list, kRoom).size(), 2u);
}

TEST(PlanBudget, WaitsForTheWholeTurn) {
  ListBuilder builder;
  builder.user(10).calls(ids(10));
  for (const std::string& id : ids(9)) builder.result(id, 19'900);
  const Conversation unfinished = builder.done();
  EXPECT_THAT(budget_plan(list_of(unfinished), kRoom), IsEmpty());
  const Conversation finished = builder.result("call_9", 5).done();
  EXPECT_THAT(budget_plan(list_of(finished), kRoom), testing::SizeIs(6));
}

TEST(PlanBudget, CallsInMessagesOfTheirOwnAreOneTurn) {
  ListBuilder builder;
  builder.user(10).calls({"old"}).model(5).user(5).reasoning(50);
  for (const std::string& id : ids(6)) builder.calls({id});
  for (const std::string& id : ids(5)) builder.result(id, 15'000);
  EXPECT_THAT(budget_plan(list_of(builder.done()), kRoom), IsEmpty());
  const Conversation conversation = builder.result("call_5", 15'000).done();
  const WorkingList list = list_of(conversation);
  EXPECT_THAT(gone(list, budget_plan(list, kRoom)), UnorderedElementsAre("call_0", "call_1"));
}

TEST(PlanBudget, ReadersNeverAndTriedOnesStay) {
  ListBuilder builder;
  builder.user(10).calls(ids(4)).result("call_0", 30'000).result("call_1", 30'000);
  const Conversation conversation =
      builder.result("call_2", 30'000, "todo").result("call_3", 30'000).done();
  Settings settings;
  settings.never = {"todo"};
  WorkingList list = list_of(conversation, settings);
  list.own_reader = is_at(2);
  EXPECT_EQ(gone(list, budget_plan(list, kRoom)), (Places{"call_1"}))
      << "60,000 are exempt, of the other 60,000 48,800 may stay";
  keep_part(list.messages[3], 0, "");
  EXPECT_EQ(gone(list, budget_plan(list, kRoom)), (Places{"call_3"}));
  keep_part(list.messages[5], 0, "");
  EXPECT_THAT(budget_plan(list, kRoom), IsEmpty());
}

TEST(PlanBudget, SettledResultsAreNotOfTheTurn) {
  ListBuilder builder;
  builder.user(10).calls(ids(6));
  for (const std::string& id : ids(6)) builder.result(id, 19'900);
  const Conversation conversation = builder.model(5).user(5).done();
  EXPECT_THAT(budget_plan(list_of(conversation), kRoom), IsEmpty());
}

TEST(PlanBudget, UnknownWindowGoesByTheTrigger) {
  ListBuilder builder;
  builder.user(10).calls(ids(10));
  for (const std::string& id : ids(10)) builder.result(id, 19'900);
  const Conversation conversation = builder.done();
  EXPECT_EQ(budget_plan(list_of(conversation), room_of({}, 0, 0)).size(), 6u) << "85,000";
}

}  // namespace
}  // namespace ebla::context
