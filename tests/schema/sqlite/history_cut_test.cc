// The machine stops, or the disk fails, at any operation of a script of appends and passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "schema/base/limits.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/store_calls.h"
#include "tests/schema/sqlite/fault_vfs.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

using Fault = FaultVfs::Fault;

constexpr uint64_t kPoints = 60;  // operations tried, spread over all

struct Step {
  size_t bytes = 0;
  bool pass = false;
  Durability durability = Durability::durable;
};

// Enough short ones for a folding or two, one that is staged.
const std::vector<Step>& script() {
  static const std::vector<Step> steps = {
      {.bytes = 3'000},
      {.bytes = 60'000, .pass = true},
      {.bytes = 50'000},
      {.bytes = 40'000, .pass = false, .durability = Durability::ordered},
      {.bytes = limits::kInlineContentBytes + 5'000, .pass = true},
      {.bytes = 20'000},
      {.bytes = 200'000, .pass = true, .durability = Durability::ordered},
      {.bytes = 100, .pass = true},
  };
  return steps;
}

std::string text_of(size_t step) {
  return kit::section_text(step, script()[step].bytes);
}

class HistoryCut : public testing::Test {
 protected:
  struct Run {
    size_t acknowledged = 0;  // all steps before this one are on disk
    size_t begun = 0;         // and none from this one on can be
    uint64_t operations = 0;
  };

  std::unique_ptr<Store> open(const std::string& path, std::function<int(int)> sync = {}) {
    OpenOptions options;
    options.path = path;
    options.clock = &clock_;
    options.reserve_bytes = 0;
    options.low_water_bytes = 0;
    options.high_water_bytes = 0;
    options.sync = std::move(sync);
    auto opened = open_store(options);
    if (!opened) ADD_FAILURE() << opened.error().text;
    return opened ? std::move(*opened) : nullptr;
  }

  // Runs the script up to the fault, and keeps what a power cut then would leave in cut/SEED.
  Run run(Fault fault, uint64_t nth, const std::vector<uint32_t>& seeds) {
    const std::string live = folder_.path() + "/live";
    std::filesystem::remove_all(live);
    std::filesystem::create_directories(live);
    Run out;
    FaultVfs disk(live);
    auto store = open(live + "/store", [&](int) { return disk.sync_log(live + "/store-wal"); });
    if (store == nullptr) return out;
    const Session session = kit::make_session(*store, "s-aaaaa");
    disk.arm(fault, nth);
    for (size_t step = 0; step < script().size(); ++step) {
      out.begun = step + 1;
      const ChangeOptions options{.durability = script()[step].durability};
      const bool good =
          script()[step].pass
              ? kit::commit_pass(*store, kit::pass_plan(*store, session, text_of(step), step),
                                 options)
                    .ok()
              : kit::append_history(*store, kit::history_plan(*store, session, text_of(step), step),
                                    options)
                    .ok();
      if (!good) break;
      if (script()[step].durability == Durability::durable) out.acknowledged = step + 1;
    }
    for (const uint32_t seed : seeds) disk.power_cut(cut(seed), seed);
    out.operations = disk.operations();
    return out;
  }

  std::string cut(uint32_t seed) const { return folder_.path() + "/cut-" + std::to_string(seed); }

  void check(const Run& run, uint32_t seed) {
    const std::string path = cut(seed) + "/store";
    auto store = open(path);
    ASSERT_NE(store, nullptr);
    const auto session = store->find_session(0, "s-aaaaa");
    ASSERT_TRUE(session.has_value()) << session.error().text;
    const auto state = store->history_state(session->serial);
    ASSERT_TRUE(state.has_value());
    ASSERT_GE(state->sections, run.acknowledged);
    ASSERT_LE(state->sections, run.begun);
    std::string all;
    size_t passes = 0;
    for (size_t step = 0; step < state->sections; ++step) {
      all += text_of(step);
      if (script()[step].pass) ++passes;
    }
    EXPECT_EQ(kit::read_file(*store, session->history), all);
    EXPECT_EQ(store->passes(session->tree, 0)->size(), passes);
    // And it goes on.
    EXPECT_TRUE(
        kit::append_history(*store, kit::history_plan(*store, *session, "goes on\n", 999)).ok());
    store.reset();
    const auto breaches = kit::check_store(path);
    EXPECT_TRUE(breaches.empty()) << breaches.front();
    std::filesystem::remove_all(cut(seed));
  }

  void many_points(Fault fault) {
    const std::vector<uint32_t> seeds{0, 1};
    const uint64_t last = run(Fault::none, 0, {}).operations;
    ASSERT_GT(last, 200u);
    uint64_t unfinished = 0;
    for (uint64_t point = 1; point <= kPoints; ++point) {
      const uint64_t nth = point * last / kPoints;
      const Run result = run(fault, nth, seeds);
      if (result.acknowledged < script().size()) ++unfinished;
      for (const uint32_t seed : seeds) {
        check(result, seed);
        if (HasFailure()) {
          FAIL() << "operation " << nth << " of " << last << ", seed " << seed;
        }
      }
    }
    EXPECT_GT(unfinished, kPoints / 2);
  }

  SystemClock clock_;
  StoreFolder folder_{/*in_memory=*/true};
};

TEST_F(HistoryCut, PowerCut) {
  many_points(Fault::crash);
}

}  // namespace
}  // namespace ebla::sqlite::test
