// Seeded random operations on two engines side by side, compared after each step. A failure prints
// its seed and the fewest operations that still show it.
//
// EBLA_RANDOM_OPERATIONS: how many in all (2,000); EBLA_RANDOM_SEED: the first seed (1).
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/kit/model_store.h"
#include "tests/schema/random_world.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

constexpr size_t kOperationsPerSeed = 200;  // fresh stores after so many: the tree stays small

uint64_t from_environment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

std::vector<Operation> operations(uint64_t seed, size_t count) {
  using Kind = Operation::Kind;
  std::mt19937_64 random(seed);
  std::discrete_distribution<int> kinds({12, 30, 8,  6,  8,  2,  14, 6,  6, 8,  2,  1, 16, 8, 4,
                                         8,  4,  30, 10, 30, 10, 10, 20, 8, 50, 12, 8, 8,  12});
  std::vector<Operation> out(count);
  for (Operation& op : out) {
    op.kind = static_cast<Kind>(kinds(random));
    for (uint32_t& number : op.random) number = static_cast<uint32_t>(random());
  }
  out.front().kind = Kind::open_session;
  return out;
}

struct Failure {
  size_t step = 0;
  std::string text;
};

// Fresh stores each time. Empty text: no difference.
Failure play(const Engine& left, const Engine& right, const std::vector<Operation>& ops) {
  const kit::TempDir left_folder("left");
  const kit::TempDir right_folder("right");
  RandomWorld world([&](const Clock& clock) { return left.open(left_folder.path(), clock); },
                    [&](const Clock& clock) { return right.open(right_folder.path(), clock); });
  for (size_t i = 0; i < ops.size(); ++i) {
    std::string difference = world.run(ops[i]);
    if (difference.empty()) difference = world.compare_all(i + 1 == ops.size());
    if (!difference.empty()) return {.step = i, .text = std::move(difference)};
  }
  return {};
}

// The shortest tail that fails, then without each operation that it does not need.
std::vector<Operation> shortest(const Engine& left, const Engine& right,
                                std::vector<Operation> ops) {
  for (size_t length = 1; length < ops.size(); length *= 2) {
    std::vector<Operation> tail(ops.end() - static_cast<ptrdiff_t>(length), ops.end());
    if (play(left, right, tail).text.empty()) continue;
    ops = std::move(tail);
    break;
  }
  for (size_t i = ops.size(); i-- > 0 && ops.size() > 1;) {
    std::vector<Operation> fewer = ops;
    fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
    if (!play(left, right, fewer).text.empty()) ops = std::move(fewer);
  }
  return ops;
}

class StoreRandom : public testing::TestWithParam<Engine> {};

TEST_P(StoreRandom, AgreesWithTheModel) {
  const Engine model = engines().front();
  const uint64_t count = from_environment("EBLA_RANDOM_OPERATIONS", 2000);
  uint64_t seed = from_environment("EBLA_RANDOM_SEED", 1);
  for (uint64_t done = 0; done < count; done += kOperationsPerSeed, ++seed) {
    auto ops = operations(seed, kOperationsPerSeed);
    const Failure failure = play(model, GetParam(), ops);
    if (failure.text.empty()) continue;
    ops.resize(failure.step + 1);
    std::string text;
    ops = shortest(model, GetParam(), std::move(ops));
    for (const Operation& op : ops) text += "  " + describe(op) + "\n";
    FAIL() << "seed " << seed << ", step " << failure.step << ": " << failure.text
           << "\nfewest operations:\n"
           << text << play(model, GetParam(), ops).text;
  }
}

// An engine that is no model. Without one there is nothing to compare.
std::vector<Engine> compared() {
  std::vector<Engine> out;
  for (Engine& engine : engines()) {
    if (engine.durable) out.push_back(std::move(engine));
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreRandom, testing::ValuesIn(compared()),
                         [](const auto& engine) { return engine.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreRandom);

}  // namespace
}  // namespace ebla
