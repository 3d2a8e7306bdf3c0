// Room, limits of it, and what is refused because no pass could work in it.
#include <gtest/gtest.h>

#include "tests/context/list/list_builder.h"

namespace ebla::context {
namespace {

TEST(Room, SharesOfWhatIsUsable) {
  const Room room = room_of({}, 200'000, 32'000);
  EXPECT_EQ(room.window, 200'000u);
  EXPECT_EQ(room.reserve, 32'000u);
  EXPECT_EQ(room.usable, 168'000u);
  EXPECT_EQ(room.trigger, 142'800u);
  EXPECT_EQ(room.relief, 8'400u);
  EXPECT_EQ(room.goal, 42'840u);
  EXPECT_EQ(room.keep, 16'800u);
}

TEST(Room, NoRoundingErrorAtAnyWindow) {
  for (uint64_t window = 1'000; window <= 2'000'000; window += 1'000) {
    EXPECT_EQ(room_of({}, window, 0).trigger, window / 100 * 85) << window;
  }
}

TEST(Room, UnknownWindowHasFixedTrigger) {
  Settings settings;
  const Room room = room_of(settings, 0, 8'000);
  EXPECT_EQ(room.usable, 0u);
  EXPECT_EQ(room.trigger, 170'000u);
  EXPECT_EQ(room.relief, 8'500u);
  EXPECT_EQ(room.goal, 51'000u);
  EXPECT_EQ(room.keep, 0u);
  settings.trigger_tokens = 3'000;
  EXPECT_EQ(room_of(settings, 0, 0).trigger, 3'000u);
}

TEST(Room, LaterWindowHoldsAtOnce) {
  const Conversation conversation = ListBuilder().user(10).model(400'000).user(10).done();
  const WorkingList list = list_of(conversation);
  EXPECT_FALSE(late_pass_due(list, room_of({}, 1'000'000, 0), 0));
  EXPECT_TRUE(late_pass_due(list, room_of({}, 200'000, 0), 0));
}

std::string refused(const Settings& settings, uint64_t window, uint64_t reserve) {
  const Result<void> result = check_room(settings, room_of(settings, window, reserve));
  EXPECT_FALSE(result) << window << " " << reserve;
  if (result) return "";
  EXPECT_EQ(result.error().code, Code::invalid_params);
  return result.error().text;
}

TEST(Room, UnusableOnesAreRefusedWithTheNumbers) {
  EXPECT_EQ(refused({}, 40'000, 32'000),
            "a window of 40000 tokens with 32000 kept for the answer leaves 8000 of the 10000 that "
            "are needed: ask for a shorter answer or name a larger window");
  EXPECT_NE(refused({}, 40'000, 40'000).find("leaves 0 of"), std::string::npos);
  EXPECT_NE(refused({}, 40'000, 90'000).find("leaves 0 of"), std::string::npos);
  EXPECT_NE(refused({}, 999, 0).find("999"), std::string::npos);
  Settings settings;
  settings.keep = 0.85;
  EXPECT_EQ(refused(settings, 200'000, 0),
            "settings keep 0.85 and trigger 0.85 leave a late pass nothing to do: keep must be "
            "smaller than trigger by more than 0.05");
  for (const auto& [window, reserve] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 0}, {0, 64'000}, {1'000, 0}, {8'192, 4'096}, {200'000, 64'000}, {1'000'000, 0}}) {
    EXPECT_TRUE(check_room({}, room_of({}, window, reserve))) << window;
  }
}

TEST(Room, FitsByTheUsableWindowOnly) {
  const Conversation conversation = ListBuilder().user(10).model(90'000).user(10).done();
  const WorkingList list = list_of(conversation);
  EXPECT_TRUE(fits(list, room_of({}, 90'020, 0)));
  EXPECT_FALSE(fits(list, room_of({}, 90'020, 1)));
  EXPECT_TRUE(fits(list, room_of({}, 0, 0)));
}

TEST(Room, ClipTargetIsSeventyPercentOfTheSmallest) {
  EXPECT_EQ(clip_target(room_of({}, 100'000, 0), 0, 0), 70'000u);
  EXPECT_EQ(clip_target(room_of({}, 100'000, 20'000), 0, 0), 56'000u);
  EXPECT_EQ(clip_target(room_of({}, 100'000, 0), 50'000, 0), 35'000u);
  EXPECT_EQ(clip_target(room_of({}, 100'000, 0), 0, 60'000), 39'900u);
  EXPECT_EQ(clip_target(room_of({}, 0, 0), 0, 60'000), 39'900u);
  EXPECT_EQ(clip_target(room_of({}, 0, 0), 0, 0), 0u);
}

TEST(Room, CountIsScaledAndCorrected) {
  Conversation conversation = ListBuilder().user(100).model(50).done();
  conversation.overhead_tokens = 1'000;
  WorkingList list = list_of(conversation);
  EXPECT_EQ(list.counted(), 1'150u);
  list.ratio = 1.5;
  EXPECT_EQ(list.counted(), 1'725u);
  list.correction = 275;
  EXPECT_EQ(list.counted(), 2'000u);
  list.correction = -5'000;
  EXPECT_EQ(list.counted(), 0u);
}

}  // namespace
}  // namespace ebla::context
