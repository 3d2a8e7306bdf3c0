// The three sources of summaries: what is asked, what is taken, and what happens when they fail.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <thread>

#include "context/text/tokens.h"
#include "context/texts.h"
#include "tests/daemon/prepare_fixture.h"
#include "tests/kit/temp_dir.h"

namespace ebla::daemon {
namespace {

using testing::HasSubstr;

std::string good_summary(std::string_view mark = "the mark") {
  std::string text;
  for (const std::string_view heading : context::texts::kSummaryHeadings) {
    text += fmt::format("## {}\n- {} of {}\n", heading, heading, mark);
  }
  return text;
}

class PrepareSummaryTest : public PrepareFixture {
 protected:
  void SetUp() override {
    PrepareFixture::SetUp();
    for (size_t n = 1; n <= 20; ++n) add_turn(n);
    list_.push_back(user("and now the newest request"));
  }
  void add_turn(size_t n) {
    list_.push_back(user(fmt::format("question {}: {}", n, kit::prose(1'000))));
    list_.push_back(assistant(fmt::format("answer {}: {}", n, kit::prose(1'000))));
  }
  // A window that the list fills to this share.
  uint64_t window_for(double share) {
    const Json plain = call_prepare("probe", R"(,"window":1000000,"dry_run":true)");
    return static_cast<uint64_t>(static_cast<double>(tokens_of(plain, "before")) / share);
  }
  Json call_prepare(std::string_view session, std::string_view more) {
    return must("prepare", params(session, more));
  }
  std::string params(std::string_view session, std::string_view more) const {
    return fmt::format(
        R"({{"session":"{}","format":"anthropic","reply":"messages","messages":{}{}}})", session,
        list_of(list_), more);
  }
  static std::string with(uint64_t window, std::string_view summariser) {
    return fmt::format(R"(,"window":{},"summariser":{})", window, json_string(summariser));
  }
  // A script that keeps what it is asked, counts its runs, and goes on with `then`.
  std::string script(std::string_view then) {
    const std::string path = folder_ / "summarise";
    std::ofstream(path) << "#!/bin/sh\ncat > " << folder_ / "asked" << "\necho run >> "
                        << folder_ / "runs" << "\n"
                        << then << "\n";
    ::chmod(path.c_str(), 0700);
    return path;
  }
  std::string printed(std::string_view text) {
    std::ofstream(folder_ / "text", std::ios::binary) << text;
    return "cat " + (folder_ / "text");
  }
  std::string read(std::string_view name) {
    return read_file(folder_ / name, 64 * limits::kMiB).value_or("");
  }
  static std::string joined(const std::vector<std::string>& messages) {
    return fmt::format("{}", fmt::join(messages, "\n"));
  }
  size_t runs() { return static_cast<size_t>(std::ranges::count(read("runs"), '\n')); }
  void until_nothing_runs() {
    while (services_->summariser.running() + services_->summariser.waiting() > 0) {
      std::this_thread::yield();
    }
  }

  std::vector<std::string> list_;
  kit::TempDir folder_{"summary"};
};

TEST_F(PrepareSummaryTest, TheExtractNeedsNobody) {
  const Json reply = call_prepare("s", with(window_for(0.9), "extract"));
  EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "extract");
  EXPECT_TRUE(flag_of(reply, "fits"));
  const auto out = messages_of(reply);
  EXPECT_LT(out.size(), list_.size());
  EXPECT_THAT(out.back(), HasSubstr("newest request"));
  EXPECT_EQ(reply.find("summary_request"), nullptr);
}

TEST_F(PrepareSummaryTest, BetweenTriggerAndMustACommandRunsBeside) {
  ASSERT_EQ(::mkfifo((folder_ / "gate").c_str(), 0600), 0);
  const std::string command =
      script("read line < " + (folder_ / "gate") + "\n" + printed(good_summary()));
  const uint64_t window = window_for(0.88);
  const Json first = call_prepare("s", with(window, command));
  EXPECT_EQ(count_of(first, "summary"), 0u);
  EXPECT_EQ(messages_of(first).size(), list_.size());
  add_turn(21);
  list_.push_back(user("later"));
  EXPECT_EQ(count_of(call_prepare("s", with(window, command)), "summary"), 0u);
  std::ofstream(folder_ / "gate") << "go\n";
  until_nothing_runs();
  const Json later = call_prepare("s", with(window, command));
  EXPECT_EQ(text_of(action_of(later, "summary"), "reason"), "daemon");
  EXPECT_EQ(runs(), 1u);
  const auto out = messages_of(later);
  EXPECT_THAT(joined(out), HasSubstr("Decisions of the mark"));
  EXPECT_THAT(out.back(), HasSubstr("later"));
  // The question, and the whole beginning that is replaced.
  EXPECT_THAT(read("asked"), HasSubstr("## Next steps"));
  EXPECT_THAT(read("asked"), HasSubstr("question 1:"));
}

TEST_F(PrepareSummaryTest, FromTheMustOnPrepareWaitsAndHoldsNobody) {
  ASSERT_EQ(::mkfifo((folder_ / "gate").c_str(), 0600), 0);
  const std::string command =
      script("read line < " + (folder_ / "gate") + "\n" + printed(good_summary()));
  const uint64_t window = window_for(0.97);
  std::promise<void> left;
  auto request = std::make_shared<Request>();
  request->leave_order = [&left] { left.set_value(); };
  auto waiting = std::async(std::launch::async, [&] {
    return send("prepare", params("s", with(window, command)), request).result;
  });
  left.get_future().get();  // the session's next calls may run
  EXPECT_TRUE(flag_of(must("evict", R"({"session":"s","id":"c","content":)" +
                                        json_string(kit::prose(100'000)) + "}"),
                      "evicted"));
  std::ofstream(folder_ / "gate") << "go\n";
  auto reply = waiting.get();
  ASSERT_TRUE(reply) << reply.error().text;
  EXPECT_EQ(text_of(action_of(*reply, "summary"), "reason"), "daemon");
  EXPECT_EQ(runs(), 1u);
}

TEST_F(PrepareSummaryTest, ACommandThatMisbehavesIsBoundedAndTheExtractStandsIn) {
  struct Case {
    const char* then;
    const char* reason;
    size_t runs;
  };
  const std::vector<Case> cases = {
      {"exec sleep 1000", "did not end within", 1},
      {"sleep 1000 & exec sleep 1000", "did not end within", 1},
      {"exec yes a flood of text", "printed more than", 1},
      {"echo boom >&2; yes | head -c 9000000 >&2; echo last words >&2; exit 3",
       "ended with status 3: last words", 1},
      {"kill -9 $$", "137", 1},
      {"true", "", 2},
      {"printf '   \\n'", "", 2},
      {"printf '{}'", "", 2},
      {"printf '## Goal\\n\\377\\376'", "", 2},
      {"printf '## Goal\\n- only one heading\\n'", "", 2},
      {"printf '## Goal\\n- a\\0b\\033[2J\\n'", "", 2},
      {"echo '## Goal'; setsid sleep 5 & exit 4", "ended with status 4", 1},
      {"trap '' TERM INT HUP; while :; do :; done", "did not end within", 1},
      {"kill -SEGV $$", "139", 1},
      {"exec /no/such/program", "status 127", 1},
      {"exec /etc/passwd", "status 126", 1},
  };
  size_t n = 0;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.then);
    store_ = kit::make_model_store(clock_, kUid, kUid);
    summariser_limit_ = std::chrono::milliseconds(
        std::string_view(one.reason).starts_with("did not end") ? 300 : 20'000);
    start();
    static_cast<void>(::remove((folder_ / "runs").c_str()));
    const std::string session = fmt::format("s{}", ++n);
    const Json reply = call_prepare(session, with(window_for(0.97), script(one.then)));
    EXPECT_THAT(text_of(action_of(reply, "summary_failed"), "reason"), HasSubstr(one.reason));
    EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "extract");
    EXPECT_TRUE(flag_of(reply, "fits"));
    EXPECT_EQ(runs(), one.runs);
  }
}

TEST_F(PrepareSummaryTest, ThreeFailuresOpenABreakerThatARestartDoesNotClose) {
  const std::string command = script("exit 1");
  const uint64_t window = window_for(0.97);
  for (int n = 1; n <= 3; ++n) {
    call_prepare(fmt::format("s{}", n), with(window, command));
    EXPECT_EQ(runs(), static_cast<size_t>(n));
  }
  EXPECT_EQ(count_of(call_prepare("s4", with(window, command)), "breaker_open"), 1u);
  EXPECT_EQ(runs(), 3u);
  start();
  EXPECT_EQ(count_of(call_prepare("s5", with(window, command)), "breaker_open"), 1u);
  EXPECT_EQ(runs(), 3u);
  EXPECT_EQ(number_of(*must("stats", "{}").find("summaries"), "breakers"), 0u) << "since the start";
  clock_.advance_ns(601 * int64_t{1'000'000'000});
  call_prepare("s6", with(window, command));
  EXPECT_EQ(runs(), 4u);
  // It failed again: now for twice as long.
  clock_.advance_ns(601 * int64_t{1'000'000'000});
  call_prepare("s7", with(window, command));
  EXPECT_EQ(runs(), 4u);
  clock_.advance_ns(601 * int64_t{1'000'000'000});
  const std::string good = script(printed(good_summary()));
  call_prepare("s8", with(window, good));
  EXPECT_EQ(runs(), 5u);
}

TEST_F(PrepareSummaryTest, AClientIsAskedThreeTimesThenTheExtractStandsIn) {
  const uint64_t window = window_for(0.9);
  std::string id;
  for (int n = 0; n < limits::kSummaryOffers; ++n) {
    const Json reply = call_prepare("s", with(window, "client"));
    EXPECT_EQ(count_of(reply, "summary"), 0u);
    const Json* request = reply.find("summary_request");
    ASSERT_NE(request, nullptr) << n;
    EXPECT_FALSE(flag_of(*request, "must"));
    if (n > 0) {
      EXPECT_EQ(text_of(*request, "id"), id) << "the same prefix is asked for again";
    }
    id = text_of(*request, "id");
    EXPECT_THAT(text_of(*request, "prompt"), HasSubstr("question 1:"));
    EXPECT_THAT(text_of(*request, "instruction"), HasSubstr("## Goal"));
    EXPECT_GT(number_of(*request, "max_tokens"), 0u);
    list_.push_back(assistant("thinking"));
    list_.push_back(user("go on"));
    if (n == 1) start();  // how often it was asked outlives the process
  }
  const Json last = call_prepare("s", with(2 * window, "client"));
  EXPECT_EQ(last.find("summary_request"), nullptr) << "below the trigger nothing is asked";
  const Json full = call_prepare("s", with(window, "client"));
  EXPECT_EQ(text_of(action_of(full, "summary"), "reason"), "extract");
  EXPECT_EQ(full.find("summary_request"), nullptr);
}

TEST_F(PrepareSummaryTest, ASummaryOfTheClientIsTakenWhenItComes) {
  const uint64_t window = window_for(0.9);
  const Json asked = call_prepare("s", with(window, "client"));
  const std::string id = text_of(*asked.find("summary_request"), "id");
  for (size_t n = 21; n <= 30; ++n) add_turn(n);
  list_.push_back(user("the newest of all"));
  const Json reply = call_prepare(
      "s", with(window * 2, "client") + fmt::format(R"(,"summary":{{"id":"{}","text":{}}})", id,
                                                    json_string(good_summary())));
  EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "client");
  const auto out = messages_of(reply);
  EXPECT_THAT(joined(out), HasSubstr("Goal of the mark"));
  // What was added meanwhile is there, in order.
  ASSERT_GE(out.size(), 21u);
  for (size_t i = 0; i < 21; ++i) {
    EXPECT_EQ(out[out.size() - 1 - i], list_[list_.size() - 1 - i]);
  }
}

TEST_F(PrepareSummaryTest, ARefusedSummaryIsAskedForOnceMore) {
  const uint64_t window = window_for(0.9);
  const Json asked = call_prepare("s", with(window, "client"));
  const std::string id = text_of(*asked.find("summary_request"), "id");
  const std::string bad =
      fmt::format(R"(,"summary":{{"id":"{}","text":"## Goal\n- only one heading"}})", id);
  const Json once = call_prepare("s", with(window, "client") + bad);
  EXPECT_EQ(count_of(once, "summary_refused"), 1u);
  ASSERT_NE(once.find("summary_request"), nullptr);
  EXPECT_EQ(text_of(*once.find("summary_request"), "id"), id);
  const Json twice = call_prepare("s", with(window, "client") + bad);
  EXPECT_EQ(count_of(twice, "summary_refused"), 1u);
  EXPECT_EQ(text_of(action_of(twice, "summary"), "reason"), "extract");
  EXPECT_EQ(twice.find("summary_request"), nullptr);
}

TEST_F(PrepareSummaryTest, AClientThatCannotSaysSo) {
  const uint64_t window = window_for(0.96);
  const Json asked = call_prepare("s", with(window, "client"));
  EXPECT_TRUE(flag_of(*asked.find("summary_request"), "must"));
  const std::string id = text_of(*asked.find("summary_request"), "id");
  const Json reply = call_prepare(
      "s", with(window, "client") +
               fmt::format(R"(,"summary":{{"id":"{}","error":"429 too many requests"}})", id));
  EXPECT_EQ(text_of(action_of(reply, "summary_failed"), "reason"), "429 too many requests");
  EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "extract");
}

TEST_F(PrepareSummaryTest, ALongTranscriptIsAskedInPiecesThatFitTheSummariser) {
  const std::string command =
      script("n=$(wc -l < " + (folder_ / "runs") + "); cp " + (folder_ / "asked") + " " +
             (folder_ / "asked") + ".$n\n" + printed(good_summary()));
  must("session.open", R"({"key":"s","settings":{"summariser_window":4000,"summariser":)" +
                           json_string(command) + "}}");
  const Json reply = call_prepare("s", fmt::format(R"(,"window":{})", window_for(0.97)));
  EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "daemon");
  EXPECT_GT(runs(), 2u);
  std::string all;
  for (size_t n = 1; n <= runs(); ++n) {
    const std::string asked = read(fmt::format("asked.{}", n));
    EXPECT_LE(context::estimate_tokens(asked), 4'000u) << n;
    all += asked;
  }
  EXPECT_THAT(all, HasSubstr("question 1:"));
  EXPECT_THAT(all, HasSubstr("answer 15:"));
}

TEST_F(PrepareSummaryTest, APieceThatIsNotAnsweredWithASummaryLosesNothing) {
  const std::string command =
      script("if grep -q 'Part 2 of' " + (folder_ / "asked") +
             "; then echo I cannot do that; else " + printed(good_summary()) + "; fi");
  must("session.open", R"({"key":"s","settings":{"summariser_window":4000,"summariser":)" +
                           json_string(command) + "}}");
  const Json reply = call_prepare("s", fmt::format(R"(,"window":{})", window_for(0.97)));
  EXPECT_THAT(text_of(action_of(reply, "summary_failed"), "reason"),
              HasSubstr("required headings"));
  EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "extract");
  EXPECT_EQ(runs(), 3u) << "the second piece is asked once more, no piece behind it";
}

TEST_F(PrepareSummaryTest, ACommandIsForTheDaemonsOwnUser) {
  uid_ = 1001;
  const std::string command = script(printed(good_summary()));
  EXPECT_EQ(must_fail("session.open",
                      R"({"key":"x","settings":{"summariser":)" + json_string(command) + "}}")
                .code,
            Code::permission_denied);
  const Json reply = call_prepare("x", with(window_for(0.97), command));
  EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "extract");
  EXPECT_EQ(runs(), 0u);
}

// Whatever the transcript is, the summariser has room for it.
TEST_F(PrepareSummaryTest, AClientIsAskedWithWhatItsSummariserCanRead) {
  must("session.open",
       R"({"key":"s","settings":{"summariser_window":8000,"summariser":"client"}})");
  std::vector<std::string> list;
  for (int n = 0; n < 100; ++n) {
    list.push_back(user(fmt::format("question {}: {}", n, kit::prose(4'000))));
    list.push_back(assistant(fmt::format("answer {}: {}", n, kit::prose(4'000))));
  }
  list.push_back(user("now"));
  const Json reply = prepare(list, R"(,"window":100000)");
  const Json* request = reply.find("summary_request");
  ASSERT_NE(request, nullptr);
  const std::string prompt = text_of(*request, "prompt");
  EXPECT_LE(context::estimate_tokens(prompt), 8'000u);
  EXPECT_GT(context::estimate_tokens(prompt), 2'000u);
  EXPECT_THAT(prompt, HasSubstr("question 0:"));
  EXPECT_THAT(prompt, HasSubstr("entries are left out here"));
  EXPECT_LE(context::estimate_tokens(prompt) + number_of(*request, "max_tokens"), 8'000u);
  const std::string transcript = prompt.substr(prompt.find(context::texts::kSummaryTranscript));
  EXPECT_GT(context::estimate_tokens(transcript), 8'000u * 45 / 100);
}

TEST_F(PrepareSummaryTest, ASmallSummariserIsNotAskedInTinyPieces) {
  for (size_t n = 21; n <= 120; ++n) add_turn(n);
  const std::string command = script(printed(good_summary()));
  must("session.open", R"({"key":"s","settings":{"summariser_window":8000,"summariser":)" +
                           json_string(command) + "}}");
  const uint64_t window = window_for(0.97);
  const Json reply = call_prepare("s", fmt::format(R"(,"window":{})", window));
  EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "daemon");
  EXPECT_GT(runs(), 5u);
  EXPECT_LE(runs(), window / 4'000 + 1);
}

// Not even half of it would be transcript.
TEST_F(PrepareSummaryTest, AWindowTooSmallForASummariserGetsTheExtractAndItIsSaid) {
  const std::string command = script(printed(good_summary()));
  const std::vector<std::string> list = {user(kit::prose(1'500)), assistant(kit::prose(1'500)),
                                         user(kit::prose(1'500)), assistant(kit::prose(1'500)),
                                         user("now")};
  for (const std::string& summariser : {command, std::string("client")}) {
    const Json reply =
        must("prepare", fmt::format(R"({{"session":{},"format":"anthropic","reply":"messages",)"
                                    R"("messages":{},"window":1300,"summariser":{}}})",
                                    json_string("small " + summariser), list_of(list),
                                    json_string(summariser)));
    EXPECT_EQ(text_of(action_of(reply, "summary"), "reason"), "extract") << summariser;
    EXPECT_THAT(text_of(action_of(reply, "summary_failed"), "reason"),
                HasSubstr("window of 1,300 tokens has no room"));
    EXPECT_EQ(reply.find("summary_request"), nullptr);
  }
  EXPECT_EQ(runs(), 0u);
  EXPECT_EQ(number_of(*must("stats", "{}").find("summaries"), "failed"), 0u);
}

}  // namespace
}  // namespace ebla::daemon
