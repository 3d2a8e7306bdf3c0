// Check and repair: a sound store passes, each breach is seen and mended, and nothing that can be
// read is lost on the way.
#include "schema/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "schema/sqlite/database.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"
#include "tests/schema/sqlite/varied_store.h"

namespace ebla {
namespace {

using testing::IsEmpty;

class CheckStore : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { kit::make_varied_store(path_, clock_); }

  void change(const char* sql) {
    auto db = sqlite::Database::open(path_, sqlite::Database::Mode::read_write);
    ASSERT_TRUE(db.has_value());
    const auto done = db->exec(sql);
    ASSERT_TRUE(done.has_value()) << done.error().text;
    ASSERT_GT(db->changes(), 0) << "the statement has changed nothing: " << sql;
  }

  SystemClock clock_;
  kit::TempDir folder_{"check"};
  std::string path_ = folder_ / "store";
};

struct Checked {
  std::vector<std::string> lines;
  CheckReport report;
  std::string error;
};

Checked check(const std::string& store, bool repair, bool quick = false) {
  Checked checked;
  CheckOptions options;
  options.store = store;
  options.repair = repair;
  options.quick = quick;
  options.found = [&](const Problem& problem) {
    checked.lines.push_back((problem.mended ? "mended: " : "") + problem.text);
  };
  auto report = check_store(options);
  if (report) {
    checked.report = *report;
  } else {
    checked.error = report.error().text;
  }
  return checked;
}

TEST_F(CheckStore, ASoundStorePasses) {
  EXPECT_THAT(kit::check_store(path_), IsEmpty());
}

TEST_F(CheckStore, AMissingFileIsSaid) {
  EXPECT_THAT(kit::check_store(folder_ / "absent"), testing::Not(IsEmpty()));
}

// What follows from one damage alone, and no word about anything else.
TEST_F(CheckStore, SaysWhatIsWrongAndNothingElse) {
  change("DELETE FROM inodes WHERE nlink = 2 AND kind = 0");
  EXPECT_THAT(check(path_, false).lines,
              testing::UnorderedElementsAre(
                  "/mine/notes is a name of a file that is not in the store",
                  "/mine/too is a name of a file that is not in the store",
                  testing::MatchesRegex("attribute user.a belongs to node [0-9]+, which is not in "
                                        "the store"),
                  testing::MatchesRegex("262144 bytes belong to no file .content [0-9]+."),
                  testing::StartsWith("the counters of session tree 0 are wrong")));
}

TEST_F(CheckStore, NamesTheFileWhoseBytesAreDamaged) {
  change(
      "UPDATE chunks SET bytes = zeroblob(length(bytes)) WHERE key = (SELECT (content << 24) + 1 "
      "FROM inodes WHERE ino = (SELECT ino FROM dentries WHERE name = x'6f6e65'))");
  const auto lines = check(path_, false).lines;
  ASSERT_EQ(lines.size(), 1u) << testing::PrintToString(lines);
  EXPECT_THAT(lines[0], testing::AllOf(testing::StartsWith("/large_tool_results/s-aaaaa/one"),
                                       testing::HasSubstr("bytes 131072 to 262144")));
  EXPECT_THAT(check(path_, false, /*quick=*/true).lines, IsEmpty());
}

TEST_P(CheckStore, SeesTheBreach) {
  change(GetParam());
  EXPECT_THAT(kit::check_store(path_), testing::Not(IsEmpty()));
}

TEST_P(CheckStore, MendsTheBreach) {
  change(GetParam());
  const Checked first = check(path_, true);
  EXPECT_EQ(first.error, "");
  EXPECT_GT(first.report.problems, 0u);
  EXPECT_EQ(first.report.left, 0u) << testing::PrintToString(first.lines);
  const Checked second = check(path_, false);
  EXPECT_EQ(second.error, "");
  EXPECT_THAT(second.lines, IsEmpty()) << "after: " << testing::PrintToString(first.lines);
  // The store works, and what was written is readable, wherever it lies now.
  sqlite::OpenOptions options;
  options.path = path_;
  options.clock = &clock_;
  auto opened = sqlite::open_store(options);
  ASSERT_TRUE(opened.has_value()) << opened.error().text;
  std::multiset<std::string> contents;
  kit::collect_contents(**opened, (*opened)->root(), contents);
  const std::string wanted[] = {kit::numbered_rows(300'000), kit::chinese(5'000),
                                std::string(200'000, 'n') + "more", kit::random_bytes(3'000, 1)};
  const std::string sql = GetParam();
  if (!sql.contains("SET bytes") && !sql.contains("FROM chunks")) {
    for (const std::string& text : wanted) {
      EXPECT_TRUE(std::ranges::any_of(
          contents, [&](const std::string& held) { return held.starts_with(text); }))
          << "lost: " << text.substr(0, 40) << testing::PrintToString(first.lines);
    }
  }
  const Session later = kit::make_session(**opened, "s-later");
  EXPECT_TRUE(
      kit::commit_eviction(**opened, kit::eviction_plan(later, "x", kit::chinese(900))).ok());
  opened->reset();
  EXPECT_THAT(kit::check_store(path_), IsEmpty());
}

TEST_F(CheckStore, ASectionWhoseRowIsLostIsPutBack) {
  for (const char* sql :
       {"DELETE FROM sections WHERE sections = 2", "DELETE FROM sections WHERE sections = 1",
        "DELETE FROM sections WHERE sections = 8"}) {
    const auto history = [this] {
      sqlite::OpenOptions options;
      options.path = path_;
      options.clock = &clock_;
      auto opened = sqlite::open_store(options);
      EXPECT_TRUE(opened.has_value());
      const auto folder = (*opened)->lookup((*opened)->root(), "conversation_history");
      const auto file = (*opened)->lookup(folder.value_or(Attr{}).ino, "s-aaaaa.md");
      return kit::read_file(**opened, file.value_or(Attr{}).ino);
    };
    const std::string before = history();
    ASSERT_GT(before.size(), 1'500'000u);
    change(sql);
    const Checked repaired = check(path_, true);
    EXPECT_EQ(repaired.report.left, 0u) << sql;
    EXPECT_EQ(history(), before) << sql << testing::PrintToString(repaired.lines);
    EXPECT_THAT(check(path_, false).lines, IsEmpty()) << sql;
  }
}

// A repair that is killed after any of its mends leaves a store that the next one mends.
TEST_F(CheckStore, AKilledRepairIsGoneOnWith) {
  change("DELETE FROM dentries WHERE ino > 3");
  change("DELETE FROM sessions");
  change("DELETE FROM sections WHERE sections = 3");
  change("UPDATE chunks SET sum = 0 WHERE key & 0xffffff = 1");
  const std::string pristine = folder_ / "pristine";
  std::filesystem::copy_file(path_, pristine);
  std::filesystem::copy_file(path_ + "-wal", pristine + "-wal");
  for (int after = 1; after < 200; after += 5) {
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(pristine + suffix, path_ + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    std::filesystem::remove(path_ + "-shm");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int told = 0;
      CheckOptions options;
      options.store = path_;
      options.repair = true;
      options.found = [&](const Problem&) {
        if (++told == after) (void)kill(getpid(), SIGKILL);
      };
      (void)check_store(options);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const Checked again = check(path_, true);
    EXPECT_EQ(again.error, "") << after;
    EXPECT_EQ(again.report.left, 0u) << after << testing::PrintToString(again.lines);
    EXPECT_THAT(check(path_, false).lines, IsEmpty()) << after;
    if (WIFEXITED(status)) return;  // it had no more to tell: all were tried
  }
}

INSTANTIATE_TEST_SUITE_P(
    Breaches, CheckStore,
    testing::Values(
        "DELETE FROM inodes WHERE kind = 0 AND nlink = 1 AND size > 0",
        "DELETE FROM inodes WHERE nlink = 2 AND kind = 0", "DELETE FROM inodes WHERE ino = 1",
        "DELETE FROM inodes WHERE ino = 2", "DELETE FROM inodes WHERE kind = 1 AND ino > 3",
        "DELETE FROM dentries", "DELETE FROM sessions", "DELETE FROM contents", "DELETE FROM usage",
        "DELETE FROM sections", "DELETE FROM evictions", "DELETE FROM eviction_keys",
        "DELETE FROM sqlite_sequence", "INSERT INTO freed SELECT content FROM contents",
        "UPDATE inodes SET kind = 0 WHERE ino > 3 AND kind = 1",
        "UPDATE dentries SET parent = (SELECT ino FROM dentries WHERE name = x'6d696e65') "
        "WHERE name = x'6d696e65'",
        "UPDATE dentries SET name = x'612f62' WHERE name = x'746f6f'",
        "DELETE FROM dentries WHERE name = x'6f6e65'", "DELETE FROM orphans",
        "UPDATE inodes SET nlink = nlink + 1 WHERE ino = 2",
        "UPDATE inodes SET entries = entries - 1 WHERE ino = 3",
        "UPDATE inodes SET size = size + 1 WHERE hash IS NOT NULL",
        "UPDATE inodes SET seq = seq + 1000 WHERE ino = 3", "UPDATE contents SET refs = refs + 1",
        "UPDATE contents SET size = size - 1",
        "UPDATE contents SET hash = zeroblob(16) WHERE size < 100000",
        "UPDATE chunks SET sum = sum + 1 WHERE key & 0xffffff = 1",
        "UPDATE chunks SET bytes = zeroblob(length(bytes)) WHERE key & 0xffffff = 0",
        "DELETE FROM chunks WHERE key & 0xffffff = 1", "DELETE FROM staged",
        "UPDATE evictions SET name = x'6e6f'", "UPDATE evictions SET ino = 0 WHERE ino <> 0",
        "DELETE FROM removed", "DELETE FROM eviction_keys WHERE key = 0",
        "DELETE FROM eviction_keys WHERE key = 1", "DELETE FROM evictions WHERE kind = 1",
        "UPDATE sessions SET history = 1", "UPDATE usage SET files = files + 1",
        "UPDATE usage SET content_bytes = content_bytes + 1 WHERE tree <> 0",
        "DELETE FROM usage WHERE tree <> 0",
        "UPDATE inodes SET session = 2 WHERE eviction IN "
        "(SELECT id FROM evictions WHERE kind = 4)",
        "DELETE FROM sections WHERE sections = 1", "DELETE FROM sections WHERE sections = 8",
        "DELETE FROM sections WHERE sections = 3",
        "UPDATE sections SET hash = zeroblob(16) WHERE sections = 2",
        "UPDATE sections SET start = start + 1 WHERE size < 10000",
        "UPDATE sections SET session = 1",
        "UPDATE sections SET messages = messages + 1 WHERE sections = 8",
        "UPDATE inodes SET size = size - 1 WHERE size > 100000 AND hash IS NULL",
        "UPDATE inodes SET content = 1 WHERE content = session", "DELETE FROM section_keys",
        "UPDATE passes SET id = id + 1", "UPDATE passes SET pinned = x'00'",
        "DELETE FROM session_events", "UPDATE sessions SET closed_ns = 0",
        // Of clients' files: 6e6f746573 is "notes", 746f6f "too", 6d696e65 "mine".
        "DELETE FROM links", "UPDATE links SET seq = seq + 1000",
        "INSERT INTO links SELECT ino, parent, seq FROM dentries WHERE name = x'746f6f' "
        "ON CONFLICT DO UPDATE SET parent = 1",
        "DELETE FROM dentries WHERE name = x'6d696e65'",
        "UPDATE inodes SET raw = raw + 1 WHERE nlink = 2 AND kind = 0",
        "UPDATE inodes SET size = 131072 WHERE nlink = 2 AND kind = 0",
        "UPDATE inodes SET size = size - 1 WHERE nlink = 2 AND kind = 0",
        "UPDATE inodes SET target = NULL WHERE kind = 2",
        "UPDATE inodes SET content = 0 WHERE hash IS NULL AND content NOT IN (0, session)",
        "UPDATE xattrs SET ino = ino + 1000",
        "UPDATE chunks SET sum = 0 WHERE key >> 24 IN "
        "(SELECT content FROM inodes WHERE hash IS NULL)"));

}  // namespace
}  // namespace ebla
