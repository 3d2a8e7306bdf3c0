// Who yields when the list does not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/context/list/list_builder.h"

namespace ebla::context {
namespace {

using testing::IsEmpty;
using Places = std::vector<std::string>;

TEST(PlanClip, LargestResultsUntilTheTarget) {
  const Conversation conversation = ListBuilder()
                                        .user(100)
                                        .calls({"a", "b", "c"})
                                        .result("a", 3'000)
                                        .result("b", 6'000)
                                        .result("c", 4'000)
                                        .done();
  const WorkingList list = list_of(conversation);
  EXPECT_THAT(plan_clip(list, 13'160), IsEmpty());
  const auto plans = plan_clip(list, 13'159);
  ASSERT_EQ(places(plans), Places{"3.0"});
  EXPECT_EQ(plans[0].kind, ArtifactKind::tool_result);
  EXPECT_STREQ(plans[0].reason, "overflow");
  EXPECT_EQ(places(plan_clip(list, 7'000)), (Places{"3.0", "4.0"}));
  EXPECT_EQ(places(plan_clip(list, 0)), (Places{"3.0", "4.0", "2.0"}));
}

// Carried out as `prepare` does it, with replacements of `cost` tokens: how many went.
size_t clipped(WorkingList& list, uint64_t target, uint64_t cost) {
  size_t count = 0;
  for (auto plans = plan_clip(list, target); !plans.empty(); plans = plan_clip(list, target)) {
    for (const ItemPlan& plan : plans) {
      replace_part(list.messages[plan.message], plan.part, "notice", "/x", cost);
      ++count;
    }
  }
  return count;
}

TEST(PlanClip, OneFewerWouldBeTooFew) {
  ListBuilder builder;
  builder.user(100);
  std::vector<std::string> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(std::to_string(i));
  builder.calls(ids);
  for (const std::string& id : ids) builder.result(id, 1'500 + 7 * std::stoul(id));
  const Conversation conversation = builder.done();
  for (const uint64_t cost : {uint64_t{90}, uint64_t{260}, uint64_t{700}}) {
    for (uint64_t target = 5'000; target < 45'000; target += 1'111) {
      WorkingList list = list_of(conversation);
      const size_t count = clipped(list, target, cost);
      if (count == ids.size()) continue;  // all of them are not enough
      EXPECT_LE(list.counted(), target);
      if (count == 0) continue;
      // The largest went first, so the last of them was the smallest.
      const uint64_t last = 1'500 + 7 * (ids.size() - count);
      EXPECT_GT(list.counted() - cost + last, target) << cost;
    }
  }
}

TEST(PlanClip, ReadersAfterTheOthersAndNeverLast) {
  Settings settings;
  settings.never = {"todo"};
  const Conversation conversation = ListBuilder()
                                        .user(100)
                                        .calls({"a", "b", "c", "d"})
                                        .result("a", 9'000, "todo")
                                        .result("b", 6'000)
                                        .result("c", 2'000)
                                        .result("d", 5'000)
                                        .done();
  WorkingList list = list_of(conversation, settings);
  list.own_reader = is_at(3);
  EXPECT_EQ(places(plan_clip(list, 0)), (Places{"5.0", "4.0", "3.0", "2.0"}));
  keep_part(list.messages[5], 0, "");
  replace_part(list.messages[4], 0, "notice", "/x", 500);
  EXPECT_EQ(places(plan_clip(list, 0)), (Places{"3.0", "2.0"}));
}

TEST(PlanClip, ProviderSideStaysAndOnlyFreshWhereTheProviderHoldsTheList) {
  ListBuilder builder;
  builder.calls({"a"}).result("a", 5'000).calls({"b", "c"}).result("b", 5'000).result("c", 5'000);
  builder.last_part().provider_side = true;
  Conversation conversation = builder.done();
  EXPECT_EQ(places(plan_clip(list_of(conversation), 0)), (Places{"1.0", "3.0"}));
  conversation.partial = true;
  EXPECT_EQ(places(plan_clip(list_of(conversation), 0)), (Places{"3.0"}));
}

TEST(PlanClip, FirstTaskYieldsToALaterRequest) {
  const Conversation conversation = ListBuilder().user(3'000).model(10).user(20).done();
  const auto plans = plan_first_task(list_of(conversation));
  ASSERT_EQ(places(plans), Places{"0.0"});
  EXPECT_EQ(plans[0].kind, ArtifactKind::human);
  EXPECT_FALSE(plans[0].pin);
  EXPECT_STREQ(plans[0].reason, "first_task");
}

TEST(PlanClip, TheCurrentRequestNeverYields) {
  const Conversation conversation =
      ListBuilder().user(3'000).calls({"a"}).result("a", 10).calls({"b"}).result("b", 10).done();
  WorkingList list = list_of(conversation);
  EXPECT_THAT(plan_first_task(list), IsEmpty());
  cover(list, 3, "summary", 100);
  ASSERT_EQ(list.pins.size(), 1u);
  EXPECT_THAT(plan_first_task(list), IsEmpty());
}

TEST(PlanClip, FirstTaskAmongThePins) {
  const Conversation conversation =
      ListBuilder().rules(50).user(3'000).model(10).user(20).calls({"a"}).result("a", 10).done();
  WorkingList list = list_of(conversation);
  cover(list, 3, "summary", 100);
  const auto plans = plan_first_task(list);
  ASSERT_EQ(places(plans), Places{"1.0"}) << "the current request went into the summary";
  EXPECT_TRUE(plans[0].pin);
  replace_part(list.pins[1], 0, "preview", "/m", 300);
  EXPECT_THAT(plan_first_task(list), IsEmpty());
}

TEST(PlanClip, WhatFillsTheWindow) {
  Conversation conversation = ListBuilder()
                                  .rules(100)
                                  .user(3'000)
                                  .model(200)
                                  .calls({"a"}, "bash", 50)
                                  .result("a", 4'000)
                                  .image(4'000)
                                  .reasoning(30)
                                  .done();
  conversation.overhead_tokens = 500;
  conversation.messages[1].tokens += 4;  // its frame
  WorkingList list = list_of(conversation);
  list.summary_tokens = 700;
  using Fill = std::vector<std::pair<std::string, uint64_t>>;
  EXPECT_EQ(what_fills(list), (Fill{{"tool results", 4'000},
                                    {"user texts", 3'000},
                                    {"images and documents", 1'600},
                                    {"summary", 700},
                                    {"system and tool definitions", 600},
                                    {"model texts", 200},
                                    {"tool calls", 50},
                                    {"reasoning", 30},
                                    {"other", 4}}));
  list.ratio = 0.5;
  EXPECT_EQ(what_fills(list).front(), (std::pair<std::string, uint64_t>{"tool results", 2'000}));
}

TEST(PlanPins, RefusedWithTheNumbers) {
  const Conversation conversation = ListBuilder()
                                        .user(10)
                                        .user(2'000)
                                        .calls({"a"})
                                        .results({{"a", 5}})
                                        .also_text(5)
                                        .user(501)
                                        .done();
  const WorkingList list = list_of(conversation);
  const Room room = room_of({}, 10'000, 0);
  const auto text = [&](std::vector<uint64_t> pinned) {
    const Result<void> result = check_pins(list, pinned, room);
    return result ? "" : result.error().text;
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({0, 1}), "");
  EXPECT_EQ(text({1, 4}),
            "pinned: these messages take 2501 tokens, and 2500 at most may be pinned, a quarter of "
            "the window");
  EXPECT_EQ(text({5}), "pinned: message 5 cannot be pinned: the list has 5");
  EXPECT_NE(text({2}).find("the model's own"), std::string::npos);
  EXPECT_NE(text({3}).find("a tool's call or result"), std::string::npos);
  EXPECT_FALSE(check_pins(list, std::vector<uint64_t>{1, 4}, room_of({}, 10'003, 0)));
  EXPECT_TRUE(check_pins(list, std::vector<uint64_t>{1, 4}, room_of({}, 10'004, 0)));
}

TEST(PlanPins, WhatWasPutAwayCountsAsItStands) {
  const Conversation conversation = ListBuilder().user(60'000).model(5).user(5).done();
  WorkingList list = list_of(conversation, {}, {0});
  const std::vector<uint64_t> pinned = {0};
  EXPECT_FALSE(check_pins(list, pinned, room_of({}, 100'000, 0)));
  replace_part(list.messages[0], 0, "preview", "/m", 1'000);
  EXPECT_TRUE(check_pins(list, pinned, room_of({}, 100'000, 0)));
}

}  // namespace
}  // namespace ebla::context
