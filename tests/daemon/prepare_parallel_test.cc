// Results of parallel calls that come one by one, some late or never, while the list is sent on
// between them: what goes out is valid, and the same whether the client keeps its own list or ours.
#include <gmock/gmock.h>

#include <array>
#include <iterator>
#include <numeric>
#include <random>

#include "tests/context/formats/histories.h"
#include "tests/context/formats/validator.h"
#include "tests/daemon/prepare_fixture.h"

namespace ebla::daemon {
namespace {

using context::test::below;
using context::test::chance;
using context::test::Dialect;
using context::test::Step;
using Messages = std::vector<std::string>;

Messages behind(const Messages& messages, size_t count) {
  return {messages.begin() + static_cast<std::ptrdiff_t>(count), messages.end()};
}

constexpr std::array kDialects = {Dialect::anthropic, Dialect::openai, Dialect::responses,
                                  Dialect::chain_plain, Dialect::chain_class};

class PrepareParallelTest : public PrepareFixture {
 protected:
  void begin(uint32_t seed, Dialect dialect) {
    random_.seed(seed);
    dialect_ = dialect;
    next_ = 0;
    to_come_.clear();
    store_ = kit::make_model_store(clock_, kUid, kUid);
    start();
    must("session.open", R"({"key":"s"})");
  }

  // One turn of the model as the pieces between which the list may be sent.
  std::vector<Messages> turn() {
    Step step;
    step.who = Step::Who::model;
    for (size_t calls = 1 + below(random_, 4); calls > 0; --calls) {
      const size_t bytes = chance(random_, 4) ? 9'000 : 40 + below(random_, 2'000);
      const std::string id = fmt::format("c{}", next_++);
      step.calls.push_back({id, "bash", "{}", id + " said " + kit::prose(bytes), false});
    }
    std::vector<Messages> pieces = {context::test::messages_of({step}, dialect_)};
    const size_t asked = pieces.front().size();
    std::vector<size_t> order(step.calls.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    if (chance(random_, 3)) order.pop_back();  // it never comes
    std::vector<Messages> late;
    for (const size_t each : order) {
      step.result_order = {each};
      Messages result = behind(context::test::messages_of({step}, dialect_), asked);
      if (belated_ > 0 && chance(random_, 4)) {
        to_come_.push_back({1 + below(random_, belated_), std::move(result)});
        continue;
      }
      (chance(random_, 5) ? late : pieces).push_back(std::move(result));
    }
    if (!late.empty()) pieces.push_back(words("hurry"));
    std::ranges::move(late, std::back_inserter(pieces));
    if (chance(random_, 2)) pieces.push_back(words(kit::prose(3'000)));
    return pieces;
  }

  // Results of earlier turns that come in front of this one.
  std::vector<Messages> belated() {
    std::vector<Messages> come;
    for (Belated& each : to_come_) {
      if (--each.turns == 0) come.push_back(std::move(each.result));
    }
    std::erase_if(to_come_, [](const Belated& each) { return each.turns == 0; });
    if (!come.empty()) come.push_back(words("at last"));
    return come;
  }

  // Both ways of keeping the list, each piece by piece.
  void talk(int turns) {
    Step task;
    task.text = "the task";
    Messages whole = context::test::messages_of({task}, dialect_);
    Messages kept = whole;
    for (int i = 0; i < turns; ++i) {
      std::vector<Messages> pieces = belated();
      std::ranges::move(turn(), std::back_inserter(pieces));
      for (const Messages& piece : pieces) {
        for (Messages* list : {&whole, &kept}) {
          list->insert(list->end(), piece.begin(), piece.end());
        }
        if (chance(random_, 4)) continue;
        const Messages out = ask(whole);
        ASSERT_THAT(context::test::refusals(list_of(out), dialect_), testing::IsEmpty());
        kept = ask(kept);
        ASSERT_EQ(kept, out);
        ASSERT_EQ(ask(whole), out);
      }
    }
  }

  Messages words(std::string_view text) {
    Step answer;
    answer.who = Step::Who::model;
    answer.text = fmt::format("answer {} {}", next_++, text);
    Step request;
    request.text = fmt::format("request {} {}", next_++, text);
    return context::test::messages_of({answer, request}, dialect_);
  }

  Messages ask(const Messages& list) {
    const auto format = context::format_name(context::test::format_id(dialect_));
    const Json reply = must("prepare", fmt::format(R"({{"session":"s","format":"{}","window":9000,)"
                                                   R"("reply":"messages","messages":{}}})",
                                                   format, list_of(list)));
    EXPECT_EQ(count_of(reply, "breach"), 0u) << to_json(*reply.find("actions"));
    closed_ += count_of(reply, "repair");
    passes_ += count_of(reply, "summary");
    return messages_of(reply);
  }

  struct Belated {
    size_t turns = 0;  // until it comes
    Messages result;
  };
  size_t belated_ = 0;  // results may come so many turns later
  std::vector<Belated> to_come_;
  std::mt19937 random_;
  Dialect dialect_ = Dialect::anthropic;
  size_t next_ = 0;
  size_t closed_ = 0;
  size_t passes_ = 0;
};

TEST_F(PrepareParallelTest, ResultsComeOneByOne) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    for (const Dialect dialect : kDialects) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << static_cast<int>(dialect));
      begin(seed, dialect);
      talk(10);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(closed_, 500u);
  EXPECT_GT(passes_, 30u);
}

// Some when a pass stands for their calls already.
TEST_F(PrepareParallelTest, ResultsComeManyTurnsLater) {
  belated_ = 12;
  for (uint32_t seed = 0; seed < 6; ++seed) {
    for (const Dialect dialect : kDialects) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << static_cast<int>(dialect));
      begin(seed, dialect);
      talk(16);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(passes_, 60u);
}

}  // namespace
}  // namespace ebla::daemon
