// How histories lie in the database: folding, damage, cost.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/history.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"

namespace ebla {
namespace {

using testing::IsEmpty;

class SqliteHistory : public testing::Test {
 protected:
  void SetUp() override {
    open();
    session_ = kit::make_session(*store_, "s-aaaaa");
  }

  void open() {
    sqlite::OpenOptions options;
    options.path = path_;
    options.clock = &clock_;
    auto opened = sqlite::open_store(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().text;
    store_ = std::move(*opened);
  }

  void append(size_t bytes) {
    const std::string text = kit::section_text(all_.size(), bytes);
    const auto ended =
        kit::append_history(*store_, kit::history_plan(*store_, session_, text, all_.size()),
                            {.durability = Durability::ordered});
    ASSERT_TRUE(ended.ok()) << ended.result.error().text;
    all_ += text;
  }

  sqlite::Database reader() {
    auto db = sqlite::Database::open(path_, sqlite::Database::Mode::read_only);
    EXPECT_TRUE(db.has_value());
    return std::move(*db);
  }

  int64_t count(const char* sql) { return reader().scalar(sql).value_or(-1); }

  // Folding is done when nothing else is to do.
  void wait_for_chunks(int64_t most) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (count("SELECT count(*) FROM chunks") > most) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << count("SELECT count(*) FROM chunks");
      std::this_thread::yield();
    }
  }

  SystemClock clock_;
  kit::TempDir folder_{"history"};
  std::string path_ = folder_ / "store";
  std::unique_ptr<Store> store_;
  Session session_;
  std::string all_;
};

TEST_F(SqliteHistory, ShortSectionsAreFoldedIntoWholeChunks) {
  for (int i = 0; i < 400; ++i) append(4'000);
  // 32 fit into a chunk; the last ones wait for more.
  wait_for_chunks(400 / 32 + 33);
  EXPECT_EQ(kit::read_file(*store_, session_.history), all_);
  EXPECT_EQ(kit::read_file(*store_, session_.history, 999), all_);
  EXPECT_EQ(store_->history_state(session_.serial)->sections, 400u);
  append(4'000);
  EXPECT_EQ(kit::read_file(*store_, session_.history), all_);
  store_.reset();
  EXPECT_THAT(kit::check_store(path_), IsEmpty());
  open();
  EXPECT_EQ(kit::read_file(*store_, session_.history), all_);
}

// Long ones and single ones stay what they are, and what is between them is folded.
TEST_F(SqliteHistory, FoldingGoesAroundLongSections) {
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 20; ++i) append(5'000);
    append(limits::kInlineContentBytes + 1'000);
    append(100'000);
    append(100'000);
    append(limits::kChunkBytes);
  }
  // A round: one of 20, 9 of the long one, two alone, one whole chunk.
  wait_for_chunks(4 * 13);
  EXPECT_EQ(kit::read_file(*store_, session_.history), all_);
  store_.reset();
  EXPECT_THAT(kit::check_store(path_), IsEmpty());
}

TEST_F(SqliteHistory, WhatAStopLeftUnfoldedIsFoldedWithWhatFollows) {
  for (int i = 0; i < 30; ++i) append(4'000);
  store_.reset();
  open();
  EXPECT_EQ(count("SELECT count(*) FROM chunks"), 30);
  for (int i = 0; i < 6; ++i) append(4'000);
  wait_for_chunks(36 - 32 + 1);
  EXPECT_EQ(kit::read_file(*store_, session_.history), all_);
}

TEST_F(SqliteHistory, ADamagedSectionIsNamedAndTheOthersAreReadable) {
  for (int i = 0; i < 3; ++i) append(5'000);
  store_.reset();
  {
    auto db = sqlite::Database::open(path_, sqlite::Database::Mode::read_write);
    ASSERT_TRUE(db.has_value());
    ASSERT_TRUE(
        db->exec("UPDATE chunks SET bytes = zeroblob(length(bytes)) WHERE key = "
                 "(SELECT content << 24 FROM sections WHERE sections = 2)"));
  }
  open();
  std::string part(5'000, '\0');
  EXPECT_EQ(store_->read(session_.history, 0, part).value(), 5'000u);
  EXPECT_EQ(part, all_.substr(0, 5'000));
  EXPECT_EQ(store_->read(session_.history, 5'000, part).error().code, Code::io_error);
  EXPECT_EQ(store_->read(session_.history, 10'000, part).value(), 5'000u);
  EXPECT_EQ(store_->health().last_damaged, "/conversation_history/s-aaaaa.md");
  EXPECT_THAT(kit::check_store(path_), testing::Not(IsEmpty()));
}

// A long section that was refused leaves nothing behind, neither now nor after a start.
TEST_F(SqliteHistory, WhatWasStagedForARefusedSectionIsFreed) {
  append(100);
  auto plan =
      kit::history_plan(*store_, session_, kit::section_text(1, 3 * limits::kStageSliceBytes), 1);
  plan.history_bytes = 99;
  EXPECT_EQ(kit::append_history(*store_, plan).code(), Code::conflict);
  ASSERT_TRUE(kit::sync(*store_).ok());  // the discarding came before
  EXPECT_EQ(count("SELECT count(*) FROM staged"), 0);
  wait_for_chunks(1);
  store_.reset();
  EXPECT_THAT(kit::check_store(path_), IsEmpty());
}

// The pages that an append writes do not grow with the history.
TEST_F(SqliteHistory, AnAppendWritesAsMuchAtTheEndAsAtTheStart) {
  const auto written = [&] {
    const uint64_t before = store_->usage().wal_bytes;
    for (int i = 0; i < 20; ++i) append(4'000);
    return store_->usage().wal_bytes - before;
  };
  const uint64_t first = written();
  for (int i = 0; i < 600; ++i) append(4'000);
  store_.reset();  // the log is emptied
  open();
  const uint64_t last = written();
  EXPECT_LE(last, first + first / 2) << first << " bytes of log for the first 20";
}

}  // namespace
}  // namespace ebla
