// Wherever an item stands, it goes with the decision about it; what is carried on counts as a
// result.
#include "context/plan/equals.h"

#include <gtest/gtest.h>

#include "tests/context/list/known_support.h"
#include "tests/context/list/list_builder.h"

namespace ebla::context {
namespace {

using Places = std::vector<std::string>;

constexpr uint64_t kTokens = 30'000;

// The last part as a result that is carried on.
void carry(ListBuilder& builder, const Part& result) {
  Part& part = builder.last_part();
  part.carried = std::make_shared<const Carried>(Carried{"[lead]\n", result.facts});
  part.call_id = result.call_id;
  part.stand_in = true;
}

ItemPlan at(size_t message) {
  return {message, 0, ArtifactKind::tool_result, "", "asked", true, false};
}

TEST(Equals, AResultAndWhatIsCarriedOnOfIt) {
  ListBuilder builder;
  builder.user(5).calls({"a", "b"}).result("a", kTokens);
  const Part first = builder.last_part();
  builder.result("b", kTokens).user(kTokens + 20);
  carry(builder, first);
  builder.model(5).user(5);
  const Conversation conversation = builder.done();
  WorkingList list = list_of(conversation);
  EXPECT_EQ(places(Equals(list).of(at(2))), (Places{"2.0", "4.0"}));
  EXPECT_EQ(places(Equals(list).of(at(4))), (Places{"2.0", "4.0"}));
  EXPECT_EQ(places(Equals(list).of(at(3))), (Places{"3.0"}));
  EXPECT_EQ(key_of(list, at(2)), key_of(list, at(4)));
  replace_part(list.messages[2], 0, "gone", "/gone", 5);
  EXPECT_EQ(places(Equals(list).of(at(4))), (Places{"4.0"}));
}

TEST(Equals, TextsOfTheUserAndPins) {
  const Conversation conversation = ListBuilder()
                                        .rules(5)
                                        .user(900, "same")
                                        .model(900, "same")
                                        .user(900, "same")
                                        .user(900)
                                        .done();
  const WorkingList list = list_of(conversation);
  ItemPlan plan = at(0);
  plan.kind = ArtifactKind::human;
  EXPECT_EQ(places(Equals(list).of(plan)), (Places{"0.0", "2.0"}));
}

TEST(Equals, WhatIsCarriedOnIsPlannedAsAResult) {
  ListBuilder builder;
  builder.user(5).calls({"a"}).result("a", 20);
  builder.user(kTokens);
  Part said;
  said.facts = facts_of("said", kTokens);
  carry(builder, said);
  const Conversation fresh = builder.done();
  WorkingList list = list_of(fresh);
  const auto plans = plan_fresh(list, {}, room_of({}, 0, 0));
  ASSERT_EQ(places(plans), (Places{"3.0"}));
  EXPECT_EQ(plans[0].kind, ArtifactKind::tool_result);
  EXPECT_EQ(places(plan_clip(list, 100)).front(), "3.0");
}

// A picture that the model has not seen is not the one that went.
TEST(Equals, OneThatIsShownAgainIsAnother) {
  FakeStore store;
  ListBuilder builder;
  builder.image(4'000);
  const PartFacts picture = builder.last_part().facts;
  builder.model(5).image(4'000);
  builder.last_part().facts = picture;
  const Conversation conversation = builder.done();
  WorkingList list = store.list(conversation);
  EXPECT_NE(list.messages[0].parts[0].medium, list.messages[2].parts[0].medium);
  ItemPlan plan = at(0);
  plan.kind = ArtifactKind::media;
  EXPECT_EQ(places(Equals(list).of(plan)), (Places{"0.0"}));
  store.decision(ArtifactKind::media, list.messages[0].parts[0].medium, picture, "link");
  list = store.list(conversation);
  EXPECT_TRUE(list.messages[0].parts[0].replaced);
  EXPECT_FALSE(list.messages[2].parts[0].replaced);
  // Decided before it was seen, it holds then and later.
  store.decision(ArtifactKind::media, fresh_medium_id(list.messages[2].parts[0].medium), picture,
                 "link");
  EXPECT_TRUE(store.list(conversation).messages[2].parts[0].replaced);
  builder.model(5).user(5);
  EXPECT_TRUE(store.list(builder.done()).messages[2].parts[0].replaced);
}

// Those that were decided about by their content alone.
TEST(Equals, ADecisionWithoutAnIdHoldsForWhatWasSeen) {
  FakeStore store;
  ListBuilder builder;
  builder.image(4'000);
  store.decision(ArtifactKind::media, "", builder.last_part().facts, "link");
  EXPECT_FALSE(store.list(builder.done()).messages[0].parts[0].replaced);
  builder.model(5);
  EXPECT_TRUE(store.list(builder.done()).messages[0].parts[0].replaced);
}

}  // namespace
}  // namespace ebla::context
