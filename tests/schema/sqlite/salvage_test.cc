// Stores that SQLite cannot read any more: what is salvaged, and what a repair makes of them.
#include "schema/salvage.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "schema/base/fd.h"
#include "schema/check.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"
#include "tests/schema/sqlite/varied_store.h"

namespace ebla {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Files = std::map<std::string, std::string>;  // path to bytes

std::string bytes_of(const std::string& path) {
  return read_file(path, size_t{1} << 30).value_or("(unreadable)");
}

void read_tree(const std::string& root, Files& files) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && !entry.is_symlink()) {
      files[entry.path().string().substr(root.size())] = bytes_of(entry.path());
    }
  }
}

void read_store(Store& store, Ino folder, const std::string& path, Files& files) {
  for (const DirEntry& entry : kit::list(store, folder)) {
    const std::string name = path + "/" + entry.name;
    if (entry.attr.kind == NodeKind::directory) read_store(store, entry.attr.ino, name, files);
    if (entry.attr.kind == NodeKind::file) files[name] = kit::read_file(store, entry.attr.ino);
  }
}

class Salvage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    master_ = std::make_unique<kit::TempDir>("salvage");
    kit::make_varied_store(*master_ / "store", clock_);
    truth_ = files_of(*master_ / "store");
    ASSERT_GE(truth_.size(), 8u);
  }
  static void TearDownTestSuite() { master_.reset(); }

  void SetUp() override { fresh(); }

  // A whole store again.
  void fresh() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      std::filesystem::remove_all(entry.path());
    }
    std::filesystem::copy_file(*master_ / "store", store_);
  }

  static Files files_of(const std::string& store) {
    sqlite::OpenOptions options;
    options.path = store;
    options.clock = &clock_;
    auto opened = sqlite::open_store(options);
    EXPECT_TRUE(opened.has_value()) << opened.error().text;
    Files files;
    if (opened) read_store(**opened, (*opened)->root(), "", files);
    return files;
  }

  struct Saved {
    Files files;
    std::vector<std::string> lines;
    SalvageReport report;
    std::string error;
  };

  Saved salvage() {
    Saved saved;
    const std::string before = bytes_of(store_);
    SalvageOptions options;
    options.store = store_;
    options.folder = folder_ / "out";
    std::filesystem::remove_all(options.folder);
    options.lost = [&](std::string_view line) { saved.lines.emplace_back(line); };
    auto report = salvage_store(options);
    EXPECT_EQ(bytes_of(store_), before) << "the store was written to";
    if (!report) {
      saved.error = report.error().text;
      return saved;
    }
    saved.report = *report;
    read_tree(report->tree, saved.files);
    return saved;
  }

  void put(uint64_t at, std::string_view bytes) {
    auto file = open_file(store_, O_WRONLY);
    ASSERT_TRUE(file && pwrite_full(file->get(), bytes, at));
  }

  // Every file comes out with its bytes, or the loss is told: with its path where it lies in its
  // place, at all where it has lost that.
  void expect_kept_or_told(const Saved& saved, const std::string& what) {
    ASSERT_EQ(saved.error, "") << what;
    for (const auto& [path, bytes] : truth_) {
      const auto there = saved.files.find(path);
      if (there != saved.files.end() && there->second == bytes) continue;
      const bool told = std::ranges::any_of(saved.lines, [&](const std::string& line) {
        return there == saved.files.end()
                   ? line.starts_with("table ") || line.starts_with("/lost+found") ||
                         line.contains("list of tables") || line.contains("of its") ||
                         line.contains("no row")
                   : line.starts_with(path + ":");
      });
      EXPECT_TRUE(told) << what << ": " << path << " is "
                        << (there == saved.files.end() ? "absent" : "other")
                        << "; told: " << testing::PrintToString(saved.lines);
    }
  }

  // A repair makes a store of it that is clean and works.
  void expect_mended(const std::string& what) {
    CheckOptions options;
    options.store = store_;
    options.repair = true;
    std::vector<std::string> lines;
    options.found = [&](const Problem& problem) { lines.push_back(problem.text); };
    auto first = check_store(options);
    ASSERT_TRUE(first.has_value()) << what << ": " << first.error().text;
    EXPECT_EQ(first->left, 0u) << what << ": " << testing::PrintToString(lines);
    if (!first->kept.empty()) {
      EXPECT_TRUE(std::filesystem::exists(first->kept)) << what;
    }
    options.repair = false;
    lines.clear();
    auto second = check_store(options);
    ASSERT_TRUE(second.has_value()) << what << ": " << second.error().text;
    EXPECT_THAT(lines, IsEmpty()) << what;
    sqlite::OpenOptions opening;
    opening.path = store_;
    opening.clock = &clock_;
    auto opened = sqlite::open_store(opening);
    ASSERT_TRUE(opened.has_value()) << what << ": " << opened.error().text;
    const Session later = kit::make_session(**opened, "s-later");
    EXPECT_TRUE(
        kit::commit_eviction(**opened, kit::eviction_plan(later, "x", std::string(900, 'x'))).ok())
        << what;
  }

  inline static SystemClock clock_;
  inline static std::unique_ptr<kit::TempDir> master_;
  inline static Files truth_;
  kit::TempDir folder_{"salvage"};
  std::string store_ = folder_ / "store";
};

TEST_F(Salvage, BringsOutASoundStoreAsItIs) {
  const Saved saved = salvage();
  EXPECT_EQ(saved.error, "");
  EXPECT_THAT(saved.lines, IsEmpty());
  EXPECT_EQ(saved.files, truth_);
  EXPECT_EQ(saved.report.damaged, 0u);
  struct stat one{};
  struct stat other{};
  ASSERT_EQ(stat((saved.report.tree + "/mine/notes").c_str(), &one), 0);
  ASSERT_EQ(stat((saved.report.tree + "/mine/too").c_str(), &other), 0);
  EXPECT_EQ(one.st_ino, other.st_ino);
  EXPECT_EQ(std::filesystem::read_symlink(saved.report.tree + "/mine/link"), "notes");
  ASSERT_EQ(stat((saved.report.tree + "/large_tool_results/s-aaaaa/one").c_str(), &one), 0);
  EXPECT_EQ(one.st_mode & 07777, 0400u);
}

TEST_F(Salvage, RefusesAFolderWithEntriesAndAFileThatIsNoStore) {
  std::filesystem::create_directories(folder_ / "out/x");
  SalvageOptions options;
  options.store = store_;
  options.folder = folder_ / "out";
  auto refused = salvage_store(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::already_exists);
  options.store = folder_ / "absent";
  refused = salvage_store(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::file_not_found);
}

TEST_F(Salvage, ReadsTheLogOfAStoreThatWasNotClosed) {
  sqlite::OpenOptions options;
  options.path = store_;
  options.clock = &clock_;
  auto opened = sqlite::open_store(options);
  ASSERT_TRUE(opened.has_value());
  const Session session = kit::make_session(**opened, "s-logged");
  ASSERT_TRUE(
      kit::commit_eviction(**opened, kit::eviction_plan(session, "new", "in the log alone")).ok());
  // As a power cut would leave them.
  std::filesystem::copy_file(store_, folder_ / "cut");
  std::filesystem::copy_file(store_ + "-wal", folder_ / "cut-wal");
  opened->reset();
  store_ = folder_ / "cut";
  const Saved with = salvage();
  EXPECT_THAT(with.lines, IsEmpty());
  EXPECT_EQ(with.files.at("/large_tool_results/s-logged/new"), "in the log alone");
  std::filesystem::remove(folder_ / "cut-wal");
  const Saved without = salvage();
  for (const auto& [path, bytes] : truth_) EXPECT_EQ(without.files.at(path), bytes) << path;
}

TEST_F(Salvage, ABrokenHeaderHidesNothing) {
  put(0, std::string(100, '\0'));
  Saved saved = salvage();
  for (const auto& [path, bytes] : truth_) EXPECT_EQ(saved.files[path], bytes) << path;
  expect_mended("no header");
  EXPECT_EQ(files_of(store_).at("/mine/notes"), truth_.at("/mine/notes"));
  fresh();
  put(0, std::string(16'384, '\x7f'));
  saved = salvage();
  for (const auto& [path, bytes] : truth_) EXPECT_EQ(saved.files[path], bytes) << path;
  EXPECT_THAT(saved.lines, testing::Contains(HasSubstr("header")));
  expect_mended("no first page");
}

TEST_F(Salvage, AMissingTableIsFoundByItsRows) {
  for (const char* table : {"inodes", "dentries", "chunks", "sections"}) {
    fresh();
    {
      auto db = sqlite::Database::open(store_, sqlite::Database::Mode::read_write);
      ASSERT_TRUE(db.has_value());
      sqlite3_db_config(db->handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
      ASSERT_TRUE(db->exec("PRAGMA writable_schema=ON"));
      ASSERT_TRUE(db->exec((std::string("DELETE FROM sqlite_schema WHERE tbl_name = '") + table +
                            "'; PRAGMA wal_checkpoint(TRUNCATE)")
                               .c_str()));
    }
    Saved saved = salvage();
    for (const auto& [path, bytes] : truth_) EXPECT_EQ(saved.files[path], bytes) << table << path;
    expect_mended(std::string("no table ") + table);
  }
}

// Numbers of a long row lie on other pages than its begin.
TEST_F(Salvage, LongRowsOfDecisionsAreBuiltAnewWhole) {
  const auto decisions = [&](const std::string& store) {
    auto db = sqlite::Database::open(store, sqlite::Database::Mode::read_only);
    return db
        ->scalar(
            "SELECT count(*) FROM evictions WHERE length(replacement) > 50000 "
            "AND tokens_after = 77")
        .value_or(-1);
  };
  {
    auto db = sqlite::Database::open(store_, sqlite::Database::Mode::read_write);
    ASSERT_TRUE(db && db->exec("UPDATE evictions SET replacement = zeroblob(60000), "
                               "tokens_after = 77; PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  const int64_t before = decisions(store_);
  ASSERT_GE(before, 4);
  put(0, std::string(16'384, '\x7f'));
  expect_mended("no first page");
  EXPECT_EQ(decisions(store_), before);
}

TEST_F(Salvage, FlippedBytesCostNoMoreThanTheirFiles) {
  const uint64_t size = std::filesystem::file_size(store_);
  for (unsigned seed = 1; seed <= 40; ++seed) {
    fresh();
    std::mt19937_64 random(seed);
    const uint64_t at = random() % size;
    const int length = seed % 4 == 0 ? 4'096 : 1;
    std::string bytes = bytes_of(store_).substr(at, static_cast<size_t>(length));
    for (char& c : bytes) c = static_cast<char>(c ^ static_cast<char>(1 + random() % 255));
    put(at, bytes);
    const std::string what = "seed " + std::to_string(seed) + ", byte " + std::to_string(at);
    expect_kept_or_told(salvage(), what);
    expect_mended(what);
    if (HasFatalFailure()) return;
  }
}

// No file can be asked for any more, but nothing may crash, hang or be told as whole that is not.
TEST_F(Salvage, ManyDamagedPagesAreStillMended) {
  const uint64_t pages = std::filesystem::file_size(store_) / 16'384;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    fresh();
    std::mt19937_64 random(seed);
    for (uint64_t page = 1; page < pages; ++page) {
      if (random() % 10 != 0) continue;
      std::string bytes(1 + random() % 16'384, '\0');
      if (random() % 2 == 0)
        std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
      put(page * 16'384 + random() % (16'385 - bytes.size()), bytes);
    }
    const std::string what = "seed " + std::to_string(seed);
    expect_kept_or_told(salvage(), what);
    expect_mended(what);
    if (HasFatalFailure()) return;
  }
}

TEST_F(Salvage, ACutStoreGivesWhatIsBeforeTheCut) {
  const uint64_t size = std::filesystem::file_size(store_);
  for (unsigned seed = 1; seed <= 16; ++seed) {
    fresh();
    std::mt19937_64 random(seed);
    const uint64_t at = size / 8 + random() % (size - size / 8);
    std::filesystem::resize_file(store_, at);
    const std::string what = "seed " + std::to_string(seed) + ", cut at " + std::to_string(at);
    expect_kept_or_told(salvage(), what);
    expect_mended(what);
    if (HasFatalFailure()) return;
  }
}

TEST_F(Salvage, AnInterruptedRebuildIsDoneAgainWithItsLog) {
  sqlite::OpenOptions options;
  options.path = store_;
  options.clock = &clock_;
  auto opened = sqlite::open_store(options);
  ASSERT_TRUE(opened.has_value());
  const Session session = kit::make_session(**opened, "s-logged");
  ASSERT_TRUE(
      kit::commit_eviction(**opened, kit::eviction_plan(session, "new", "in the log alone")).ok());
  std::filesystem::copy_file(store_, folder_ / "cut");
  // As it lies when the machine stops before the new database gets its name.
  std::filesystem::copy_file(store_ + "-wal", folder_ / "cut.damaged-wal");
  opened->reset();
  store_ = folder_ / "cut";
  std::filesystem::create_hard_link(store_, store_ + ".damaged");
  std::ofstream(store_ + ".rebuilt") << "half of it";
  options.path = store_;
  const auto refused = sqlite::open_store(options);
  ASSERT_FALSE(refused.has_value());
  expect_mended("interrupted");
  EXPECT_EQ(files_of(store_).at("/large_tool_results/s-logged/new"), "in the log alone");
  EXPECT_FALSE(std::filesystem::exists(store_ + ".damaged"));
}

TEST_F(Salvage, ARepairSaysThatItBuiltANewDatabase) {
  put(16'384 * 3, std::string(40, '\0'));
  CheckOptions options;
  options.store = store_;
  std::vector<Problem> problems;
  options.found = [&](const Problem& problem) { problems.push_back(problem); };
  auto checked = check_store(options);
  ASSERT_TRUE(checked.has_value());
  EXPECT_EQ(checked->left, checked->problems);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0].kind, "database");
  problems.clear();
  options.repair = true;
  checked = check_store(options);
  ASSERT_TRUE(checked.has_value());
  EXPECT_EQ(checked->problems, checked->mended);
  EXPECT_EQ(checked->kept, store_ + ".damaged");
  EXPECT_TRUE(std::ranges::all_of(problems, &Problem::mended));
  EXPECT_THAT(problems[0].text, HasSubstr("is built anew from"));
  EXPECT_THAT(bytes_of(checked->note), HasSubstr("is built anew from"));
}

TEST_F(Salvage, WhatIsNoStoreIsLeftAlone) {
  std::ofstream(store_, std::ios::trunc) << std::string(100'000, 'n');
  const std::string before = bytes_of(store_);
  CheckOptions options;
  options.store = store_;
  options.repair = true;
  auto refused = check_store(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::store_foreign);
  EXPECT_EQ(bytes_of(store_), before);
  EXPECT_FALSE(std::filesystem::exists(store_ + ".damaged"));
  EXPECT_FALSE(std::filesystem::exists(store_ + ".rebuilt"));
}

}  // namespace
}  // namespace ebla
