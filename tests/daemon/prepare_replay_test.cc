// The same list gives the same bytes for ever: whatever was decided since, on another branch or
// under other limits.
#include <gmock/gmock.h>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "tests/daemon/speech.h"
#include "tests/kit/store_calls.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kWindow = 24'000;

class PrepareReplayTest : public PrepareFixture {
 protected:
  using List = std::vector<std::string>;

  Json ask(const Speech& speech, const List& list, int window = kWindow,
           std::string_view session = "s") {
    return must("prepare",
                fmt::format(R"({{"session":"{}","format":"{}","window":{},"reply":"messages",)"
                            R"("messages":{}}})",
                            session, speech.format, window, list_of(list)));
  }
  void begin() {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    seed_ = 1;
    actions_.clear();
    start();
  }
  // A turn of some 900 tokens, half of them a result that an old one may lose.
  static void add_turn(const Speech& speech, List& list, std::string_view branch, size_t n) {
    list.push_back(speech.user(fmt::format("ask {} {}: {}", branch, n, kit::prose(400))));
    for (auto& message : speech.tool(fmt::format("call_{}_{}", branch, n),
                                     fmt::format("out {} {}\n{}", branch, n, kit::prose(2'800)))) {
      list.push_back(std::move(message));
    }
    list.push_back(speech.model(fmt::format("answer {} {}: {}", branch, n, kit::prose(400))));
  }
  static List ended(const Speech& speech, List list) {
    list.push_back(speech.user("and now?"));
    return list;
  }
  static std::string joined(const List& messages) {
    return fmt::format("{}", fmt::join(messages, "\n"));
  }
  // The turns of a branch, each sent; `list` grows by them. What came back for each list.
  std::vector<std::pair<List, List>> grow(const Speech& speech, List& list, std::string_view branch,
                                          size_t from, size_t to) {
    std::vector<std::pair<List, List>> sent;
    for (size_t n = from; n <= to; ++n) {
      add_turn(speech, list, branch, n);
      const Json reply = ask(speech, ended(speech, list));
      EXPECT_TRUE(flag_of(reply, "fits"));
      for (const Json& action : reply.find("actions")->items) ++actions_[text_of(action, "what")];
      sent.emplace_back(ended(speech, list), messages_of(reply));
    }
    return sent;
  }
  void expect_same(const Speech& speech, const std::vector<std::pair<List, List>>& sent,
                   std::string_view session = "s") {
    for (size_t i = 0; i < sent.size(); ++i) {
      const Json reply = ask(speech, sent[i].first, kWindow, session);
      ASSERT_EQ(messages_of(reply), sent[i].second) << i;
      EXPECT_EQ(count_of(reply, "repair"), reply.find("actions")->items.size());
    }
  }
  std::map<std::string, size_t> actions_;
};

TEST_F(PrepareReplayTest, ABranchThatIsLeftAndFoundAgain) {
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    begin();
    // Neither is long enough for anything to go; the second one is.
    List trunk = speech.lead;
    auto sent = grow(speech, trunk, "trunk", 1, 16);
    List first = trunk;
    for (auto& one : grow(speech, first, "branch_a", 1, 4)) sent.push_back(std::move(one));
    EXPECT_EQ(actions_.size(), 0u) << "the trunk is whole so far";
    List second = trunk;
    const auto other = grow(speech, second, "branch_b", 1, 75);
    EXPECT_GT(actions_["old_result"], 10u);
    EXPECT_GT(actions_["summary"], 0u);
    for (const auto& [list, out] : other) EXPECT_THAT(joined(out), Not(HasSubstr("branch_a")));

    expect_same(speech, sent);
    expect_same(speech, other);
    start();  // another daemon on the same store
    expect_same(speech, sent);
    must("session.open",
         R"({"key":"s","settings":{"tool_result_tokens":50,"human_message_tokens":50,)"
         R"("trigger":0.2,"keep":0.05,"old_results":false}})");
    expect_same(speech, sent);
    expect_same(speech, other);
    must("session.open", R"({"key":"child","parent":"s"})");
    expect_same(speech, sent, "child");
    // It goes on, and still knows nothing of the other one.
    const auto later = grow(speech, first, "branch_a", 5, 12);
    for (const auto& [list, out] : later) EXPECT_THAT(joined(out), Not(HasSubstr("branch_b")));
    expect_same(speech, later);
    expect_same(speech, sent);
    // Ten messages back from where passes have been made, in the middle of a call, and on.
    List third(second.begin(), second.end() - 10);
    const auto back = grow(speech, third, "branch_c", 1, 20);
    for (const auto& [list, out] : back) {
      for (const char* gone : {"out branch_b 73", "branch_b 74", "branch_b 75", "branch_a"}) {
        EXPECT_THAT(joined(out), Not(HasSubstr(gone)));
      }
    }
    expect_same(speech, back);
    expect_same(speech, other);
  }
}

TEST_F(PrepareReplayTest, AClientThatKeepsOurListsFindsTheSame) {
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    begin();
    List list = speech.lead;
    std::vector<List> replies;
    for (size_t n = 1; n <= 45; ++n) {
      add_turn(speech, list, "turn", n);
      list.push_back(speech.user("and now?"));
      list = messages_of(ask(speech, list));
      replies.push_back(list);
    }
    must("session.open", R"({"key":"s","settings":{"tool_result_tokens":50,"trigger":0.2}})");
    for (const List& reply : replies) EXPECT_EQ(messages_of(ask(speech, reply)), reply);
  }
}

TEST_F(PrepareReplayTest, NewLimitsTouchNewItemsOnly) {
  const Speech speech = speeches().front();
  List list = {speech.user("go")};
  for (auto& message : speech.tool("c1", kit::prose(40'000))) list.push_back(message);
  const auto whole = messages_of(ask(speech, list, 200'000));
  ASSERT_EQ(whole, list);
  must("session.open", R"({"key":"s","settings":{"tool_result_tokens":1000}})");
  EXPECT_EQ(messages_of(ask(speech, list, 200'000)), whole) << "it was sent like this";
  list.push_back(speech.model("so"));
  for (auto& message : speech.tool("c2", kit::prose(40'000))) list.push_back(message);
  const Json reply = ask(speech, list, 200'000);
  EXPECT_EQ(count_of(reply, "tool_result"), 1u);
  EXPECT_EQ(text_of(action_of(reply, "tool_result"), "id"), "c2");
  // Who asks for more gets it.
  const Json asked =
      must("prepare", fmt::format(R"({{"session":"s","format":"anthropic","window":200000,)"
                                  R"("messages":{},"put_away":["c1"]}})",
                                  list_of(list)));
  EXPECT_EQ(text_of(action_of(asked, "tool_result"), "id"), "c1");
}

TEST_F(PrepareReplayTest, ASmallerWindowIsKeptAndThenHolds) {
  for (const Speech& speech : speeches()) {
    SCOPED_TRACE(speech.format);
    begin();
    List list = speech.lead;
    for (size_t n = 1; n <= 60; ++n) add_turn(speech, list, "turn", n);
    list = ended(speech, list);
    const Json large = ask(speech, list, 400'000);
    EXPECT_TRUE(large.find("actions")->items.empty());
    const Json small = ask(speech, list, 32'000);
    EXPECT_TRUE(flag_of(small, "fits"));
    EXPECT_LT(tokens_of(small, "after"), 32'000u * 85 / 100);
    const auto out = messages_of(small);
    EXPECT_EQ(messages_of(ask(speech, list, 32'000)), out);
    EXPECT_EQ(messages_of(ask(speech, list, 400'000)), out);
    start();
    EXPECT_EQ(messages_of(ask(speech, list, 32'000)), out);
  }
}

TEST_F(PrepareReplayTest, WhatWasAnsweredInTroubleIsDecidedLater) {
  const Speech speech = speeches().front();
  List list = {speech.user("go")};
  for (auto& message : speech.tool("c1", kit::prose(100'000))) list.push_back(message);
  // A dry run decides nothing either.
  must("prepare", fmt::format(R"({{"session":"s","format":"anthropic","window":200000,)"
                              R"("messages":{},"dry_run":true}})",
                              list_of(list)));
  EXPECT_EQ(count_of(ask(speech, list, 200'000), "tool_result"), 1u);
}

// What is remembered of answered lists is bounded: the oldest of those that stand together goes.
TEST_F(PrepareReplayTest, OldRecordsMakeRoomForNewOnes) {
  const Speech speech = speeches().front();
  begin();
  List list;
  const auto sent = grow(speech, list, "a", 1, 3);
  const std::string revision = text_of(ask(speech, sent.back().first), "revision");
  const auto chain = Hash128::from_hex(revision.substr(revision.find('-') + 1, 32));
  ASSERT_TRUE(chain) << revision;
  const auto session = store_->find_session(kUid, "s");
  ASSERT_TRUE(session);
  const std::string place =
      fmt::format("list/{}/{}", session->tree, chain->low % (limits::kAnsweredLists / 32));
  const auto record = *store_->fact(place);
  ASSERT_TRUE(record) << place;
  const std::string own = record->substr(0, record->find('\n'));
  EXPECT_THAT(own, testing::StartsWith(chain->hex() + " "));
  std::string others;
  for (int i = 0; i < 32; ++i) {
    others += (i > 0 ? "\n" : "") + xxh3_128(fmt::format("list {}", i)).hex() + own.substr(32);
  }
  ASSERT_TRUE(kit::set_fact(*store_, place, others).result);
  expect_same(speech, {sent.back()});
  const std::string now = **store_->fact(place);
  EXPECT_EQ(now, own + "\n" + others.substr(0, others.rfind('\n'))) << "the newest first";
  expect_same(speech, {sent.back()});
  EXPECT_EQ(*store_->fact(place), now);
}

}  // namespace
}  // namespace ebla::daemon
