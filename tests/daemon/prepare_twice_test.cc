// The same thing twice in a list: a decision is found for both by the next call, so both go in the
// one that decides, and the same list has one answer for ever.
#include <gmock/gmock.h>

#include "tests/daemon/speech.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

using List = std::vector<std::string>;

std::string all_of(const List& list) {
  return fmt::format("{}", fmt::join(list, "\n"));
}

class PrepareTwiceTest : public PrepareFixture {
 protected:
  Json ask(const Speech& speech, const List& list, std::string_view more = "") {
    Json reply = must("prepare", fmt::format(R"({{"session":"s","format":"{}","reply":"messages",)"
                                             R"("messages":{}{}}})",
                                             speech.format, list_of(list), more));
    EXPECT_EQ(count_of(reply, "breach"), 0u) << to_json(*reply.find("actions"));
    return reply;
  }
  // The list as the client keeps it, and the one that came back, are answered as they were.
  void expect_settled(const Speech& speech, const List& list, const Json& reply,
                      std::string_view more) {
    const List kept = messages_of(reply);
    for (int time = 0; time < 2; ++time) {
      for (const List* each : {&list, &kept}) {
        const Json again = ask(speech, *each, more);
        EXPECT_EQ(messages_of(again), kept);
        EXPECT_EQ(tokens_of(again, "after"), tokens_of(reply, "after"));
        EXPECT_EQ(count_of(again, "old_result") + count_of(again, "tool_result"), 0u);
      }
      start();  // the daemon begins anew
    }
  }
  void fresh_store() {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    seed_ = 1;
    start();
  }
  // A call whose result came twice, read by the model.
  static List retried(const Speech& speech, const std::string& text) {
    List list = {speech.user("begin")};
    for (std::string& each : speech.tool("c1", text)) list.push_back(std::move(each));
    list.push_back(list.back());
    list.push_back(speech.model("seen"));
    list.push_back(speech.user("next"));
    return list;
  }
};

constexpr std::string_view kWide = R"(,"window":200000)";

TEST_F(PrepareTwiceTest, TheSecondOfAResultGoesWithTheFirstWhenTheCallerAsks) {
  const std::string text = kit::numbered_rows(40'000);
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    const List list = retried(speech, text);
    const Json first = ask(speech, list, kWide);
    EXPECT_EQ(count_of(first, "repair"), 1u);
    EXPECT_EQ(first.find("actions")->items.size(), 1u);
    const Json reply = ask(speech, list, fmt::format(R"({},"put_away":["c1"])", kWide));
    EXPECT_EQ(count_of(reply, "tool_result"), 2u);
    EXPECT_EQ(file(text_of(action_of(reply, "tool_result"), "path")), text);
    const std::string all = all_of(messages_of(reply));
    EXPECT_LT(all.size(), 12'000u);
    EXPECT_THAT(all, HasSubstr("has its result already"));
    expect_settled(speech, list, reply, kWide);
  }
}

TEST_F(PrepareTwiceTest, TheSecondOfAResultGoesWithTheFirstInALatePass) {
  const std::string text = kit::numbered_rows(40'000);
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    List list = retried(speech, text);
    ask(speech, list, kWide);
    list.push_back(speech.model(kit::prose(30'000)));
    list.push_back(speech.user("go on"));
    const std::string_view window = R"(,"window":30000)";
    const Json reply = ask(speech, list, window);
    EXPECT_EQ(count_of(reply, "old_result"), 2u);
    EXPECT_EQ(count_of(reply, "summary"), 0u);
    EXPECT_THAT(all_of(messages_of(reply)), Not(HasSubstr(text.substr(20'000, 40))));
    expect_settled(speech, list, reply, window);
  }
}

// Frameworks that count the calls of each turn from 1, and a tool that says the same again.
TEST_F(PrepareTwiceTest, EqualResultsOfOneIdGoTogether) {
  const std::string text = kit::numbered_rows(20'000);
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    List list;
    for (int turn = 0; turn < 2; ++turn) {
      list.push_back(speech.user(fmt::format("look {}", turn)));
      for (std::string& each : speech.tool("call_1", text)) list.push_back(std::move(each));
      list.push_back(speech.model("seen"));
    }
    list.push_back(speech.user(kit::prose(36'000)));
    list.push_back(speech.model("well"));
    list.push_back(speech.user("go on"));
    const std::string_view window = R"(,"window":24000)";
    const Json reply = ask(speech, list, window);
    EXPECT_EQ(count_of(reply, "old_result"), 2u);
    expect_settled(speech, list, reply, window);
  }
}

// What stands for a stray does not change what its list is found by.
TEST_F(PrepareTwiceTest, APassIsFoundAgainWhenAStrayInItWentLater) {
  const std::string text = kit::numbered_rows(30'000);
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    fresh_store();
    List list = retried(speech, text);
    const List begin = list;
    for (int turn = 0; turn < 8; ++turn) {
      list.push_back(speech.model(fmt::format("{} {}", turn, kit::prose(8'000))));
      list.push_back(speech.user(fmt::format("ask {} {}", turn, kit::prose(8'000))));
    }
    const Json reply = ask(speech, list, fmt::format(R"({},"compact":true)", kWide));
    ASSERT_EQ(count_of(reply, "summary"), 1u) << to_json(*reply.find("actions"));
    // Back to the beginning, where both results go now.
    const Json rewound = ask(speech, begin, fmt::format(R"({},"put_away":["c1"])", kWide));
    EXPECT_EQ(count_of(rewound, "tool_result"), 2u);
    expect_settled(speech, begin, rewound, kWide);
    expect_settled(speech, list, reply, kWide);
    // And on from there: whoever keeps what came back gets the same pass.
    List whole = messages_of(rewound);
    whole.insert(whole.end(), list.begin() + static_cast<ptrdiff_t>(begin.size()), list.end());
    EXPECT_EQ(messages_of(ask(speech, whole, kWide)), messages_of(reply));
  }
}

}  // namespace
}  // namespace ebla::daemon
