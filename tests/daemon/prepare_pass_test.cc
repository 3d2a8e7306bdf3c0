// Late passes: what goes, what the history then holds, and that the same list gives the same bytes.
#include <map>
#include <set>

#include "tests/daemon/prepare_fixture.h"
#include "tests/kit/history_reader.h"

namespace ebla::daemon {
namespace {

constexpr std::string_view kWindow = R"(,"window":10000)";

// A text of so many characters that is like no other.
std::string said(std::string_view who, size_t turn, size_t characters) {
  std::string text = fmt::format("{} in turn {}: ", who, turn);
  text += kit::prose(characters - text.size());
  return text;
}

class PreparePassTest : public PrepareFixture {
 protected:
  // One turn of a conversation that the client keeps whole, or replaces by what it gets back.
  void turn(size_t number, bool replaces) {
    list_.push_back(user(said("user", number, 1'000)));
    all_.push_back(list_.back());
    const Json reply = prepare(list_, kWindow);
    EXPECT_TRUE(flag_of(reply, "fits")) << number;
    sent_ = messages_of(reply);
    passes_ += count_of(reply, "summary");
    if (replaces) list_ = sent_;
    list_.push_back(assistant(said("model", number, 1'000)));
    all_.push_back(list_.back());
  }
  std::vector<kit::HistorySection> sections() {
    auto parsed = kit::parse_history(history());
    EXPECT_TRUE(parsed) << parsed.error().text;
    return parsed ? *parsed : std::vector<kit::HistorySection>();
  }
  // What of the history stands for messages of `all_`, in order.
  void expect_history_begins_the_conversation() {
    size_t next = 0;
    for (const kit::HistorySection& section : sections()) {
      for (const kit::HistoryMessage& message : section.messages) {
        ASSERT_LT(next, all_.size());
        auto original = parse_json(all_[next]);
        ASSERT_TRUE(original);
        EXPECT_EQ(message.number, next + 1);
        EXPECT_EQ(message.role, text_of(*original, "role"));
        ASSERT_EQ(message.parts.size(), 1u);
        EXPECT_EQ(message.parts.front().block, text_of(*original, "content")) << next;
        ++next;
      }
    }
    EXPECT_GT(next, 0u);
  }

  std::vector<std::string> list_;
  std::vector<std::string> all_;   // as it was said
  std::vector<std::string> sent_;  // the last list that went to the model
  size_t passes_ = 0;
};

TEST_F(PreparePassTest, EveryMessageIsInTheHistoryOnceInOrderAndToTheByte) {
  for (const bool replaces : {false, true}) {
    SCOPED_TRACE(replaces);
    store_ = kit::make_model_store(clock_, kUid, kUid);
    seed_ = 1;
    start();
    list_.clear();
    all_.clear();
    passes_ = 0;
    for (size_t n = 1; n <= 40; ++n) turn(n, replaces);
    EXPECT_GE(passes_, 1u);
    expect_history_begins_the_conversation();
    // What the model sees ends with what the history does not hold.
    const size_t in_history = [&] {
      size_t count = 0;
      for (const auto& section : sections()) count += section.messages.size();
      return count;
    }();
    ASSERT_GE(sent_.size(), 79 - in_history);
    for (size_t i = in_history; i < 79; ++i) {
      // The first of the tail may carry the summary in front.
      const std::string& shown = sent_[sent_.size() - (79 - i)];
      if (shown == all_[i]) continue;
      EXPECT_EQ(i, in_history) << i;
      EXPECT_NE(shown.find(text_of(*parse_json(all_[i]), "content").substr(0, 20)),
                std::string::npos);
    }
  }
}

TEST_F(PreparePassTest, BothWaysToKeepTheListLeadToTheSame) {
  std::map<bool, std::vector<std::string>> last;
  for (const bool replaces : {false, true}) {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    seed_ = 1;
    start();
    list_.clear();
    for (size_t n = 1; n <= 25; ++n) turn(n, replaces);
    last[replaces] = sent_;
  }
  EXPECT_EQ(last[false], last[true]);
}

TEST_F(PreparePassTest, TheSameListGivesTheSameBytes) {
  for (size_t n = 1; n <= 25; ++n) turn(n, false);
  list_.pop_back();
  const auto first = messages_of(prepare(list_, kWindow));
  const size_t files = number_of(must("fs.ls", R"({"path":"/large_tool_results"})"), "total");
  const std::string history_then = history();
  for (int again = 0; again < 5; ++again) {
    const Json reply = prepare(list_, kWindow);
    EXPECT_EQ(messages_of(reply), first);
    EXPECT_TRUE(reply.find("actions")->items.empty());
    EXPECT_EQ(number_of(reply, "stable_until"), first.size());
  }
  start();  // a new daemon on the same store
  EXPECT_EQ(messages_of(prepare(list_, kWindow)), first);
  must("session.open", R"({"key":"s","settings":{"tool_result_tokens":5,"trigger":0.5}})");
  EXPECT_EQ(messages_of(prepare(list_, R"(,"window":12000)")), first);
  must("session.open", R"({"key":"child","parent":"s"})");
  const Json child = must("prepare", R"({"session":"child","reply":"messages","window":10000,)"
                                     R"("messages":)" +
                                         list_of(list_) + "}");
  EXPECT_EQ(messages_of(child), first);
  EXPECT_EQ(history(), history_then);
  EXPECT_EQ(number_of(must("fs.ls", R"({"path":"/large_tool_results"})"), "total"), files + 1)
      << "the child's folder and nothing else";
}

TEST_F(PreparePassTest, ASectionWithoutMessagesNamesWhatItSummarises) {
  for (size_t n = 1; n <= 20; ++n) {
    list_.push_back(user(said("user", n, 1'000)));
    list_.push_back(assistant(said("model", n, 1'000)));
  }
  list_.push_back(user("and now"));
  must("session.open", R"({"key":"s"})");
  must("history.append", R"({"session":"s","messages":)" + list_of(list_) + "}");
  prepare(list_, R"(,"window":10000,"compact":true)");
  const auto found = sections();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[1].messages.empty());
  EXPECT_EQ(found[1].first, 1u);
  EXPECT_GT(found[1].last, 20u);
  EXPECT_EQ(found[1].rewind_to, 0u);
}

// The second pass stands for fewer messages than the first: what comes behind them is new, and
// begins at a number that was there before.
TEST_F(PreparePassTest, ARewindBehindWhatIsSummarisedIsTold) {
  for (size_t n = 1; n <= 30; ++n) {
    list_.push_back(user(said("user", n, 1'000)));
    list_.push_back(assistant(said("model", n, 1'000)));
  }
  list_.push_back(user("and now"));
  prepare(list_, kWindow);
  ASSERT_EQ(sections().size(), 1u);
  const uint64_t last = sections().front().last;
  ASSERT_GT(last, 40u);
  list_.resize(last - 5);
  list_.push_back(user("the other branch"));
  prepare(list_, kWindow);
  for (size_t n = 101; n <= 130; ++n) {
    list_.push_back(assistant(said("model", n, 1'000)));
    list_.push_back(user(said("user", n, 1'000)));
  }
  prepare(list_, kWindow);
  const auto found = sections();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[1].messages.empty());
  EXPECT_EQ(found[1].rewind_to, 0u);
  EXPECT_EQ(found[2].first, last - 4);
  EXPECT_EQ(found[2].rewind_to, last - 5);
  EXPECT_EQ(found[2].messages.front().parts.front().block, "the other branch");
}

TEST_F(PreparePassTest, ARewindForgetsTheBranchAndALaterReturnFindsIt) {
  for (size_t n = 1; n <= 24; ++n) turn(n, false);
  ASSERT_GE(passes_, 1u);
  const auto kept = list_;
  const auto before = messages_of(prepare(list_, kWindow));
  // Back to the beginning of the abandoned part, then another branch.
  list_.resize(4);
  all_.resize(4);
  for (size_t n = 101; n <= 125; ++n) {
    list_.push_back(user(said("other", n, 1'000)));
    const Json reply = prepare(list_, kWindow);
    sent_ = messages_of(reply);
    list_.push_back(assistant(said("branch", n, 1'000)));
    const std::string all = fmt::format("{}", fmt::join(sent_, "\n"));
    EXPECT_EQ(all.find("in turn 5:"), std::string::npos) << "text of the abandoned branch";
    EXPECT_EQ(all.find("in turn 9:"), std::string::npos);
  }
  const auto all_sections = sections();
  ASSERT_GE(all_sections.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(all_sections, [](const auto& s) { return s.rewind_to == 4; }));
  // Each message once: also those in front of the fork.
  std::map<std::string, int> times;
  for (const auto& section : all_sections) {
    for (const auto& message : section.messages) ++times[*message.parts.at(0).block];
  }
  for (const auto& [text, count] : times) EXPECT_EQ(count, 1) << text.substr(0, 30);
  EXPECT_EQ(messages_of(prepare(kept, kWindow)), before);
}

TEST_F(PreparePassTest, NothingBelowTheTriggerAndALatePassAtIt) {
  // Grown word by word to the token.
  std::vector<std::string> list;
  for (size_t n = 1; n <= 17; ++n) {
    list.push_back(user(said("user", n, 1'000)));
    list.push_back(assistant(said("model", n, 1'000)));
  }
  std::string end = "so";
  list.push_back(user(end));
  const auto total = [&] {
    list.back() = user(end);
    return tokens_of(prepare(list, R"(,"window":1000000,"dry_run":true)"), "before");
  };
  while (total() + 200 < 8'500) end += kit::prose(400);
  while (total() < 8'499) end += " a";
  ASSERT_EQ(total(), 8'499u);
  EXPECT_TRUE(prepare(list, kWindow).find("actions")->items.empty());
  end += " a";
  ASSERT_EQ(total(), 8'500u);
  const Json reply = prepare(list, kWindow);
  EXPECT_EQ(count_of(reply, "summary"), 1u);
  EXPECT_LE(tokens_of(reply, "after"), 8'000u);
  EXPECT_EQ(tokens_of(reply, "trigger"), 8'500u);
}

TEST_F(PreparePassTest, CompactSaysWhyItDidNothing) {
  const Json small = prepare({user("hi"), assistant("ho"), user("and")}, R"(,"compact":true)");
  EXPECT_EQ(text_of(small, "not_compacted"), "nothing_old");
  EXPECT_TRUE(small.find("actions")->items.empty());
  // Eight short messages, of which six are the tail of an unknown window.
  std::vector<std::string> few;
  for (int n = 0; n < 4; ++n) {
    few.push_back(user(fmt::format("q{}", n)));
    few.push_back(assistant(fmt::format("a{}", n)));
  }
  few.push_back(user("now"));
  EXPECT_EQ(text_of(prepare(few, R"(,"compact":true)"), "not_compacted"), "not_smaller");
  for (size_t n = 1; n <= 12; ++n) turn(n, false);
  list_.pop_back();
  const std::string compact = fmt::format(R"({},"compact":true)", kWindow);
  const Json large = prepare(list_, compact);
  EXPECT_EQ(count_of(large, "summary"), 1u);
  EXPECT_EQ(large.find("not_compacted"), nullptr);
  const Json again = prepare(list_, compact);
  EXPECT_EQ(text_of(again, "not_compacted"), "nothing_old");
  EXPECT_EQ(messages_of(again), messages_of(large));
  EXPECT_EQ(prepare(list_, kWindow).find("not_compacted"), nullptr) << "it was not asked for";
}

}  // namespace
}  // namespace ebla::daemon
