// A fault at any call to the disk, while a store is opened, used for all it can do, and closed: it
// opens again, is sound, holds everything that was acknowledged, and of the rest nothing in part.
//
// A part of all calls is tried; EBLA_FAULT_STEP=N tries every N-th of each kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>

#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/store_calls.h"
#include "tests/schema/sqlite/fault_script.h"
#include "tests/schema/sqlite/fault_vfs.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

namespace files = std::filesystem;
using Fault = FaultVfs::Fault;

constexpr uint64_t kPoints = 16;  // tried of each kind

enum class Way { use, reopen, create };

struct Case {
  const char* name;
  Way way;
  Fault fault;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class StoreFault : public testing::TestWithParam<Case> {
 protected:
  struct Run {
    uint64_t operations = 0;
    uint64_t reads = 0;
    bool fired = false;
    uint64_t acknowledgements = 0;
  };

  Result<std::unique_ptr<Store>> open(const std::string& path, FaultVfs* disk = nullptr) {
    OpenOptions options;
    options.path = path;
    options.clock = &clock_;
    options.reserve_bytes = 0;
    options.low_water_bytes = 0;
    options.high_water_bytes = 0;
    if (disk != nullptr) {
      options.sync = [disk, path](int) { return disk->sync_log(path + "-wal"); };
    }
    return open_store(options);
  }

  // What every fault must leave, whoever closed it or did not.
  void check(const std::string& folder, Ledger ledger, const std::string& what) {
    const std::string path = folder + "/store";
    auto store = open(path);
    ASSERT_TRUE(store.has_value()) << what << ": " << store.error().text;
    ledger.check(**store, what);
    EXPECT_TRUE(FaultScript(**store, ledger).go_on("after all")) << what;
    store->reset();
    EXPECT_THAT(kit::check_store(path), testing::IsEmpty()) << what;
  }

  static bool reads_fail(Fault fault) { return fault == Fault::read || fault == Fault::empty; }

  // The disk is well again, and so must be the store, with all that it ever took.
  void check_well(Store& store, Ledger& ledger, const std::string& what) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!kit::sync(store).ok())
      ASSERT_LT(std::chrono::steady_clock::now(), end) << what << ": never well again";
    ledger.acknowledged();
    ledger.check(store, what);
    // The fault may meet the first of these, never both.
    FaultScript script(store, ledger);
    EXPECT_TRUE(script.go_on("once") || script.go_on("twice")) << what;
  }

  // The script with the fault at the n-th call.
  Run use(Fault fault, uint64_t nth, const std::string& what) {
    begin_live(empty_);
    Run out;
    Ledger ledger;
    {
      FaultVfs disk(live_);
      auto store = open(live_ + "/store", &disk);
      if (!store) {
        ADD_FAILURE() << store.error().text;
        return out;
      }
      disk.arm(fault, nth);
      FaultScript(**store, ledger).run();
      out = {disk.operations(), disk.reads(), disk.fired(), ledger.acknowledgements()};
      if (reads_fail(fault) || fault == Fault::read_only) disk.arm(Fault::none, 0);
      // What SQLite has in its cache of a page that was empty stays there until it is closed.
      if (fault != Fault::crash && fault != Fault::empty) check_well(**store, ledger, what);
      if (!reads_fail(fault)) disk.power_cut(cut_, static_cast<uint32_t>(nth % 4));
      store->reset();
    }
    if (!reads_fail(fault)) check(cut_, ledger, what + ", cut");
    // Closed without a fault, it has what it ever took.
    if (fault != Fault::crash) ledger.acknowledged();
    if (fault != Fault::crash) check(live_, ledger, what + ", closed");
    return out;
  }

  // Opening a store with a long log, one change, and closing it.
  Run reopen(Fault fault, uint64_t nth, const std::string& what) {
    begin_live(killed_);
    Run out;
    Ledger ledger = killed_ledger_;
    {
      FaultVfs disk(live_);
      disk.arm(fault, nth);
      auto store = open(live_ + "/store", &disk);
      if (store) {
        FaultScript(**store, ledger).go_on("open");
        store->reset();
      } else {
        EXPECT_FALSE(store.error().text.empty()) << what;
        EXPECT_NE(store.error().code, Code::internal_error) << what << store.error().text;
      }
      out = {disk.operations(), disk.reads(), disk.fired(), ledger.acknowledgements()};
      if (fault == Fault::crash) disk.power_cut(cut_, static_cast<uint32_t>(nth % 4));
    }
    check(fault == Fault::crash ? cut_ : live_, ledger, what);
    return out;
  }

  // Making a new one. What a power cut leaves of a file under a new name is not known here.
  Run create(Fault fault, uint64_t nth, const std::string& what) {
    begin_live("");
    Run out;
    Ledger ledger;
    {
      FaultVfs disk(live_);
      disk.arm(fault, nth);
      auto store = open(live_ + "/store", &disk);
      if (store) FaultScript(**store, ledger).go_on("new");
      if (store) store->reset();
      out = {disk.operations(), disk.reads(), disk.fired(), ledger.acknowledgements()};
    }
    check(live_, ledger, what);
    return out;
  }

  static uint64_t step_for(uint64_t calls) {
    const char* wanted = std::getenv("EBLA_FAULT_STEP");
    if (wanted == nullptr) return calls / kPoints + 1;
    return static_cast<uint64_t>(std::max(1, std::atoi(wanted)));
  }

  void begin_live(const std::string& from) {
    files::remove_all(live_);
    files::remove_all(cut_);
    files::create_directories(live_);
    if (!from.empty()) files::copy(from, live_);
  }

  // An empty store, and one that was left with all its changes in the log.
  void SetUp() override {
    files::create_directories(empty_);
    ASSERT_TRUE(open(empty_ + "/store").has_value());
    if (GetParam().way != Way::reopen) return;
    begin_live(empty_);
    FaultVfs disk(live_);
    auto store = open(live_ + "/store", &disk);
    ASSERT_TRUE(store.has_value()) << store.error().text;
    disk.arm(Fault::none, 0);
    FaultScript(**store, killed_ledger_).run();
    ASSERT_TRUE(kit::sync(**store).ok());
    killed_ledger_.acknowledged();
    disk.power_cut(killed_, 0);
    ASSERT_GT(files::file_size(killed_ + "/store-wal"), 1u << 20);
  }

  SystemClock clock_;
  StoreFolder folder_{/*in_memory=*/true};
  const std::string live_ = folder_.path() + "/live";
  const std::string cut_ = folder_.path() + "/cut";
  const std::string empty_ = folder_.path() + "/empty";
  const std::string killed_ = folder_.path() + "/killed";
  Ledger killed_ledger_;
};

TEST_P(StoreFault, LeavesASoundStore) {
  const auto call = [this](Fault fault, uint64_t nth, const std::string& what) {
    switch (GetParam().way) {
      case Way::use:
        return use(fault, nth, what);
      case Way::reopen:
        return reopen(fault, nth, what);
      case Way::create:
        break;
    }
    return create(fault, nth, what);
  };
  const Fault fault = GetParam().fault;
  const Run whole = call(Fault::none, 0, "no fault");
  const uint64_t last = reads_fail(fault) ? whole.reads : whole.operations;
  ASSERT_GT(last, 5u);
  ASSERT_GT(whole.acknowledgements, 0u);
  const uint64_t step = step_for(last);
  uint64_t fired = 0;
  uint64_t tried = 0;
  for (uint64_t nth = 1; nth <= last; nth += step, ++tried) {
    if (call(fault, nth, "call " + std::to_string(nth)).fired) ++fired;
    if (HasFailure()) return;
  }
  // Threads beside the script make the count differ a little from run to run.
  EXPECT_GT(fired, tried / 2);
}

INSTANTIATE_TEST_SUITE_P(, StoreFault,
                         testing::Values(Case{"PowerCutInUse", Way::use, Fault::crash},
                                         Case{"ErrorInUse", Way::use, Fault::error},
                                         Case{"TornWriteInUse", Way::use, Fault::torn},
                                         Case{"FullDiskInUse", Way::use, Fault::full},
                                         Case{"ReadOnlyInUse", Way::use, Fault::read_only},
                                         Case{"FailingReadInUse", Way::use, Fault::read},
                                         Case{"EmptyReadInUse", Way::use, Fault::empty},
                                         Case{"PowerCutWhileOpening", Way::reopen, Fault::crash},
                                         Case{"ErrorWhileOpening", Way::reopen, Fault::error},
                                         Case{"TornWriteWhileOpening", Way::reopen, Fault::torn},
                                         Case{"FullDiskWhileOpening", Way::reopen, Fault::full},
                                         Case{"FailingReadWhileOpening", Way::reopen, Fault::read},
                                         Case{"ErrorWhileCreating", Way::create, Fault::error},
                                         Case{"TornWriteWhileCreating", Way::create, Fault::torn},
                                         Case{"FullDiskWhileCreating", Way::create, Fault::full},
                                         Case{"FailingReadWhileCreating", Way::create,
                                              Fault::read}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace ebla::sqlite::test
