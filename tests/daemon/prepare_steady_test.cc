// The same list again, and the list that came back: nothing new is decided and every byte is the
// same, whatever the history, the window, the settings and the format.
#include <cstdlib>
#include <numeric>
#include <random>

#include "tests/context/formats/histories.h"
#include "tests/daemon/prepare_fixture.h"

namespace ebla::daemon {
namespace {

using context::test::below;
using context::test::chance;
using context::test::Dialect;
using context::test::Step;

// Seeds of one run; EBLA_SEEDS asks for more.
size_t seeds() {
  constexpr size_t kSeeds = 28;
  const char* told = std::getenv("EBLA_SEEDS");
  return told == nullptr ? kSeeds : static_cast<size_t>(std::atol(told));
}

// One agent's work, drawn from a seed: many steps of all sizes up to what its window holds.
class Agent {
 public:
  explicit Agent(uint32_t seed) : random_(seed), dialect_(context::test::kDialects[seed % 7]) {
    window_ = 4'000 + below(random_, 30'000);
    const size_t steps = 12 + below(random_, 16);
    for (size_t i = 0; i < steps; ++i) {
      const bool asks = i == 0 || (steps_[i - 1].calls.empty() && !is_user(steps_[i - 1]));
      steps_.push_back(asks ? request() : answer());
    }
  }

  // The list as it stands before each call of the model, from the first one on.
  std::vector<std::string> list(size_t steps) const {
    const context::test::History begin(steps_.data(), steps_.data() + steps);
    return context::test::messages_of(begin, dialect_);
  }
  size_t steps() const { return steps_.size(); }
  bool called_behind(size_t steps) const {
    return is_user(steps_[steps - 1]) || !steps_[steps - 1].calls.empty();
  }
  std::string_view format() const {
    return context::format_name(context::test::format_id(dialect_));
  }
  uint64_t window() const { return window_; }
  std::mt19937& random() { return random_; }

 private:
  static bool is_user(const Step& step) { return step.who == Step::Who::user; }

  // Up to a fifth of the window, mostly less; now and then far over its limit.
  std::string text() {
    const size_t shape = below(random_, 10);
    size_t tokens = 1 + below(random_, shape < 5 ? 300 : window_ / 5);
    if (shape == 9 && chance(random_, 3)) tokens = window_;
    std::string text = fmt::format("text {}\n", next_++);
    if (chance(random_, 12)) return text + kit::chinese(tokens);
    if (chance(random_, 12)) return text + kit::minified_json(tokens * 4 + 2);
    if (chance(random_, 8)) return text + kit::numbered_rows(tokens * 4);
    return text + kit::prose(tokens * 4);
  }
  Step request() {
    Step step;
    step.text = chance(random_, 6) ? text() : fmt::format("request {}", next_++);
    return step;
  }
  Step answer() {
    constexpr std::string_view kTools[] = {"read_file", "bash", "write_file", "todo"};
    Step step;
    step.who = Step::Who::model;
    for (size_t calls = chance(random_, 5) ? 0 : 1 + below(random_, 4); calls > 0; --calls) {
      auto& call = step.calls.emplace_back();
      call.id = fmt::format("call_{}", next_++);
      call.name = kTools[below(random_, std::size(kTools))];
      call.arguments =
          fmt::format(R"({{"path":"/a/{}","content":{}}})", next_,
                      json_string(call.name == "write_file" ? text() : std::string("x")));
      call.result = text();
      call.image = chance(random_, 6);
    }
    step.result_order.resize(step.calls.size());
    std::iota(step.result_order.begin(), step.result_order.end(), size_t{0});
    std::shuffle(step.result_order.begin(), step.result_order.end(), random_);
    if (step.calls.size() > 1 && chance(random_, 8)) step.result_order.pop_back();
    if (step.calls.empty() || chance(random_, 2)) step.text = fmt::format("answer {}", next_++);
    if (chance(random_, 4)) step.thinking = fmt::format("thinking {}", next_++);
    return step;
  }

  std::mt19937 random_;
  Dialect dialect_;
  uint64_t window_ = 0;
  context::test::History steps_;
  size_t next_ = 0;
};

class PrepareSteadyTest : public PrepareFixture {
 protected:
  Json ask(const Agent& agent, const std::vector<std::string>& list, std::string_view more) {
    Json reply = must("prepare", fmt::format(R"({{"session":"s","format":"{}","window":{},)"
                                             R"("reply":"messages","messages":{}{}}})",
                                             agent.format(), agent.window(), list_of(list), more));
    EXPECT_EQ(count_of(reply, "breach"), 0u) << to_json(*reply.find("actions"));
    return reply;
  }
  // Says where they differ, and no more of it.
  static void expect_equal(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      const auto differs =
          static_cast<size_t>(std::ranges::mismatch(a[i], b[i]).in1 - a[i].begin());
      const size_t from = differs - std::min<size_t>(differs, 60);
      ASSERT_TRUE(a[i] == b[i]) << "message " << i << "\n"
                                << a[i].substr(from, 160) << "\n"
                                << b[i].substr(from, 160);
    }
  }
  // Nothing new, but what is told each time; the same bytes.
  void expect_settled(const Agent& agent, const std::vector<std::string>& list,
                      std::string_view more, const Json& first) {
    const Json again = ask(agent, list, more);
    for (const Json& action : again.find("actions")->items) {
      const std::string what = text_of(action, "what");
      EXPECT_TRUE(what == "repair" || what == "usage_ignored") << to_json(*again.find("actions"));
    }
    expect_equal(messages_of(again), messages_of(first));
    EXPECT_EQ(tokens_of(again, "after"), tokens_of(first, "after"))
        << to_json(*first.find("actions"));
  }
  void open(Agent& agent) {
    store_ = kit::make_model_store(clock_, kUid, kUid);
    start();
    std::string settings = R"("image_bytes":100000)";
    if (chance(agent.random(), 4)) settings += R"(,"never":["todo"])";
    if (chance(agent.random(), 4)) settings += R"(,"old_results":false)";
    if (chance(agent.random(), 4)) settings += R"(,"always":["todo"])";
    must("session.open", R"({"key":"s","settings":{)" + settings + "}}");
  }
  // What a provider reports for the reply that the client sent on; now and then none.
  static std::string usage(Agent& agent, const Json& reply) {
    if (chance(agent.random(), 3)) return "";
    const double counted = static_cast<double>(tokens_of(reply, "after"));
    const double share = 0.8 + 0.1 * static_cast<double>(below(agent.random(), 6));
    return fmt::format(R"(,"usage":{{"revision":"{}","input":{}}})", text_of(reply, "revision"),
                       static_cast<uint64_t>(counted * share) + 1);
  }
  size_t decided_ = 0;
};

TEST_F(PrepareSteadyTest, TheSameListAgainChangesNothing) {
  for (uint32_t seed = 0; seed < seeds(); ++seed) {
    SCOPED_TRACE(seed);
    Agent agent(seed);
    open(agent);
    const bool small = agent.list(1).front().size() < agent.window() / 2;
    const std::string pins = small && chance(agent.random(), 4) ? R"(,"pinned":[0])" : "";
    const bool reports = chance(agent.random(), 2);
    std::string more = pins;
    for (size_t steps = 1; steps <= agent.steps(); ++steps) {
      if (!agent.called_behind(steps)) continue;
      SCOPED_TRACE(steps);
      const auto list = agent.list(steps);
      const Json reply = ask(agent, list, more);
      decided_ += reply.find("actions")->items.size();
      {
        SCOPED_TRACE("the list as the client keeps it");
        expect_settled(agent, list, more, reply);
      }
      {
        SCOPED_TRACE("the list that came back");
        expect_settled(agent, messages_of(reply), more, reply);
      }
      if (HasFailure()) return;  // one seed says enough
      more = reports ? pins + usage(agent, reply) : pins;
    }
  }
  EXPECT_GT(decided_, seeds() * 5);
}

}  // namespace
}  // namespace ebla::daemon
