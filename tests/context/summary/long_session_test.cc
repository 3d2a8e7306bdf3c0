// What a reader has of a long session: only the summary message.
#include <gtest/gtest.h>

#include "context/summary/summary.h"
#include "context/text/tokens.h"
#include "tests/context/summary/long_sessions.h"
#include "tests/context/support.h"

namespace ebla::context {
namespace {

std::string message_of(const test::Talk& talk, size_t tail = 1) {
  SummaryMessageInput input;
  const size_t removed = talk.list().messages.size() - tail;
  input.input = talk.input(removed);
  input.summary = extract_summary(input.input);
  input.window = 100'000;
  for (size_t i = 0; i < removed; ++i) input.message_lines.push_back(30 + 12 * i);
  input.doors.shell = true;
  return summary_message(input);
}

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// Ten passes in a row, each from the summary before: what a pass is made of, and its message.
class Chain {
 public:
  explicit Chain(uint64_t window) : window_(window) {}
  const std::string& message() const { return message_; }

  void pass(test::Talk& talk, std::string_view summary = "") {
    SummaryMessageInput input;
    talk.list().summary = message_;
    const size_t removed = talk.list().messages.size();
    input.input = talk.input(removed);
    input.input.max_tokens = std::min<uint64_t>(4'000, window_ / 20);
    const SummaryParts before = parts_of_summary(message_);
    input.input.earlier = before.summary;
    input.older = before.where_to_look;
    input.window = window_;
    for (size_t i = 0; i < removed; ++i) input.message_lines.push_back(line_ += 9);
    input.doors.shell = true;
    input.summary = summary.empty() ? extract_summary(input.input) : std::string(summary);
    EXPECT_LE(estimate_tokens(input.summary), input.input.max_tokens);
    message_ = summary_message(input);
  }

 private:
  uint64_t window_;
  uint64_t line_ = 1;
  std::string message_;
};

// Much work of all kinds, none of it what the first pass was about.
test::Talk busy_turns(int pass) {
  test::Talk talk;
  test::Calls calls(talk);
  for (int turn = 0; turn < 3; ++turn) {
    const std::string n = std::to_string(pass) + "_" + std::to_string(turn);
    talk.user("Now part " + n + ": it should be quick, and you must log the step " + n + ".");
    for (int i = 0; i < 8; ++i) {
      const std::string name = n + "_" + std::to_string(i);
      calls.run("edit_file", R"({"path":"gen/part_)" + name + R"(.py","old":"a","new":"b"})", "ok",
                "The part " + name + " needs the lock before it reads the queue.");
      calls.run("read_file", R"({"path":"lib/other_)" + name + R"(.py"})", "text");
      calls.bash("pytest gen/part_" + name + ".py -q",
                 i == 5 ? "1 failed\nexit code 1" : "3 passed");
    }
    talk.assistant("I decided to use a queue for part " + n + " instead of a lock. It is done.");
  }
  return talk;
}

test::Talk first_turns() {
  test::Talk talk;
  test::Calls calls(talk);
  talk.user(
      "Write the billing service for tenant Orion. Never store card numbers. All amounts must "
      "be integers in cents. Don't touch legacy/. Ticket BILL-7781.");
  calls.run("write_file", R"({"path":"services/billing/api.py","content":"x"})", "ok",
            "I decided to use event sourcing rather than plain tables.");
  calls.run("write_file", R"({"path":"docs/billing design.md","content":"x"})", "ok");
  calls.bash("make migrate", "ERROR: relation billing_events does not exist\nexit code 1\n");
  talk.assistant("The service stands; the migration fails.");
  talk.user("Good. Port 8443 only.");
  talk.assistant("ok");
  return talk;
}

TEST(LongSession, TenSummariesOfSummariesKeepWhatHolds) {
  Chain chain(100'000);
  test::Talk first = first_turns();
  chain.pass(first);
  std::string at_first = parts_of_summary(chain.message()).summary;
  for (int pass = 1; pass < 10; ++pass) {
    test::Talk talk = busy_turns(pass);
    chain.pass(talk);
  }
  const std::string last = parts_of_summary(chain.message()).summary;
  for (std::string_view fact :
       {"First request: Write the billing service for tenant Orion.", "Never store card numbers.",
        "All amounts must be integers in cents.", "Don't touch legacy/.", "Port 8443 only.",
        "event sourcing rather than plain tables", "\"services/billing/api.py\"",
        "\"docs/billing design.md\"", "Bash: make migrate\": failed, \"ERROR: relation"}) {
    EXPECT_TRUE(has(at_first, fact)) << fact << "\n" << at_first;
    EXPECT_TRUE(has(last, fact)) << fact << "\n" << last;
  }
  EXPECT_TRUE(has(last, "you must log the step 9_2.")) << last;
  EXPECT_TRUE(has(last, "gen/part_9_2_7.py")) << last;
}

TEST(LongSession, ASmallWindowKeepsTheGoalAndTheFirstRule) {
  Chain chain(10'000);
  test::Talk first = first_turns();
  chain.pass(first);
  for (int pass = 1; pass < 10; ++pass) {
    test::Talk talk = busy_turns(pass);
    chain.pass(talk);
  }
  const std::string last = parts_of_summary(chain.message()).summary;
  EXPECT_TRUE(has(last, "Write the billing service for tenant Orion.")) << last;
  EXPECT_TRUE(has(last, "Don't touch legacy/.")) << last;
  EXPECT_TRUE(has(last, "you must log the step 9_2.")) << last;
}

TEST(LongSession, AModelsSummaryGoesOnThroughExtracts) {
  Chain chain(100'000);
  test::Talk first = first_turns();
  chain.pass(
      first,
      "## Goal\n- billing service for Orion\n## Constraints\n- no card numbers\n## Done\n"
      "- api.py:\n```\n# stub\nrun()\n```\n## Open\n- migration fails\n## Decisions\n- event "
      "sourcing\n## Files and artifacts\n- services/billing/api.py: written\n## Next steps\n"
      "- repair the migration\n");
  for (int pass = 1; pass < 10; ++pass) {
    test::Talk talk = busy_turns(pass);
    chain.pass(talk);
  }
  const std::string last = parts_of_summary(chain.message()).summary;
  for (std::string_view fact :
       {"## Goal\n- billing service for Orion\n", "- no card numbers\n", "- migration fails\n",
        "- event sourcing\n", "- services/billing/api.py: written\n"}) {
    EXPECT_TRUE(has(last, fact)) << fact << "\n" << last;
  }
  EXPECT_FALSE(has(last, "repair the migration")) << "the model has gone on since";
}

TEST(LongSession, TheSameSessionGivesTheSameBytes) {
  for (const test::NamedSession& session : test::long_sessions()) {
    const std::string text = message_of(session.talk);
    EXPECT_EQ(text, message_of(session.talk));
    EXPECT_LE(estimate_tokens(text), 4'000u + 5'000u + 1'000u + 500u);
    EXPECT_EQ(parts_of_summary(text).summary.find("\n\n\n"), std::string::npos);
  }
}

TEST(LongSession, WhoGoesOnFindsWhatItNeeds) {
  const std::pair<test::Talk (*)(), std::vector<std::string_view>> cases[] = {
      {test::coding_session,
       {"Never touch third_party/.", "Do not use Boost", "Run ctest before", "never push",
        "don't rename the metrics", "src/loop.cc\": edited (2 times), 1 failed", "7be19d4",
        "31 - replicator_lag (Timeout)", "In the plan, in_progress: Port Replicator",
        "flush a batch after 20 ms", "I decided to let Session hold its Task"}},
      {test::analyst_session,
       {"Always exclude test accounts (account_id < 1000)", "never USD",
        "Use the booking date, not the order date.", "don't mention Marisma by name",
        "2,147,913.45", "statement timeout", "charts/q3 revenue by region.png"}},
      {test::clerk_session,
       {"不要删除原文件", "手机号必须保留前导零", "金额一律用人民币", "别改客户编号的格式",
        "/数据/客户/客户总表.xlsx", "91330106MA2KXXXX1C", "列名 '手机号' 不存在"}},
      {test::support_session,
       {"never call me by phone", "m.keller@example.org", "TR-55102", "only after 10", "39.90 EUR",
        "40011873", "by tomorrow noon"}},
      {test::json_session,
       {"Never close anything labelled p0", "number=1052", "FORBIDDEN: label p0 is protected",
        "Closed nine: 1031", "nodes: 40 items"}}};
  for (const auto& [session, facts] : cases) {
    const std::string text = message_of(session());
    for (std::string_view fact : facts) EXPECT_TRUE(has(text, fact)) << fact << "\n" << text;
    EXPECT_FALSE(has(text, "sed -n '1,80p' src/")) << text;
    EXPECT_FALSE(has(text, "\\nStacktrace")) << text;
  }
}

TEST(LongSession, Golden) {
  for (const test::NamedSession& session : test::long_sessions()) {
    test::compare_golden("session-" + session.name + ".txt", message_of(session.talk));
  }
}

}  // namespace
}  // namespace ebla::context
