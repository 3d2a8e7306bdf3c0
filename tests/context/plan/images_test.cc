// Media: a budget of bytes beside the one of tokens.
#include <gtest/gtest.h>

#include <set>

#include "schema/base/limits.h"
#include "tests/context/list/list_builder.h"

namespace ebla::context {
namespace {

using Places = std::vector<std::string>;
constexpr uint64_t kMega = 1'000'000;

Conversation screenshots(size_t count, uint64_t bytes) {
  ListBuilder builder;
  for (size_t i = 0; i < count; ++i) builder.image(bytes).model(10);
  return builder.user(10).done();
}

uint64_t bytes_left(WorkingList& list, const std::vector<ItemPlan>& plans) {
  for (const ItemPlan& plan : plans) {
    replace_part(list.messages[plan.message], plan.part, "link", "/m", 40);
  }
  uint64_t left = 0;
  for (const WorkingMessage& message : list.messages) {
    for (size_t p = 0; p < message.parts.size(); ++p) {
      if (!message.parts[p].replaced) left += message.message->parts[p].data.size();
    }
  }
  return left;
}

TEST(PlanImages, SixtyThreeScreenshots) {
  const Conversation conversation = screenshots(63, 1'600'000);
  WorkingList list = list_of(conversation);
  const auto plans = plan_images(list, 20 * kMega);
  ASSERT_EQ(plans.size(), 57u) << "six are left, half of the budget";
  EXPECT_EQ(plans[0].message, 0u);
  EXPECT_EQ(plans[0].kind, ArtifactKind::media);
  EXPECT_STREQ(plans[0].reason, "image_bytes");
  EXPECT_LT(bytes_left(list, plans), 20 * kMega);
  EXPECT_TRUE(plan_images(list, 20 * kMega).empty());
}

TEST(PlanImages, TwentyAreTheMost) {
  EXPECT_TRUE(plan_images(list_of(screenshots(20, 1'000)), 0).empty());
  const Conversation conversation = screenshots(21, 1'000);
  const auto plans = plan_images(list_of(conversation), 0);
  ASSERT_EQ(plans.size(), 11u);
  EXPECT_STREQ(plans[0].reason, "image_count");
  EXPECT_EQ(plans.back().message, 20u) << "the oldest";
}

TEST(PlanImages, BelowTheBudgetNothing) {
  EXPECT_TRUE(plan_images(list_of(screenshots(5, kMega)), 5 * kMega).empty());
  EXPECT_EQ(plan_images(list_of(screenshots(5, kMega)), 5 * kMega - 1).size(), 3u);
}

TEST(PlanImages, OneThatIsTooLargeAloneGoes) {
  EXPECT_EQ(plan_images(list_of(screenshots(1, 40 * kMega)), 30 * kMega).size(), 1u);
}

TEST(PlanImages, FewPassesWhileTheListGrowsAndTheNewestStays) {
  for (const size_t links : {size_t{0}, size_t{15}, size_t{40}}) {
    ListBuilder builder;
    for (size_t i = 0; i < links; ++i) builder.image(0).model(10);
    std::set<std::string> gone;
    size_t passes = 0;
    for (int turn = 0; turn < 100; ++turn) {
      const Conversation conversation = builder.image(1'000).done();
      WorkingList list = list_of(conversation);
      for (size_t i = 0; i < list.messages.size(); ++i) {
        if (gone.contains(std::to_string(i) + ".0")) replace_part(list.messages[i], 0, "", "", 40);
      }
      const auto plans = plan_images(list, 0);
      passes += plans.empty() ? 0u : 1u;
      for (const std::string& place : places(plans)) gone.insert(place);
      EXPECT_FALSE(gone.contains(std::to_string(conversation.messages.size() - 1) + ".0"));
      builder.model(10);
    }
    EXPECT_LE(passes, links == 0 ? 8u : 17u) << links;
    EXPECT_GE(gone.size(), 80u) << links;
  }
}

TEST(PlanImages, WhatTheModelHasNotSeenGoesOnlyWhereItMust) {
  ListBuilder builder;
  for (int i = 0; i < 5; ++i) builder.image(1'000).model(10);
  for (int i = 0; i < 18; ++i) builder.image(1'000);
  const Conversation conversation = builder.done();
  EXPECT_EQ(places(plan_images(list_of(conversation), 0)),
            (Places{"0.0", "2.0", "4.0", "6.0", "8.0"}));
  for (int i = 0; i < 5; ++i) builder.image(1'000);
  const Conversation many = builder.done();
  EXPECT_EQ(plan_images(list_of(many), 0).size(), 8u) << "23 are fresh, 20 stay";
}

TEST(PlanImages, DocumentsCountInBytesOnly) {
  ListBuilder builder;
  builder.image(3 * kMega, PartKind::document).model(10);
  for (int i = 0; i < 21; ++i) builder.image(1'000).model(10);
  const Conversation conversation = builder.user(10).done();
  const auto by_count = plan_images(list_of(conversation), 30 * kMega);
  EXPECT_EQ(by_count.size(), 11u);
  EXPECT_EQ(by_count[0].message, 2u);
  const auto by_bytes = plan_images(list_of(conversation), 2 * kMega);
  ASSERT_FALSE(by_bytes.empty());
  EXPECT_EQ(by_bytes[0].message, 0u);
}

TEST(PlanImages, InsideResultsToo) {
  ListBuilder builder;
  builder.user(10).calls({"a"}).results({{"a", 10}}).also_image(40 * kMega);
  const Conversation conversation = builder.done();
  EXPECT_EQ(places(plan_images(list_of(conversation), 30 * kMega)), Places{"2.1"});
}

TEST(PlanImages, LinksPinsAndTriedOnesStay) {
  ListBuilder builder;
  for (int i = 0; i < 30; ++i) builder.image(0).model(10);
  const Conversation links = builder.user(10).done();
  EXPECT_TRUE(plan_images(list_of(links), 30 * kMega).empty()) << "nothing of theirs can go";
  const Conversation conversation = screenshots(3, 20 * kMega);
  WorkingList list = list_of(conversation, {}, {0});
  EXPECT_EQ(places(plan_images(list, 30 * kMega)), (Places{"2.0", "4.0"}));
  keep_part(list.messages[2], 0, "");
  EXPECT_EQ(places(plan_images(list, 30 * kMega)), Places{"4.0"});
}

TEST(PlanImages, NothingWhereTheProviderHoldsTheList) {
  Conversation conversation = screenshots(63, 1'600'000);
  conversation.partial = true;
  EXPECT_TRUE(plan_images(list_of(conversation), 20 * kMega).empty());
}

}  // namespace
}  // namespace ebla::context
