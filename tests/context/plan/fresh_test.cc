// Item limits: what is put away before the model reads it for the first time.
#include <gtest/gtest.h>

#include "tests/context/list/list_builder.h"

namespace ebla::context {
namespace {

using Places = std::vector<std::string>;

const Room kWide = room_of({}, 1'000'000, 0);

std::vector<ItemPlan> fresh(const Conversation& conversation, const Settings& settings = {},
                            const Room& room = kWide) {
  return plan_fresh(list_of(conversation, settings), settings, room);
}

TEST(PlanFresh, ResultOverTheLimitGoes) {
  ListBuilder builder;
  builder.user(10).calls({"a", "b"}).result("a", 20'000).result("b", 20'000);
  builder.last_part().facts.class_sum += 1;  // 80,001 ASCII characters
  const auto plans = fresh(builder.done());
  ASSERT_EQ(places(plans), Places{"3.0"});
  EXPECT_EQ(plans[0].kind, ArtifactKind::tool_result);
  EXPECT_STREQ(plans[0].reason, "item_limit");
  EXPECT_FALSE(plans[0].force);
}

TEST(PlanFresh, SizeRuleCounts) {
  ListBuilder builder;
  builder.user(10).calls({"a"}).result("a", 20'000);
  builder.last_part().facts.class_sum = 26'667 * 3;  // Chinese
  builder.last_part().facts.characters = 26'667;
  EXPECT_EQ(fresh(builder.done()).size(), 1u);
  Settings settings;
  settings.size_rule = SizeRule::chars4;
  EXPECT_TRUE(fresh(builder.done(), settings).empty());
}

TEST(PlanFresh, SettledItemsAreNeverTouched) {
  const auto conversation =
      ListBuilder().user(90'000).calls({"a"}).result("a", 90'000).model(10).user(10).done();
  EXPECT_TRUE(fresh(conversation).empty());
}

TEST(PlanFresh, ShareOfTheUsableWindow) {
  const auto conversation = ListBuilder().user(10).calls({"a"}).result("a", 6'000).done();
  EXPECT_TRUE(fresh(conversation, {}, room_of({}, 32'000, 8'000)).empty());
  const auto plans = fresh(conversation, {}, room_of({}, 32'000, 8'004));
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_STREQ(plans[0].reason, "window_share");
  EXPECT_TRUE(fresh(conversation, {}, room_of({}, 0, 8'004)).empty());
}

TEST(PlanFresh, LimitsAndListsOfTools) {
  Settings settings;
  settings.tool_tokens["search"] = 2'000;
  settings.never = {"todo"};
  settings.always = {"dump"};
  const auto conversation = ListBuilder()
                                .user(10)
                                .calls({"a", "b", "c", "d"})
                                .result("a", 2'001, "search")
                                .result("b", 2'001, "bash")
                                .result("c", 90'000, "todo")
                                .result("d", 300, "dump")
                                .done();
  const auto plans = fresh(conversation, settings);
  ASSERT_EQ(places(plans), (Places{"2.0", "5.0"}));
  EXPECT_STREQ(plans[1].reason, "always");
}

TEST(PlanFresh, HostLimits) {
  ListBuilder builder;
  builder.user(10).calls({"a"}).result("a", 1'000);
  builder.last_part().facts.lines = 257;
  Settings settings;
  settings.host_limit.lines = 257;
  EXPECT_TRUE(fresh(builder.done(), settings).empty());
  settings.host_limit.lines = 256;
  ASSERT_EQ(fresh(builder.done(), settings).size(), 1u);
  EXPECT_STREQ(fresh(builder.done(), settings)[0].reason, "host_limit");
  settings.host_limit = {3'999, 0, 0};
  EXPECT_EQ(fresh(builder.done(), settings).size(), 1u);
  settings.host_limit = {0, 3'999, 0};
  EXPECT_EQ(fresh(builder.done(), settings).size(), 1u);
}

TEST(PlanFresh, ReadersProviderSideAndTriedOnesStay) {
  ListBuilder builder;
  builder.user(10).calls({"a", "b", "c"}).result("a", 30'000).result("b", 30'000);
  builder.last_part().provider_side = true;
  const Conversation conversation = builder.result("c", 30'000).done();
  WorkingList list = list_of(conversation);
  list.own_reader = is_at(2);
  EXPECT_EQ(places(plan_fresh(list, {}, kWide)), Places{"4.0"});
  keep_part(list.messages[4], 0, "");
  EXPECT_TRUE(plan_fresh(list, {}, kWide).empty());
  list.own_reader = nullptr;
  replace_part(list.messages[2], 0, "notice", "/x", 100);
  EXPECT_TRUE(plan_fresh(list, {}, kWide).empty());
  EXPECT_EQ(list.messages[2].tokens, 100u);
}

TEST(PlanFresh, HumanTexts) {
  EXPECT_TRUE(fresh(ListBuilder().user(50'000).done()).empty());
  const auto plans = fresh(ListBuilder().user(60'000).user(5).user(60'000).done());
  ASSERT_EQ(places(plans), (Places{"0.0", "2.0"}));
  EXPECT_EQ(plans[0].kind, ArtifactKind::human);
  EXPECT_TRUE(fresh(ListBuilder().developer(60'000).user(1).rules(60'000).done()).empty());
  const auto small = fresh(ListBuilder().user(6'000).done(), {}, room_of({}, 20'000, 0));
  ASSERT_EQ(small.size(), 1u);
  EXPECT_STREQ(small[0].reason, "window_share");
}

TEST(PlanFresh, TextsOfOneMessageCountTogetherLargestFirst) {
  const auto plans = fresh(ListBuilder().user(20'000).also_text(29'000).also_text(8'000).done());
  ASSERT_EQ(places(plans), Places{"0.1"});
  EXPECT_TRUE(plans[0].force) << "alone it is below the limit";
  EXPECT_TRUE(fresh(ListBuilder().user(20'000).also_text(29'000).also_text(1'000).done()).empty());
}

TEST(PlanFresh, TextBesideResultsIsTheUsers) {
  const auto conversation =
      ListBuilder().user(10).calls({"a"}).results({{"a", 10}}).also_text(60'000).done();
  EXPECT_EQ(places(fresh(conversation)), Places{"2.1"});
}

}  // namespace
}  // namespace ebla::context
