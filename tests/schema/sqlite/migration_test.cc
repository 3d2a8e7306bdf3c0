// A store of version 1, with what a version 1 could hold, is brought forward when it is opened.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/sqlite/database.h"
#include "schema/sqlite/migrations.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"

namespace ebla {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MigrationTest : public testing::Test {
 protected:
  std::unique_ptr<Store> open(const std::string& path) {
    sqlite::OpenOptions options;
    options.path = path;
    options.clock = &clock_;
    auto opened = sqlite::open_store(options);
    if (!opened) ADD_FAILURE() << opened.error().text;
    return opened ? std::move(*opened) : nullptr;
  }

  static void run(sqlite::Database& db, const std::string& sql) {
    const auto done = db.exec(sql.c_str());
    ASSERT_TRUE(done.has_value()) << sql << ": " << done.error().text;
  }

  // Makes the file by the first migration alone and copies the rows of `from`, but for what came
  // later.
  void make_version_1(const std::string& from, const std::string& path) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    sqlite3_close(handle);
    auto db = sqlite::Database::open(path, sqlite::Database::Mode::read_write);
    ASSERT_TRUE(db.has_value()) << db.error().text;
    run(*db, "PRAGMA page_size=16384; PRAGMA auto_vacuum=INCREMENTAL;");
    ASSERT_TRUE(sqlite::migrate(*db, sqlite::migrations().first(1)).value());
    run(*db, fmt::format("ATTACH '{}' AS newer; BEGIN;", from));
    for (const char* table :
         {"inodes", "dentries", "orphans", "contents", "chunks", "sessions", "session_settings",
          "evictions", "eviction_keys", "removed", "path_aliases", "usage"}) {
      std::string columns;
      {
        auto names = db->prepare("SELECT group_concat(name) FROM pragma_table_info(?, 'main')");
        ASSERT_TRUE(names.has_value());
        names->bind_text(table);
        ASSERT_TRUE(names->step().value());
        columns = names->string(0);
      }
      run(*db, fmt::format("INSERT INTO main.{0}({1}) SELECT {1} FROM newer.{0}", table, columns));
    }
    run(*db,
        "UPDATE main.sqlite_sequence SET seq = "
        "(SELECT seq FROM newer.sqlite_sequence WHERE name = 'inodes') WHERE name = 'inodes'");
    run(*db, "COMMIT; DETACH newer; PRAGMA journal_mode=WAL;");
    ASSERT_EQ(db->scalar("PRAGMA user_version").value(), 1);
  }

  ManualClock clock_;
  kit::TempDir folder_{"migration"};
};

TEST_F(MigrationTest, WhatVersion1HeldIsThereAndTheRestIsEmpty) {
  auto store = open(folder_ / "source");
  ASSERT_NE(store, nullptr);
  const Session session = kit::make_session(*store, "s-aaaaa", "key");
  const auto plan = kit::eviction_plan(session, "call", std::string(300'000, 'x'));
  const auto put_away = kit::commit_eviction(*store, plan);
  auto human = kit::eviction_plan(session, "", "words", "message-1");
  human.kind = ArtifactKind::human;
  human.extension = ".md";
  ASSERT_TRUE(put_away.ok() && kit::commit_eviction(*store, human).ok());
  store.reset();

  const std::string path = folder_ / "store";
  ASSERT_NO_FATAL_FAILURE(make_version_1(folder_ / "source", path));
  store = open(path);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->find_session(1000, "key").value(), session);
  EXPECT_EQ(kit::read_file(*store, put_away->ino), std::string(300'000, 'x'));
  const std::vector<ItemQuery> items = {{.kind = plan.kind,
                                         .call_id = plan.call_id,
                                         .hash = plan.content.hash,
                                         .size = plan.content.size}};
  EXPECT_EQ(store->find_items(session.tree, items)->front().decision->replacement,
            put_away->replacement);
  EXPECT_THAT(*store->passes(session.tree, 0), IsEmpty());
  EXPECT_EQ(*store->history_state(session.serial), HistoryState{});
  const auto events = store->events({});
  ASSERT_EQ(events->size(), 3u);
  EXPECT_EQ(events->at(0).what, "session_open");
  EXPECT_EQ(events->at(1).what, "tool_result");
  EXPECT_EQ(events->at(1).tokens_after, 0u);
  EXPECT_EQ(events->at(2).what, "human");

  // And it goes on from there.
  ASSERT_TRUE(kit::append_history(*store, kit::history_plan(*store, session, "one\n", 1)).ok());
  EXPECT_EQ(kit::read_file(*store, session.history), "one\n");
  ASSERT_TRUE(kit::close_session(*store, session.serial).ok());
  store.reset();
  EXPECT_THAT(kit::check_store(path), IsEmpty());
  store = open(path);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(kit::read_file(*store, session.history), "one\n");
  EXPECT_EQ(store->events({})->size(), 5u);
}

}  // namespace
}  // namespace ebla
