// Where the summary ends: between whole groups only.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "context/list/turns.h"
#include "tests/context/list/list_builder.h"
#include "tests/context/plan/random_history.h"

namespace ebla::context {
namespace {

const Room kTen = room_of({}, 10'000, 0);

std::optional<size_t> cut(const Conversation& conversation, const Room& room = kTen,
                          bool smallest = false, const Settings& settings = {}) {
  return plan_cut(list_of(conversation, settings), settings, room, smallest);
}

TEST(PlanCut, TailIsTheNewestTenPercent) {
  ListBuilder builder;
  for (int i = 0; i < 20; ++i) builder.user(250).model(250);
  EXPECT_EQ(cut(builder.user(250).done()), 37u) << "4 x 250 = 1,000 stay";
}

TEST(PlanCut, NewestWholeGroupIfThatIsLarger) {
  const Conversation conversation = ListBuilder()
                                        .user(1'000)
                                        .model(2'000)
                                        .user(500)
                                        .calls({"a", "b"})
                                        .result("a", 2'000)
                                        .result("b", 2'000)
                                        .done();
  EXPECT_EQ(cut(conversation), 3u);
  EXPECT_EQ(cut(conversation, kTen, true), 3u);
}

TEST(PlanCut, NeverWithinAGroup) {
  ListBuilder builder;
  builder.user(3'000).model(1'000);
  for (int i = 0; i < 5; ++i) {
    const std::string id = std::to_string(i);
    builder.calls({id + "a", id + "b", id + "c"}).result(id + "a", 200).result(id + "c", 200);
    builder.result(id + "b", 200);
  }
  // Groups of 660: one fits 1,000, the tail begins with it.
  EXPECT_EQ(cut(builder.user(10).done()), 18u);
}

TEST(PlanCut, ReasoningStaysWithWhatItLedTo) {
  const Conversation conversation = ListBuilder()
                                        .user(3'000)
                                        .model(3'000)
                                        .user(10)
                                        .reasoning(100)
                                        .calls({"a"})
                                        .result("a", 10)
                                        .done();
  EXPECT_EQ(cut(conversation, room_of({}, 400, 0), true), 3u);
}

TEST(PlanCut, FreshMessagesStayWhateverTheirSize) {
  const Conversation results =
      ListBuilder().user(10).model(8'000).calls({"a"}).result("a", 3'000).user(10).done();
  EXPECT_EQ(cut(results), 2u) << "the model has not read the result";
  EXPECT_EQ(cut(results, kTen, true), 2u);
  const Conversation texts =
      ListBuilder().user(10).model(6'000).user(2'000).user(2'000).user(10).done();
  EXPECT_EQ(cut(texts), 2u);
  EXPECT_EQ(cut(texts, kTen, true), 4u) << "the current request alone";
}

TEST(PlanCut, NothingToCut) {
  EXPECT_EQ(cut(ListBuilder().done()), std::nullopt);
  EXPECT_EQ(cut(ListBuilder().user(9'000).done()), std::nullopt);
  EXPECT_EQ(cut(ListBuilder().user(9'000).done(), kTen, true), std::nullopt);
  EXPECT_EQ(cut(ListBuilder().rules(5'000).user(5'000).done(), kTen, true), std::nullopt);
  EXPECT_EQ(cut(ListBuilder().user(10).calls({"a"}).result("a", 9'000).done()), std::nullopt)
      << "the task before it is pinned";
  EXPECT_EQ(cut(ListBuilder().user(4'500).calls({"a"}).result("a", 9'000).done()), 1u);
}

TEST(PlanCut, UnknownWindowKeepsSixMessages) {
  ListBuilder builder;
  for (int i = 0; i < 20; ++i) builder.user(10).model(10);
  const Room room = room_of({}, 0, 0);
  EXPECT_EQ(cut(builder.done(), room), 34u);
  Settings settings;
  settings.keep_messages = 3;
  EXPECT_EQ(cut(builder.done(), room, false, settings), 37u);
  builder.calls({"a", "b", "c", "d", "e", "f", "g"});
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g"}) builder.result(id, 10);
  EXPECT_EQ(cut(builder.done(), room), 40u) << "the newest group is larger";
}

TEST(PlanCut, DanglingCallsBindNothing) {
  ListBuilder builder;
  builder.user(10).calls({"lost"}).user(3'000).model(3'000).user(3'000);
  EXPECT_EQ(cut(builder.model(10).user(10).done()), 5u);
}

TEST(PlanCut, CallsThatStillWaitStay) {
  ListBuilder builder;
  builder.user(5'000).model(5'000).calls({"a"}).calls({"b"}).calls({"c"});
  EXPECT_EQ(cut(builder.done()), 2u);
  EXPECT_EQ(cut(builder.result("c", 100).done()), 2u);
  EXPECT_EQ(cut(builder.done(), kTen, true), 2u);
  EXPECT_EQ(cut(builder.model(10).user(10).done(), kTen, true), 7u) << "they were given up";
}

TEST(PlanCut, ProviderSideCallsAreGroupsToo) {
  ListBuilder builder;
  builder.user(5'000).calls({"s"}, "web_search");
  builder.last_part().provider_side = true;
  builder.model(2'000);
  builder.last_part().kind = PartKind::tool_result;
  builder.last_part().call_id = "s";
  builder.last_part().provider_side = true;
  EXPECT_EQ(cut(builder.model(900).user(10).done()), 3u);
  EXPECT_EQ(cut(builder.done(), room_of({}, 40'000, 0)), 1u);
}

TEST(PlanCut, CountsInScaledTokens) {
  ListBuilder builder;
  for (int i = 0; i < 20; ++i) builder.user(250).model(250);
  const Conversation conversation = builder.user(250).done();
  WorkingList list = list_of(conversation);
  list.ratio = 2;
  EXPECT_EQ(plan_cut(list, {}, kTen, false), 39u);
}

// Every call of [0, cut) has its results there, and every result of the rest its call.
void expect_whole(const Conversation& conversation, size_t cut, uint32_t seed) {
  for (const Pair& pair : conversation.pairing.pairs) {
    EXPECT_EQ(pair.call.message < cut, pair.result.message < cut) << "seed " << seed;
  }
  const size_t live = live_turn(conversation);
  for (const PartAt& call : conversation.pairing.unanswered) {
    EXPECT_TRUE(call.message < live || call.message >= cut) << "seed " << seed;
  }
}

TEST(PlanCut, OnlyBetweenWholeGroupsInEveryHistory) {
  size_t cuts = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Conversation conversation = random_history(random, 40);
    const WorkingList list = list_of(conversation);
    const size_t lead = conversation.messages.size() - list.messages.size();
    for (const uint32_t window : {1'000U, 4'000U, 16'000U, 0U}) {
      for (const bool smallest : {false, true}) {
        const auto at = plan_cut(list, {}, room_of({}, window, 0), smallest);
        if (!at) continue;
        ++cuts;
        ASSERT_GT(*at, 0u);
        ASSERT_LT(*at, list.messages.size()) << "something stays, seed " << seed;
        expect_whole(conversation, lead + *at, seed);
        EXPECT_LE(lead + *at, first_needed(conversation)) << "seed " << seed;
        EXPECT_TRUE(smallest || !list.messages[*at - 1].fresh) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(cuts, 700u);
}

}  // namespace
}  // namespace ebla::context
