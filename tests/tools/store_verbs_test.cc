// Verbs that work on the files of a store: what they print, and their exit statuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "schema/base/clock.h"
#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/open.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/temp_dir.h"
#include "tests/tools/command.h"

namespace ebla::tools {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class StoreVerbs : public testing::Test {
 protected:
  void SetUp() override {
    auto store = open();
    ASSERT_TRUE(store.has_value()) << store.error().text;
    const Ino file = kit::make_file(**store, (*store)->root(), "notes\n", "what was noted");
    ASSERT_TRUE(kit::flush(**store, file).ok());
  }

  Result<std::unique_ptr<Store>> open() {
    sqlite::OpenOptions options;
    options.path = store_;
    options.clock = &clock_;
    return sqlite::open_store(options);
  }

  void change(const char* sql) {
    auto db = sqlite::Database::open(store_, sqlite::Database::Mode::read_write);
    ASSERT_TRUE(db && db->exec(sql));
  }

  Ran run(std::vector<std::string> words) {
    Command command;
    command.words = std::move(words);
    return command.run();
  }

  SystemClock clock_;
  kit::TempDir folder_{"verbs"};
  std::string store_ = folder_ / "store";
};

TEST_F(StoreVerbs, ACleanStoreIsOneLineAndZero) {
  const Ran ran = run({"fsck", store_});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, store_ + ": clean, 1 file, 3 folders, 14 bytes checked\n");
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(run({"fsck", "--quick", store_}).out, store_ + ": clean, 1 file, 3 folders\n");
  Command by_variable;
  by_variable.words = {"fsck"};
  by_variable.environment = {{"EBLA_STORE", store_}};
  EXPECT_EQ(by_variable.run().status, 0);
}

TEST_F(StoreVerbs, ProblemsAreLinesAndFourThenOneThenZero) {
  change("UPDATE inodes SET nlink = 7 WHERE kind = 0");
  Ran ran = run({"fsck", store_});
  EXPECT_EQ(ran.status, 4);
  EXPECT_THAT(ran.out, StartsWith("/notes\\n has 1 names and is said to have 7\n"));
  ran = run({"--json", "fsck", store_});
  EXPECT_EQ(ran.status, 4);
  const auto json = parse_json(ran.out);
  ASSERT_TRUE(json.has_value()) << ran.out;
  ASSERT_EQ(json->find("problems")->items.size(), 1u);
  const Json& problem = json->find("problems")->items[0];
  EXPECT_EQ(problem.find("kind")->text, "nlink");
  EXPECT_EQ(problem.find("path")->text, "/notes\n");
  EXPECT_FALSE(problem.find("mended")->boolean);
  EXPECT_EQ(json->find("left")->as_int64(), 1);
  ran = run({"fsck", "--repair", store_});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, StartsWith("mended: /notes"));
  EXPECT_THAT(read_file(store_ + ".repairs", 10'000).value_or(""), HasSubstr("/notes"));
  EXPECT_EQ(run({"fsck", store_}).status, 0);
}

TEST_F(StoreVerbs, WhatCannotBeCheckedIsEightAndAWrongCommandSixteen) {
  EXPECT_EQ(run({"fsck", folder_ / "absent"}).status, 8);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent.lock"));
  std::ofstream(folder_ / "text") << "no store at all, and longer than a header of a database is";
  EXPECT_EQ(run({"fsck", folder_ / "text"}).status, 8);
  EXPECT_EQ(run({"fsck", "--nonsense", store_}).status, 16);
  EXPECT_EQ(run({"fsck", store_, store_}).status, 16);
  EXPECT_EQ(run({"salvage", store_}).status, 2);
}

TEST_F(StoreVerbs, BesideADaemonItReadsAndDoesNotMend) {
  auto store = open();
  ASSERT_TRUE(store.has_value());
  const Ran ran = run({"fsck", store_});
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("14 bytes checked; read beside its daemon"));
  const Ran refused = run({"fsck", "--repair", store_});
  EXPECT_EQ(refused.status, 8);
  EXPECT_THAT(refused.err, HasSubstr("`ebla stop` first"));
}

TEST_F(StoreVerbs, ADamagedSumIsSeenBesideADaemonToo) {
  change("UPDATE chunks SET sum = sum + 1");
  auto store = open();
  ASSERT_TRUE(store.has_value());
  const Ran ran = run({"fsck", store_});
  EXPECT_EQ(ran.status, 4);
  EXPECT_THAT(ran.out, StartsWith("/notes\\n is damaged"));
}

TEST_F(StoreVerbs, ADamagedIndexIsRemoved) {
  std::ofstream(store_ + "-index") << std::string(5'000, 'x');
  EXPECT_EQ(run({"fsck", store_}).status, 4);
  EXPECT_EQ(run({"fsck", "--repair", store_}).status, 1);
  EXPECT_FALSE(std::filesystem::exists(store_ + "-index"));
  EXPECT_EQ(run({"fsck", store_}).status, 0);
}

TEST_F(StoreVerbs, SalvageSaysWhatItHasAndWhatIsMissing) {
  Ran ran = run({"salvage", store_, folder_ / "out"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("everything could be read"));
  EXPECT_EQ(read_file(folder_ / "out/tree/notes\n", 100).value_or(""), "what was noted");
  EXPECT_EQ(run({"salvage", store_, folder_ / "out"}).status, 1);
  change("UPDATE chunks SET bytes = zeroblob(14)");
  ran = run({"--json", "salvage", store_, folder_ / "out2"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("\"damaged\":1,\"losses\":1}"));
  EXPECT_THAT(read_file(folder_ / "out2/report.txt", 1'000).value_or(""),
              StartsWith("/notes\\n: bytes 0 to 14 are damaged"));
}

}  // namespace
}  // namespace ebla::tools
