// What only this engine can show: damage on disk, memory, space that comes back, work that is idle.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"

namespace ebla {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class SqliteStoreTest : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    sqlite::OpenOptions options;
    options.path = path_;
    options.clock = &clock_;
    auto opened = sqlite::open_store(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().text;
    store_ = std::move(*opened);
  }
  void close() { store_.reset(); }
  Store& store() { return *store_; }

  EvictionOutcome put(const Session& session, std::string_view id, const std::string& text) {
    auto plan = kit::eviction_plan(session, id, text);
    if (text.size() > limits::kInlineContentBytes) {
      plan.content = kit::stage_all(store(), text);
    }
    auto ended = kit::commit_eviction(store(), plan);
    EXPECT_TRUE(ended.ok()) << (ended.ok() ? "" : ended.result.error().text);
    return ended.ok() ? *ended : EvictionOutcome{};
  }

  // Changes one byte of the database file, the one at `within` of the only place that has `text`.
  void flip_byte(std::string_view text, size_t within) {
    std::ifstream in(path_, std::ios::binary);
    const std::string file((std::istreambuf_iterator<char>(in)), {});
    const size_t at = file.find(text);
    ASSERT_NE(at, std::string::npos);
    ASSERT_EQ(file.find(text, at + 1), std::string::npos);
    const auto fd = open_file(path_, O_WRONLY);
    ASSERT_TRUE(fd.has_value());
    const char flipped = static_cast<char>(file[at + within] ^ 0x40);
    ASSERT_TRUE(pwrite_full(fd->get(), {&flipped, 1}, at + within).has_value());
  }

  SystemClock clock_;
  kit::TempDir folder_{"sqlite-store"};
  std::string path_ = folder_ / "store";
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteStoreTest, ADamagedChunkIsAnErrorOfThatFileAlone) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const std::string text = kit::random_bytes(400'000, 1);
  const auto damaged = put(session, "damaged", text);
  const auto whole = put(session, "whole", kit::random_bytes(400'000, 2));
  close();
  flip_byte(std::string_view(text).substr(200'000, 64), 10);
  open();

  std::string buffer(limits::kChunkBytes, '\0');
  EXPECT_TRUE(store().read(damaged.ino, 0, buffer).has_value()) << "the first chunk is whole";
  for (int i = 0; i < 2; ++i) {
    const auto read = store().read(damaged.ino, limits::kChunkBytes, buffer);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, Code::io_error);
    EXPECT_THAT(read.error().text, HasSubstr(damaged.path));
  }
  const Health health = store().health();
  EXPECT_EQ(health.damaged_files, 1u);
  EXPECT_EQ(health.last_damaged, damaged.path);
  EXPECT_TRUE(health.writable);
  EXPECT_EQ(kit::read_file(store(), whole.ino, limits::kChunkBytes), kit::random_bytes(400'000, 2));
  const auto other = put(session, "other", kit::ansi_log(3'000));
  EXPECT_EQ(kit::read_file(store(), other.ino), kit::ansi_log(3'000));

  // The same bytes again: they do not equal the damaged ones any more, so they are kept anew.
  const auto again = put(session, "again", text);
  EXPECT_EQ(again.same_as, "");
  EXPECT_EQ(kit::read_file(store(), again.ino, limits::kChunkBytes), text);
}

// Its content is still that of another file, but nobody can compare it any more.
TEST_F(SqliteStoreTest, ARemovedFileIsFilledAgainThoughItsOldBytesAreDamaged) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  for (const size_t size : {size_t{300'000}, size_t{3'000'000}}) {
    const std::string text = kit::random_bytes(size, 5);
    const std::string id = "call" + std::to_string(size);
    const auto first = put(session, id, text);
    EXPECT_NE(put(session, id + "also", text).same_as, "");
    const RemovePlan removal{.parent = session.folder, .name = id, .uid = 0, .reason = "rm"};
    ASSERT_TRUE(kit::remove(store(), removal).ok());
    close();
    {
      auto db = sqlite::Database::open(path_, sqlite::Database::Mode::read_write);
      ASSERT_TRUE(db.has_value());
      ASSERT_TRUE(
          db->exec("UPDATE chunks SET bytes = zeroblob(length(bytes)) "
                   "WHERE key & 0xffffff = 1"));
    }
    open();
    const auto again = put(session, id, text);
    EXPECT_TRUE(again.known);
    EXPECT_EQ(again.path, first.path);
    EXPECT_EQ(again.replacement, first.replacement);
    EXPECT_EQ(kit::read_file(store(), again.ino, limits::kChunkBytes), text);
  }
}

TEST_F(SqliteStoreTest, AMissingChunkIsAnErrorOfThatFileAlone) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const auto file = put(session, "cut", kit::random_bytes(300'000, 3));
  close();
  {
    auto db = sqlite::Database::open(path_, sqlite::Database::Mode::read_write);
    ASSERT_TRUE(db.has_value());
    ASSERT_TRUE(db->exec("DELETE FROM chunks WHERE key & 0xffffff = 1").has_value());
  }
  open();
  std::string buffer(300'000, '\0');
  const auto read = store().read(file.ino, 0, buffer);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::io_error);
  EXPECT_EQ(store().health().last_damaged, file.path);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kShadowMemory = true;
#else
constexpr bool kShadowMemory = false;
#endif

// Anonymous memory of this process in bytes.
uint64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  }
  return 0;
}

TEST_F(SqliteStoreTest, AHundredMegabytesPassThroughBoundedMemory) {
  constexpr size_t kSlices = 100;
  const Session session = kit::make_session(store(), "s-aaaaa");
  const uint64_t before = anonymous_bytes();
  ContentRef content;
  Hasher128 hasher;
  uint64_t most = 0;
  for (size_t i = 0; i < kSlices; ++i) {
    std::string slice = kit::random_bytes(limits::kStageSliceBytes, i);
    hasher.update(slice);
    const auto staged = kit::stage(store(), content.staged, content.size, std::move(slice),
                                   {.durability = Durability::ordered});
    ASSERT_TRUE(staged.ok()) << staged.result.error().text;
    content.staged = *staged;
    content.size += limits::kStageSliceBytes;
    most = std::max(most, anonymous_bytes());
  }
  content.hash = hasher.digest();
  auto plan = kit::eviction_plan(session, "big", "");
  plan.content = content;
  const auto ended = kit::commit_eviction(store(), plan);
  ASSERT_TRUE(ended.ok()) << ended.result.error().text;

  std::string buffer(limits::kMiB, '\0');
  for (size_t i = 0; i < kSlices; ++i) {
    ASSERT_EQ(store().read(ended->ino, i * limits::kMiB, buffer).value_or(0), limits::kMiB);
    ASSERT_EQ(buffer, kit::random_bytes(limits::kStageSliceBytes, i)) << "slice " << i;
  }
  most = std::max(most, anonymous_bytes());
  if (kShadowMemory) GTEST_SKIP() << "a sanitizer's own memory hides ours: all but the size holds";
  EXPECT_LT(most - before, 40 * limits::kMiB);
}

// Waits, with a bound, for work that tells nobody of its end.
template <class Condition>
bool reached(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TEST_F(SqliteStoreTest, SpaceOfWhatIsReapedComesBackInSteps) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  auto plan = kit::eviction_plan(session, "big", "");
  plan.content = kit::stage_all(store(), kit::random_bytes(10 * limits::kMiB, 7));
  const auto big = kit::commit_eviction(store(), plan);
  ASSERT_TRUE(big.ok());
  ASSERT_TRUE(
      kit::remove(store(), {.parent = session.folder, .name = "big", .uid = 0, .reason = "rm"})
          .ok());
  std::string buffer(limits::kChunkBytes, '\0');
  EXPECT_TRUE(store().read(big->ino, 0, buffer).has_value()) << "some mount may hold it";
  ASSERT_TRUE(kit::reap(store(), {big->ino}).ok());
  EXPECT_EQ(store().usage().content_bytes, 0u);
  EXPECT_TRUE(reached([&] { return store().usage().database_bytes <= 4 * limits::kMiB; }))
      << "freed in steps, and given back to the file system";
  close();
  EXPECT_THAT(kit::check_store(path_), IsEmpty());
}

TEST_F(SqliteStoreTest, TwoAtOnceWithEqualStagedBytesAreSharedAfterComparing) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const std::string text = kit::random_bytes(3 * limits::kMiB, 11);
  std::vector<std::future<Result<EvictionOutcome>>> answers;
  for (int i = 0; i < 4; ++i) {
    auto plan = kit::eviction_plan(session, "call_" + std::to_string(i), "");
    plan.content = kit::stage_all(store(), text);
    auto promise = std::make_shared<std::promise<Result<EvictionOutcome>>>();
    answers.push_back(promise->get_future());
    store().commit_eviction(std::move(plan), {},
                            [promise](Result<EvictionOutcome> outcome, const ChangeSet&) {
                              promise->set_value(std::move(outcome));
                            });
  }
  for (auto& answer : answers) {
    const auto outcome = answer.get();
    ASSERT_TRUE(outcome.has_value()) << outcome.error().text;
    EXPECT_EQ(kit::read_file(store(), outcome->ino), text);
  }
  EXPECT_EQ(store().usage().content_bytes, text.size());
  close();
  EXPECT_THAT(kit::check_store(path_), IsEmpty());
}

TEST_F(SqliteStoreTest, ThousandsOfResultsWithOneIdFindTheirNames) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  std::set<std::string> paths;
  for (int i = 0; i < 400; ++i) {
    auto plan = kit::eviction_plan(session, "call_1", std::to_string(i));
    const auto ended =
        kit::commit_eviction(store(), std::move(plan), {.durability = Durability::ordered});
    ASSERT_TRUE(ended.ok());
    paths.insert(ended->path);
  }
  EXPECT_EQ(paths.size(), 400u);
  EXPECT_TRUE(paths.contains("/large_tool_results/s-aaaaa/call_1"));
  EXPECT_TRUE(paths.contains("/large_tool_results/s-aaaaa/call_1.64"));
}

TEST_F(SqliteStoreTest, ClosingWaitsForWhatIsUnderWay) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  std::atomic<int> ended = 0;
  for (int i = 0; i < 50; ++i) {
    store().commit_eviction(
        kit::eviction_plan(session, "call_" + std::to_string(i), kit::random_bytes(50'000, 1)), {},
        [&ended](Result<EvictionOutcome> outcome, const ChangeSet&) {
          if (outcome) ++ended;
        });
  }
  close();
  EXPECT_EQ(ended, 50);
  EXPECT_THAT(kit::check_store(path_), IsEmpty());
}

}  // namespace
}  // namespace ebla
