#include "schema/sqlite/database.h"

#include <gtest/gtest.h>

#include "schema/sqlite/quick_check.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() { make_database(folder_.store()); }
  StoreFolder folder_;
};

TEST_F(DatabaseTest, BindsAndReadsEveryKind) {
  Database db = open_database(folder_.store());
  ASSERT_TRUE(db.exec("CREATE TABLE kinds(a INTEGER, b BLOB, c TEXT, d BLOB, e INTEGER)"));
  const std::string bytes("NUL\0\xff invalid \xe4\xb8", 15);
  auto insert = db.prepare("INSERT INTO kinds VALUES(?1, ?2, ?3, ?4, ?5)");
  ASSERT_TRUE(insert);
  insert->bind(UINT64_MAX).bind_blob(bytes).bind_text("汉字").bind_blob({}).bind_null();
  ASSERT_TRUE(insert->run());
  EXPECT_EQ(db.changes(), 1);
  EXPECT_EQ(db.last_insert_rowid(), 1);
  auto select = db.prepare("SELECT a, b, c, d, e FROM kinds");
  ASSERT_TRUE(select);
  ASSERT_TRUE(select->step().value());
  EXPECT_EQ(select->uint64(0), UINT64_MAX);
  EXPECT_EQ(select->bytes(1), bytes);
  EXPECT_EQ(select->string(2), "汉字");
  EXPECT_EQ(select->bytes(3), "");
  EXPECT_FALSE(select->is_null(3));
  EXPECT_TRUE(select->is_null(4));
  EXPECT_FALSE(select->step().value());
}

TEST_F(DatabaseTest, StatementInUseIsPreparedAgain) {
  Database db = open_database(folder_.store());
  ASSERT_TRUE(db.exec("INSERT INTO row VALUES(1, x'01'), (2, x'02')"));
  static const char* const kSql = "SELECT id FROM row ORDER BY id";
  auto outer = db.prepare(kSql);
  ASSERT_TRUE(outer->step().value());
  {
    auto inner = db.prepare(kSql);
    ASSERT_TRUE(inner->step().value());
    ASSERT_TRUE(inner->step().value());
    EXPECT_EQ(inner->int64(0), 2);
  }
  EXPECT_EQ(outer->int64(0), 1);
  ASSERT_TRUE(outer->step().value());
  EXPECT_EQ(outer->int64(0), 2);
}

TEST_F(DatabaseTest, CachedStatementForgetsItsBindings) {
  Database db = open_database(folder_.store());
  static const char* const kSql = "SELECT ?1";
  {
    auto first = db.prepare(kSql);
    first->bind_text("left over");
    ASSERT_TRUE(first->step().value());
  }
  auto second = db.prepare(kSql);
  ASSERT_TRUE(second->step().value());
  EXPECT_TRUE(second->is_null(0));
}

TEST_F(DatabaseTest, SurvivesBeingMoved) {
  Database first = open_database(folder_.store());
  ASSERT_EQ(first.scalar("SELECT 5").value(), 5);
  Database second = std::move(first);
  EXPECT_EQ(second.scalar("SELECT 5").value(), 5);
  first = open_database(folder_.store());
  first = std::move(second);
  EXPECT_EQ(first.scalar("SELECT 6").value(), 6);
}

TEST_F(DatabaseTest, ErrorsHaveCodes) {
  Database db = open_database(folder_.store());
  ASSERT_TRUE(db.exec("INSERT INTO row VALUES(1, x'01')"));
  EXPECT_EQ(db.exec("INSERT INTO row VALUES(1, x'01')").error().code, Code::conflict);
  EXPECT_EQ(db.exec("SELEC").error().code, Code::internal_error);
  EXPECT_EQ(db.prepare("SELEC").error().code, Code::internal_error);
  EXPECT_EQ(db.prepare("").error().code, Code::internal_error);
  EXPECT_EQ(db.scalar("SELECT 1 WHERE 0").error().code, Code::file_not_found);
  EXPECT_EQ(db.exec("INSERT INTO row VALUES(2, zeroblob(1100000000))").error().code,
            Code::too_large);
  ASSERT_TRUE(db.exec("PRAGMA max_page_count=1"));  // no lower than what there is
  const Error full = db.exec("INSERT INTO row VALUES(3, zeroblob(10000000))").error();
  EXPECT_EQ(full.code, Code::no_space);
  EXPECT_NE(full.text.find("free space"), std::string::npos) << full.text;
  Database reader = open_database(folder_.store(), Database::Mode::read_only);
  EXPECT_EQ(reader.exec("DELETE FROM row").error().code, Code::read_only);
  auto missing = Database::open(folder_.path() + "/absent", Database::Mode::read_write);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::io_error);
}

TEST_F(DatabaseTest, ConnectionsAreGuarded) {
  Database db = open_database(folder_.store());
  EXPECT_EQ(db.scalar("PRAGMA synchronous").value(), 1);
  EXPECT_EQ(db.scalar("PRAGMA mmap_size").value(), 0);
  EXPECT_EQ(db.scalar("PRAGMA cache_size").value(), -2048);
  EXPECT_EQ(db.scalar("PRAGMA secure_delete").value(), 0);
  EXPECT_EQ(db.scalar("PRAGMA cell_size_check").value(), 1);
  EXPECT_EQ(db.scalar("PRAGMA trusted_schema").value(), 0);
  EXPECT_EQ(db.scalar("PRAGMA wal_autocheckpoint").value(), 0);
  ASSERT_TRUE(db.exec("PRAGMA writable_schema=ON"));
  EXPECT_FALSE(db.exec("DELETE FROM sqlite_schema"));
  EXPECT_FALSE(db.exec("SELECT \"no such column\""));
}

std::vector<std::string> quick_check(const std::string& path) {
  std::promise<Result<std::vector<std::string>>> found;
  QuickCheck check;
  QuickCheck::Options options;
  options.path = path;
  check.start(std::move(options), [&](auto result) { found.set_value(std::move(result)); });
  auto result = found.get_future().get();
  if (!result) return {result.error().text};
  return *result;
}

TEST_F(DatabaseTest, QuickCheckFindsADamagedPage) {
  {
    Database db = open_database(folder_.store());
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(db.exec("INSERT INTO row VALUES(NULL, zeroblob(3000))"));
    ASSERT_TRUE(db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  EXPECT_EQ(quick_check(folder_.store()), std::vector<std::string>{});
  FILE* file = std::fopen(folder_.store().c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fseek(file, 5 * 16384, SEEK_SET), 0);
  const std::string noise = sample_bytes(16384, 1);
  EXPECT_EQ(std::fwrite(noise.data(), 1, noise.size(), file), noise.size());
  ASSERT_EQ(std::fclose(file), 0);
  EXPECT_NE(quick_check(folder_.store()), std::vector<std::string>{});
}

TEST_F(DatabaseTest, QuickCheckYieldsToTheLogAndGivesUpInTheEnd) {
  {
    Database db = open_database(folder_.store());
    ASSERT_TRUE(db.exec("BEGIN"));
    for (int i = 0; i < 4000; ++i)
      ASSERT_TRUE(db.exec("INSERT INTO row VALUES(NULL, zeroblob(9000))"));
    ASSERT_TRUE(db.exec("COMMIT"));
  }
  std::promise<Result<std::vector<std::string>>> found;
  QuickCheck check;
  check.start({.path = folder_.store(),
               .must_yield = [] { return true; },
               .poll = std::chrono::milliseconds(0),
               .pause = std::chrono::milliseconds(0),
               .attempts = 3},
              [&](auto result) { found.set_value(std::move(result)); });
  auto result = found.get_future().get();
  // Either it was interrupted each time, or one attempt was quicker than the poll.
  if (result) {
    EXPECT_TRUE(result->empty());
  } else {
    EXPECT_EQ(result.error().code, Code::unavailable);
  }
  check.stop();
  EXPECT_FALSE(check.running());
}

}  // namespace
}  // namespace ebla::sqlite::test
