#include "tests/daemon/prepare_fixture.h"

namespace ebla::daemon {
namespace {

class PrepareTest : public PrepareFixture {};

TEST_F(PrepareTest, AListBelowAllLimitsComesBackAsItIs) {
  const std::string list =
      R"( [ {"role":"user","content":"hi","x":1.0,"x":1e2},
  {"role":"assistant","content":[{"type":"text","text":"\u0041\ud800"}],"n":1152921504606846976} ] )";
  const Json whole = must("prepare", R"({"session":"s","messages":)" + list + "}");
  EXPECT_TRUE(whole.find("splices")->items.empty());
  EXPECT_TRUE(whole.find("actions")->items.empty());
  EXPECT_TRUE(flag_of(whole, "fits"));
  EXPECT_EQ(text_of(whole, "format"), "anthropic");
  EXPECT_GT(tokens_of(whole, "before"), 0u);
  EXPECT_EQ(tokens_of(whole, "before"), tokens_of(whole, "after"));
}

TEST_F(PrepareTest, AFreshResultOverTheLimitIsPutAway) {
  const std::string text = kit::numbered_rows(100'000);
  const std::vector<std::string> list = {user("go"), blocks("assistant", {tool_use("call_1")}),
                                         blocks("user", {tool_result("call_1", text)})};
  const Json reply = prepare(list);
  EXPECT_EQ(count_of(reply, "tool_result"), 1u);
  EXPECT_EQ(file(text_of(action_of(reply, "tool_result"), "path")), text);
  const auto out = messages_of(reply);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0], list[0]);
  EXPECT_EQ(out[1], list[1]);
  EXPECT_LT(out[2].size(), 8'000u);
  // The same list again, and the list that came back: nothing new, the same bytes.
  EXPECT_EQ(messages_of(prepare(list)), out);
  const Json kept = prepare(out);
  EXPECT_EQ(messages_of(kept), out);
  EXPECT_TRUE(kept.find("actions")->items.empty());
  EXPECT_EQ(number_of(*kept.find("known"), "items"), 1u);
}

}  // namespace
}  // namespace ebla::daemon
