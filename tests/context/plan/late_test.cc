// When a late pass begins, and its two lossless steps: old arguments, old results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/context/list/list_builder.h"

namespace ebla::context {
namespace {

using testing::IsEmpty;
using Places = std::vector<std::string>;

// The steps go on to the relief alone, so that what they take is easily told.
Room to_the_relief(Room room) {
  room.goal = room.trigger - room.relief;
  return room;
}
const Room kTen = to_the_relief(room_of({}, 10'000, 0));

// A call with one long argument, as list_items() would find it.
void argument(WorkingList& list, size_t message, size_t part, uint64_t tokens,
              std::string name = "content") {
  list.messages[message].parts[part].arguments.push_back(
      {std::move(name), facts_of("a", tokens), false, false, "", "", tokens});
}

TEST(PlanLate, BeginsAtTheTrigger) {
  const Conversation below = ListBuilder().user(10).model(8'479).user(10).done();
  EXPECT_EQ(list_of(below).counted(), 8'499u);
  EXPECT_FALSE(late_pass_due(list_of(below), kTen, 0));
  const Conversation at = ListBuilder().user(10).model(8'480).user(10).done();
  EXPECT_TRUE(late_pass_due(list_of(at), kTen, 0));
}

TEST(PlanLate, DefinitionsCount) {
  Conversation conversation = ListBuilder().user(10).model(45'000).user(10).done();
  const Room room = room_of({}, 100'000, 0);
  EXPECT_FALSE(late_pass_due(list_of(conversation), room, 0));
  conversation.overhead_tokens = 45'000;
  EXPECT_TRUE(late_pass_due(list_of(conversation), room, 0));
}

TEST(PlanLate, ReportedUsageCounts) {
  const Conversation conversation = ListBuilder().user(10).model(1'000).user(10).done();
  WorkingList list = list_of(conversation);
  const Room room = room_of({}, 3'000, 0);
  EXPECT_FALSE(late_pass_due(list, room, 0));
  list.correction = 3'352 - static_cast<int64_t>(list.counted());
  EXPECT_TRUE(late_pass_due(list, room, 0));
  EXPECT_FALSE(fits(list, room));
}

TEST(PlanLate, WaitsForAnotherFivePercentUnlessItDoesNotFit) {
  const auto due = [](uint64_t total, uint64_t last) {
    const Conversation conversation = ListBuilder().user(10).model(total - 20).user(10).done();
    return late_pass_due(list_of(conversation), kTen, last);
  };
  EXPECT_TRUE(due(8'500, 8'000)) << "the last one came 5 % below";
  EXPECT_FALSE(due(8'500, 8'001));
  EXPECT_FALSE(due(9'099, 8'600));
  EXPECT_TRUE(due(9'100, 8'600));
  EXPECT_FALSE(due(10'000, 9'900));
  EXPECT_TRUE(due(10'001, 9'900));
}

TEST(PlanLate, HowMuchIsMissing) {
  const Conversation conversation = ListBuilder().user(10).model(8'580).user(10).done();
  EXPECT_EQ(missing_relief(list_of(conversation), kTen), 600u);
  const Conversation small = ListBuilder().user(10).model(7'980).user(10).done();
  EXPECT_EQ(missing_relief(list_of(small), kTen), 0u);
}

// 6 turns: a call with an argument of 1,000 tokens, its result of 600 tokens. Then a small tail.
Conversation old_turns() {
  ListBuilder builder;
  builder.user(100);
  for (int i = 0; i < 6; ++i) {
    const std::string id = "c" + std::to_string(i);
    builder.calls({id}, "write_file", 1'000).result(id, 600, "write_file");
  }
  return builder.model(200).user(100).done();
}

WorkingList with_arguments(const Conversation& conversation) {
  WorkingList list = list_of(conversation);
  for (size_t i = 0; i < list.messages.size(); ++i) {
    for (size_t p = 0; p < list.messages[i].parts.size(); ++p) {
      const Part& part = list.messages[i].message->parts[p];
      if (part.kind == PartKind::tool_call) argument(list, i, p, part.facts.tokens);
    }
  }
  return list;
}

TEST(PlanLate, OldArgumentsOldestFirstAndOnlyAsFarAsNeeded) {
  const Conversation conversation = old_turns();  // 10,000 tokens, goal 8,000
  const WorkingList list = with_arguments(conversation);
  const auto plans = plan_old_arguments(list, {}, kTen);
  ASSERT_EQ(places(plans), (Places{"1.0", "3.0", "5.0"}));
  EXPECT_EQ(plans[0].kind, ArtifactKind::argument);
  EXPECT_EQ(plans[0].argument, "content");
  EXPECT_STREQ(plans[0].reason, "old_argument");
}

TEST(PlanLate, ArgumentsOfTheseToolsOverTheLimitOnly) {
  const Conversation conversation = old_turns();
  WorkingList list = with_arguments(conversation);
  Settings settings;
  settings.argument_tools = {"bash"};
  EXPECT_THAT(plan_old_arguments(list, settings, kTen), IsEmpty());
  settings.argument_tools = {"write_file"};
  settings.argument_chars = 4'000;
  EXPECT_THAT(plan_old_arguments(list, settings, kTen), IsEmpty());
  settings.argument_chars = 3'999;
  EXPECT_EQ(plan_old_arguments(list, settings, kTen).size(), 3u);
  list.messages[1].parts[0].arguments[0].replaced = true;
  list.messages[3].parts[0].arguments[0].kept = true;
  EXPECT_EQ(places(plan_old_arguments(list, settings, kTen)), (Places{"5.0", "7.0", "9.0"}));
}

TEST(PlanLate, SeveralArgumentsOfOneCall) {
  const Conversation conversation = old_turns();
  WorkingList list = list_of(conversation);
  argument(list, 1, 0, 600, "old_string");
  argument(list, 1, 0, 700, "new_string");
  const auto plans = plan_old_arguments(list, {}, kTen);
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].argument, "old_string");
  EXPECT_EQ(plans[1].argument, "new_string");
  replace_argument(list.messages[1], 0, "new_string", "[shortened]", "/f", 40);
  EXPECT_EQ(list.messages[1].tokens, 340u);
  EXPECT_EQ(plan_old_arguments(list, {}, kTen).size(), 1u);
}

TEST(PlanLate, NothingBelowTheGoal) {
  const Conversation conversation = old_turns();
  const Room room = to_the_relief(room_of({}, 20'000, 0));
  EXPECT_THAT(plan_old_arguments(with_arguments(conversation), {}, room), IsEmpty());
  EXPECT_THAT(plan_old_results(list_of(conversation), {}, room), IsEmpty());
}

TEST(PlanLate, OldResultsOldestFirstAndOnlyAsFarAsNeeded) {
  const Conversation conversation = old_turns();
  const auto plans = plan_old_results(list_of(conversation), {}, kTen);
  ASSERT_EQ(places(plans), (Places{"2.0", "4.0", "6.0", "8.0"}));
  EXPECT_EQ(plans[0].kind, ArtifactKind::old_result);
}

TEST(PlanLate, OnceTheyMustTheyYieldDownToTheGoal) {
  ListBuilder builder;
  builder.user(100);
  for (int i = 0; i < 14; ++i) builder.calls({std::to_string(i)}).result(std::to_string(i), 600);
  const Conversation conversation = builder.model(10).user(10).done();
  const Room room = room_of({}, 10'000, 0);
  EXPECT_EQ(room.goal, 2'550u);
  WorkingList list = list_of(conversation);
  const auto plans = plan_old_results(list, {}, room);
  for (const ItemPlan& plan : plans) {
    replace_part(list.messages[plan.message], plan.part, "stub", "/x", 80);
  }
  EXPECT_LE(list.counted(), room.goal);
  EXPECT_GT(list.counted() + 520, room.goal) << "and no further";
}

TEST(PlanLate, SmallReplacedNeverAndProviderResultsStay) {
  ListBuilder builder;
  builder.user(100);
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) {
    builder.calls({id}).result(id, id[0] == 'a' ? 500 : 1'000, id[0] == 'b' ? "todo" : "bash");
    if (id[0] == 'c') builder.last_part().provider_side = true;
  }
  const Conversation conversation = builder.model(3'600).user(1'000).done();
  Settings settings;
  settings.never = {"todo"};
  WorkingList list = list_of(conversation, settings);
  replace_part(list.messages[8], 0, "notice", "/d", 900);
  list.own_reader = is_at(10);
  EXPECT_EQ(places(plan_old_results(list, settings, kTen)), (Places{"10.0", "12.0"}))
      << "a reader's result has a path already";
  settings.old_results = false;
  EXPECT_THAT(plan_old_results(list, settings, kTen), IsEmpty());
}

TEST(PlanLate, TheNewestTenPercentAreNotOld) {
  ListBuilder builder;
  builder.user(5'000);
  for (const char* id : {"a", "b", "c"}) builder.calls({id}).result(id, 600);
  const Conversation conversation = builder.model(2'080).user(100).done();  // 9,040
  WorkingList list = list_of(conversation);
  EXPECT_EQ(places(plan_old_results(list, {}, kTen)), (Places{"2.0", "4.0"}));
  Settings settings;
  settings.keep = 0.35;  // 2,180, c with its call, the result of b
  EXPECT_EQ(
      places(plan_old_results(list, settings, to_the_relief(room_of(settings, 12'000, 2'000)))),
      (Places{"2.0"}));
}

TEST(PlanLate, FreshAndNewestGroupAreNotOld) {
  ListBuilder builder;
  builder.user(100).calls({"a", "b"}, "write_file", 3'000).result("a", 1'500).result("b", 1'500);
  const Conversation open = builder.done();
  EXPECT_THAT(plan_old_results(list_of(open), {}, kTen), IsEmpty());
  EXPECT_THAT(plan_old_arguments(with_arguments(open), {}, kTen), IsEmpty());
  const Conversation settled = builder.model(1'000).user(10).done();
  EXPECT_EQ(plan_old_results(list_of(settled), {}, kTen).size(), 2u);
}

TEST(PlanLate, UnknownWindowKeepsTheNewestTwentyMessages) {
  Settings settings;
  settings.trigger_tokens = 10'000;
  const Room room = to_the_relief(room_of(settings, 0, 0));
  ListBuilder builder;
  builder.user(10);
  for (int i = 0; i < 12; ++i) {
    builder.calls({std::to_string(i)}).result(std::to_string(i), 1'000);
  }
  const Conversation conversation = builder.user(10).done();  // 26 messages, the first 6 are old
  EXPECT_EQ(places(plan_old_results(list_of(conversation), settings, room)),
            (Places{"2.0", "4.0"}));
}

TEST(PlanLate, NothingWhereTheProviderHoldsTheList) {
  Conversation conversation = old_turns();
  conversation.partial = true;
  const WorkingList list = with_arguments(conversation);
  EXPECT_TRUE(late_pass_due(list, kTen, 0)) << "the caller asks for the full history";
  EXPECT_THAT(plan_old_arguments(list, {}, kTen), IsEmpty());
  EXPECT_THAT(plan_old_results(list, {}, kTen), IsEmpty());
  EXPECT_EQ(plan_cut(list, {}, kTen, false), std::nullopt);
  EXPECT_EQ(plan_cut(list, {}, kTen, true), std::nullopt);
}

}  // namespace
}  // namespace ebla::context
