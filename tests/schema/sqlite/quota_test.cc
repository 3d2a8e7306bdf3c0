// Limits of a store, of one file and of one session tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "schema/base/limits.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/file_calls.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

using limits::kMiB;

class QuotaTest : public testing::Test {
 protected:
  void open(Quotas quotas) {
    store_.reset();
    OpenOptions options;
    options.path = folder_.store();
    options.clock = &clock_;
    options.reserve_bytes = options.low_water_bytes = options.high_water_bytes = 0;
    options.quotas = quotas;
    auto opened = open_store(options);
    ASSERT_TRUE(opened) << opened.error().text;
    store_ = std::move(*opened);
  }
  void TearDown() override {
    store_.reset();
    EXPECT_THAT(kit::check_store(folder_.store()), testing::IsEmpty());
  }

  Ino file(Ino parent, const std::string& name) { return kit::make_file(*store_, parent, name); }
  Code write(Ino ino, uint64_t offset, size_t size) {
    return kit::write(*store_, {.ino = ino, .offset = offset}, sample_bytes(size, 1)).code();
  }
  Code cut(Ino ino, uint64_t size) {
    return kit::setattr(*store_, {.ino = ino, .size = size}).code();
  }
  Code remove(Ino parent, const std::string& name) {
    const auto removed = kit::remove(*store_, {.parent = parent, .name = name});
    if (!removed.ok()) return removed.code();
    return kit::reap(*store_, removed.changes.orphaned).code();
  }
  uint64_t size_of(Ino ino) { return store_->getattr(ino)->size; }

  static constexpr Code kDone = Code::internal_error;  // what Ended::code() says of success
  StoreFolder folder_{/*in_memory=*/true};
  SystemClock clock_;
  std::unique_ptr<Store> store_;
};

TEST_F(QuotaTest, AFileGrowsToItsLimit) {
  open({.file_bytes = 1000});
  const Ino ino = file(store_->root(), "f");
  EXPECT_EQ(write(ino, 0, 1000), kDone);
  EXPECT_EQ(write(ino, 1, 1000), Code::too_large);
  EXPECT_EQ(write(ino, 0, 1000), kDone);
  EXPECT_EQ(cut(ino, 1001), Code::too_large);
  EXPECT_EQ(kit::allocate(*store_, {.ino = ino, .offset = 0, .length = 2000}).code(),
            Code::too_large);
  EXPECT_EQ(size_of(ino), 1000u);
  const Ino other = file(store_->root(), "other");
  EXPECT_EQ(
      kit::copy_range(*store_, {.from = ino, .to = other, .to_offset = 1, .length = 1000}).code(),
      Code::too_large);
  ReplacePlan plan{.parent = store_->root(), .name = "whole"};
  plan.content.bytes = sample_bytes(1001, 1);
  EXPECT_EQ(kit::replace(*store_, plan).code(), Code::too_large);
  plan.content.bytes.pop_back();
  EXPECT_EQ(kit::replace(*store_, plan).code(), kDone);
  EXPECT_EQ(code_info(Code::too_large).errno_value, EFBIG);
  // What is longer, from before, stays and may shrink.
  open({.file_bytes = 500});
  EXPECT_EQ(write(ino, 900, 100), kDone);
  EXPECT_EQ(write(ino, 900, 101), Code::too_large);
  EXPECT_EQ(cut(ino, 700), kDone);
  EXPECT_EQ(cut(ino, 701), Code::too_large);
}

TEST_F(QuotaTest, ASessionTreeGrowsToItsLimit) {
  open({.session_bytes = 100'000});
  const Session session = kit::make_session(*store_, "s-aaaaa");
  const Session child = kit::make_session(*store_, "c-aaaaa", "", session.serial);
  const Session other = kit::make_session(*store_, "o-aaaaa");
  EXPECT_TRUE(
      kit::commit_eviction(*store_, kit::eviction_plan(session, "a", sample_bytes(60'000, 1)))
          .ok());
  const Ino ino = file(child.folder, "f");
  // Bytes that are not committed yet count.
  EXPECT_EQ(write(ino, 0, 40'000), kDone);
  EXPECT_EQ(write(ino, 40'000, 1), Code::quota_exceeded);
  EXPECT_EQ(write(ino, 10'000, 30'000), kDone);
  EXPECT_EQ(kit::flush(*store_, ino).code(), kDone);
  EXPECT_EQ(write(ino, 40'000, 1), Code::quota_exceeded);
  EXPECT_EQ(cut(ino, 40'001), Code::quota_exceeded);
  const auto refused =
      kit::commit_eviction(*store_, kit::eviction_plan(session, "b", sample_bytes(5'000, 2)));
  EXPECT_EQ(refused.code(), Code::quota_exceeded);
  EXPECT_NE(refused.result.error().text.find("--session-limit"), std::string::npos);
  EXPECT_EQ(code_info(Code::quota_exceeded).errno_value, EDQUOT);
  // The decision that stands is answered, and others have their own room.
  EXPECT_TRUE(
      kit::commit_eviction(*store_, kit::eviction_plan(session, "a", sample_bytes(60'000, 1)))
          ->known);
  EXPECT_TRUE(
      kit::commit_eviction(*store_, kit::eviction_plan(other, "b", sample_bytes(5'000, 2))).ok());
  EXPECT_EQ(write(file(store_->root(), "f"), 0, 200'000), kDone);
  // What is removed makes room.
  EXPECT_EQ(remove(session.folder, "a"), kDone);
  EXPECT_EQ(write(ino, 40'000, 60'000), kDone);
  EXPECT_EQ(write(ino, 100'000, 1), Code::quota_exceeded);
}

TEST_F(QuotaTest, ASessionTreeHasSoManyFiles) {
  // Folder and history of the session count.
  open({.session_files = 5});
  const Session session = kit::make_session(*store_, "s-aaaaa");
  file(session.folder, "1");
  const Ino folder = kit::make_folder(*store_, session.folder, "2");
  file(folder, "3");
  CreatePlan plan;
  plan.parent = folder;
  plan.name = "4";
  EXPECT_EQ(kit::create(*store_, plan).code(), Code::quota_exceeded);
  EXPECT_EQ(kit::commit_eviction(*store_, kit::eviction_plan(session, "a", "bytes")).code(),
            Code::quota_exceeded);
  EXPECT_EQ(kit::names(*store_, folder), std::vector<std::string>{"3"});
  EXPECT_EQ(remove(folder, "3"), kDone);
  EXPECT_EQ(kit::create(*store_, plan).code(), kDone);
  // A limit that is lowered stops growth and nothing else.
  open({.session_files = 2});
  EXPECT_EQ(kit::close_session(*store_, session.serial).code(), kDone);
  EXPECT_EQ(write(store_->lookup(folder, "4")->ino, 0, 1000), kDone);
  plan.name = "5";
  EXPECT_EQ(kit::create(*store_, plan).code(), Code::quota_exceeded);
}

TEST_F(QuotaTest, AStoreGrowsToItsLimit) {
  open({.store_bytes = 8 * kMiB});
  const Ino ino = file(store_->root(), "f");
  Code code = kDone;
  uint64_t size = 0;
  for (; code == kDone && size < 20 * kMiB; size += kMiB) {
    code = write(ino, size, kMiB);
    if (code == kDone) code = kit::flush(*store_, ino).code();
  }
  EXPECT_EQ(code, Code::no_space);
  EXPECT_GT(size, 6 * kMiB);
  EXPECT_LT(size, 10 * kMiB);
  // Until a unit is refused, writes are: whoever asks for little is let in up to the limit.
  CreatePlan plan;
  plan.parent = store_->root();
  kit::Ended<Attr> made;
  for (int i = 0; i < 10'000; ++i) {
    plan.name = "n" + std::to_string(i);
    plan.kind = NodeKind::symlink;
    plan.target = std::string(4000, 't');
    made = kit::create(*store_, plan);
    if (!made.ok()) break;
  }
  ASSERT_EQ(made.code(), Code::no_space);
  EXPECT_NE(made.result.error().text.find("--store-limit"), std::string::npos)
      << made.result.error().text;
  EXPECT_FALSE(store_->health().writable);
  EXPECT_EQ(store_->health().name, "no_space");
  const Usage usage = store_->usage();
  EXPECT_EQ(usage.host_free_bytes, 0u);
  EXPECT_LE(usage.database_bytes, 9 * kMiB);
  // Removals go on and make room, in pages that the database keeps.
  EXPECT_EQ(remove(store_->root(), "f"), kDone);
  // They come back step by step.
  while (!store_->health().writable) kit::sync(*store_);
  const Ino next = file(store_->root(), "g");
  while (write(next, 0, kMiB) != kDone) kit::sync(*store_);
  EXPECT_TRUE(kit::flush(*store_, next).ok());
}

}  // namespace
}  // namespace ebla::sqlite::test
