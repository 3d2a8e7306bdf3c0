#include "schema/sqlite/open.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "schema/base/fd.h"
#include "schema/sqlite/migrations.h"
#include "schema/sqlite/writer.h"
#include "tests/schema/sqlite/fixture.h"

namespace ebla::sqlite::test {
namespace {

// Everything that a refused start must leave as it was: names, bytes, times, modes.
std::map<std::string, std::string> picture(const std::string& folder) {
  std::map<std::string, std::string> out;
  const auto add = [&](const std::string& path) {
    struct stat info{};
    EXPECT_EQ(lstat(path.c_str(), &info), 0);
    std::string& entry = out[path];
    entry = std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + " " +
            std::to_string(info.st_ctim.tv_nsec) + " " + std::to_string(info.st_mode) + " ";
    if (S_ISREG(info.st_mode)) entry += read_file(path, 1u << 26).value_or("unreadable");
  };
  add(folder);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    add(entry.path().string());
  return out;
}

class OpenTest : public testing::Test {
 protected:
  OpenTest() {
    options_.path = folder_.store();
    options_.filesystem_type = [](const std::string&) { return uint64_t{0xEF53}; };
  }

  void make_store() {
    auto file = prepare_file(options_);
    ASSERT_TRUE(file) << file.error().text;
  }
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.path() + "/" + name, std::ios::binary) << bytes;
  }
  std::string store_bytes() { return read_file(folder_.store(), 1u << 26).value(); }
  Database database() { return open_database(folder_.store()); }

  Error refused() {
    const auto before = picture(folder_.path());
    auto file = prepare_file(options_);
    EXPECT_FALSE(file);
    EXPECT_EQ(before, picture(folder_.path()));
    return file ? Error{} : file.error();
  }

  StoreFolder folder_;
  OpenOptions options_;
};

TEST_F(OpenTest, MakesANewStoreAndOpensItAgain) {
  options_.path = folder_.path() + "/deep/er/store.db";
  {
    auto file = prepare_file(options_);
    ASSERT_TRUE(file) << file.error().text;
    EXPECT_TRUE(file->created);
    EXPECT_TRUE(file->clean);
    EXPECT_EQ(file->warning, "");
    EXPECT_EQ(read_file(options_.path + ".lock", 100).value(), std::to_string(getpid()) + "\n");
  }
  struct stat info{};
  ASSERT_EQ(stat(options_.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(stat((folder_.path() + "/deep").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  {
    auto file = prepare_file(options_);
    ASSERT_TRUE(file) << file.error().text;
    EXPECT_FALSE(file->created);
    EXPECT_TRUE(file->clean);
  }
  Database db = open_database(options_.path);
  EXPECT_EQ(db.scalar("PRAGMA page_size").value(), 16384);
  EXPECT_EQ(db.scalar("PRAGMA auto_vacuum").value(), 2);
  EXPECT_EQ(db.scalar("PRAGMA application_id").value(), int64_t{kApplicationId});
  EXPECT_EQ(db.scalar("PRAGMA user_version").value(), newest_version(migrations()));
  EXPECT_EQ(
      db.scalar("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'").value(), 1);
}

TEST_F(OpenTest, CreationThatWasCutShortIsBegunAnew) {
  write("store.new", "half a database");
  write("store.new-journal", "x");
  make_store();
  EXPECT_FALSE(std::filesystem::exists(folder_.store() + ".new"));
  EXPECT_FALSE(std::filesystem::exists(folder_.store() + ".new-journal"));
}

TEST_F(OpenTest, EmptyFileBecomesAStore) {
  write("store", "");
  auto file = prepare_file(options_);
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_TRUE(file->created);
}

TEST_F(OpenTest, SecondHolderIsRefusedAndToldWhoTheFirstIs) {
  auto first = prepare_file(options_);
  ASSERT_TRUE(first);
  const Error error = refused();
  EXPECT_EQ(error.code, Code::store_locked);
  EXPECT_NE(error.text.find("process " + std::to_string(getpid())), std::string::npos)
      << error.text;
  // Also through another name.
  ASSERT_EQ(symlink(folder_.store().c_str(), (folder_.path() + "/alias").c_str()), 0);
  options_.path = folder_.path() + "/alias";
  EXPECT_EQ(refused().code, Code::store_locked);
  first->lock.reset();
  auto second = prepare_file(options_);
  ASSERT_TRUE(second) << second.error().text;
  EXPECT_EQ(second->path, std::filesystem::canonical(folder_.store()).string());
}

TEST_F(OpenTest, SqliteKeepsItsLocksWhenASecondStartIsRefused) {
  auto first = prepare_file(options_);
  ASSERT_TRUE(first);
  Database db = database();
  ASSERT_TRUE(db.exec("PRAGMA user_version=0; SELECT count(*) FROM sqlite_schema"));
  // Not refused(): reading the file here would drop the locks as well.
  auto second = prepare_file(options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::store_locked);
  // Another process asks for a lock on the byte range that SQLite uses for readers and writers.
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(folder_.store().c_str(), O_RDWR | O_CLOEXEC);
    struct flock all{};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    all.l_start = 0x40000000;
    all.l_len = 512;
    _exit(fd >= 0 && fcntl(fd, F_GETLK, &all) == 0 && all.l_type != F_UNLCK ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(OpenTest, NewerStoreIsRefused) {
  make_store();
  const int64_t newer = newest_version(migrations()) + 1;
  ASSERT_TRUE(database().exec(
      ("PRAGMA user_version=" + std::to_string(newer) + "; PRAGMA wal_checkpoint(TRUNCATE)")
          .c_str()));
  const Error error = refused();
  EXPECT_EQ(error.code, Code::store_newer);
  EXPECT_NE(error.text.find("version " + std::to_string(newer)), std::string::npos) << error.text;
}

TEST_F(OpenTest, NewerVersionThatIsOnlyInTheLogIsRefusedToo) {
  make_store();
  const int64_t newer = newest_version(migrations()) + 1;
  ASSERT_TRUE(database().exec(("PRAGMA user_version=" + std::to_string(newer)).c_str()));
  auto file = prepare_file(options_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::store_newer);
}

TEST_F(OpenTest, ForeignFilesAreRefused) {
  write("store", "#!/bin/sh\nexit 0\n");
  EXPECT_EQ(refused().code, Code::store_foreign);
  write("store", "SQL");  // begins like one and is none
  EXPECT_EQ(refused().code, Code::store_damaged);
  std::filesystem::remove(folder_.store());
  std::filesystem::create_directory(folder_.store());
  EXPECT_EQ(refused().code, Code::store_foreign);
  std::filesystem::remove(folder_.store());
  ASSERT_EQ(mkfifo(folder_.store().c_str(), 0600), 0);
  EXPECT_EQ(refused().code, Code::store_foreign);
}

TEST_F(OpenTest, StoreOfTwoNamesIsRefusedByBoth) {
  {
    auto file = prepare_file(options_);
    ASSERT_TRUE(file) << file.error().text;
  }
  const std::string other = folder_.path() + "/hard";
  ASSERT_EQ(link(folder_.store().c_str(), other.c_str()), 0);
  EXPECT_EQ(refused().code, Code::store_foreign);
  options_.path = other;
  EXPECT_EQ(refused().code, Code::store_foreign);
}

TEST_F(OpenTest, DatabaseOfAnotherProgramIsRefused) {
  make_database(folder_.store());
  ASSERT_TRUE(database().exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  const Error error = refused();
  EXPECT_EQ(error.code, Code::store_foreign);
  EXPECT_NE(error.text.find("nothing was changed"), std::string::npos);
}

TEST_F(OpenTest, StoreThatIsCutShortIsRefused) {
  make_store();
  ASSERT_TRUE(
      database().exec("CREATE TABLE filler(b); INSERT INTO filler VALUES(zeroblob(200000));"
                      "PRAGMA wal_checkpoint(TRUNCATE)"));
  ASSERT_EQ(truncate(folder_.store().c_str(), 50'000), 0);
  const Error error = refused();
  EXPECT_EQ(error.code, Code::store_damaged);
  EXPECT_NE(error.text.find("ebla fsck --repair"), std::string::npos) << error.text;
  ASSERT_EQ(truncate(folder_.store().c_str(), 5'000), 0);
  EXPECT_EQ(refused().code, Code::store_damaged);
  ASSERT_EQ(truncate(folder_.store().c_str(), 60), 0);
  EXPECT_EQ(refused().code, Code::store_damaged);
}

TEST_F(OpenTest, DamagedSchemaPageIsRefused) {
  make_store();
  ASSERT_TRUE(
      database().exec("CREATE TABLE one(a); CREATE TABLE two(b);"
                      "PRAGMA wal_checkpoint(TRUNCATE)"));
  std::string bytes = store_bytes();
  std::fill_n(bytes.begin() + 100, 200, '\x7f');
  write("store", bytes);
  EXPECT_EQ(refused().code, Code::store_damaged);
  std::fill_n(bytes.begin(), 16384, '\0');
  write("store", bytes);
  EXPECT_EQ(refused().code, Code::store_damaged);
}

TEST_F(OpenTest, LogWithoutItsDatabaseIsRefused) {
  write("store-wal", std::string(5000, 'w'));
  EXPECT_EQ(refused().code, Code::store_damaged);
}

TEST_F(OpenTest, UncleanStopIsNoticedAndRecovered) {
  make_store();
  {
    Database db = database();
    ASSERT_TRUE(db.exec("CREATE TABLE kept(a); INSERT INTO kept VALUES(1)"));
  }  // closed without a checkpoint, as if killed
  auto file = prepare_file(options_);
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_FALSE(file->clean);
  EXPECT_EQ(file->warning, "");
  EXPECT_EQ(database().scalar("SELECT count(*) FROM kept").value(), 1);
}

TEST_F(OpenTest, LogCutAnywhereLosesOnlyItsEnd) {
  make_store();
  {
    Database db = database();
    ASSERT_TRUE(db.exec("CREATE TABLE kept(a); PRAGMA wal_checkpoint(TRUNCATE)"));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(db.exec("INSERT INTO kept VALUES(1)"));
  }
  const std::string database_bytes = store_bytes();
  const std::string log = read_file(folder_.store() + "-wal", 1u << 26).value();
  ASSERT_EQ(log.size(), 32u + 3u * (24 + 16384));
  const size_t cuts[] = {0, 1, 31, 32, 40, 16'000, 32 + 16408, 32 + 16409, 40'000, log.size() - 1};
  for (const size_t cut : cuts) {
    std::filesystem::remove(folder_.store() + "-shm");
    write("store", database_bytes);
    write("store-wal", log.substr(0, cut));
    auto file = prepare_file(options_);
    ASSERT_TRUE(file) << cut << ": " << file.error().text;
    EXPECT_EQ(file->clean, cut == 0);
    const int64_t whole = cut < 32 ? 0 : static_cast<int64_t>((cut - 32) / 16408);
    EXPECT_EQ(database().scalar("SELECT count(*) FROM kept").value(), whole) << cut;
  }
}

TEST_F(OpenTest, GarbageInTheLogIsToldAndTheStoreOpens) {
  make_store();
  std::filesystem::remove(folder_.store() + "-shm");
  write("store-wal", sample_bytes(100'000, 9));
  auto file = prepare_file(options_);
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_FALSE(file->clean);
  EXPECT_NE(file->warning.find("damaged header"), std::string::npos) << file->warning;
  EXPECT_EQ(database().scalar("PRAGMA user_version").value(), newest_version(migrations()));
}

TEST_F(OpenTest, UnsafeFileSystemsAreRefusedUnlessAllowed) {
  const std::map<uint64_t, std::string> types{
      {0x6969, "NFS"}, {0x01021997, "9p"}, {0x65735546, "FUSE"}, {0xFF534D42, "CIFS"}};
  for (const auto& [type, name] : types) {
    options_.allow_unsafe_filesystem = false;
    options_.filesystem_type = [type = type](const std::string&) { return type; };
    const Error error = refused();
    EXPECT_EQ(error.code, Code::unsafe_filesystem);
    EXPECT_NE(error.text.find(name), std::string::npos) << error.text;
    options_.allow_unsafe_filesystem = true;
    auto file = prepare_file(options_);
    ASSERT_TRUE(file) << file.error().text;
    EXPECT_NE(file->warning.find(name), std::string::npos);
    for (const char* suffix : {"", "-wal", "-shm", ".lock"})
      std::filesystem::remove(folder_.store() + suffix);
  }
  EXPECT_EQ(unsafe_filesystem_name(0xEF53), nullptr);
}

TEST_F(OpenTest, ShortLivedFileSystemsAreToldOf) {
  options_.filesystem_type = [](const std::string&) { return uint64_t{0x01021994}; };
  auto file = prepare_file(options_);
  ASSERT_TRUE(file);
  EXPECT_NE(file->warning.find("tmpfs"), std::string::npos);
}

TEST_F(OpenTest, FolderWithoutAccessIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
    auto file = prepare_file(options_);
    _exit(!file && file.error().code == Code::permission_denied ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(OpenTest, ReadOnlyFileSystemIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  const char* path = folder_.path().c_str();
  if (mount("tmpfs", path, "tmpfs", 0, "size=8m") != 0) GTEST_SKIP() << "mounting is not allowed";
  make_store();
  EXPECT_EQ(mount("tmpfs", path, "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_EQ(refused().code, Code::read_only);
  EXPECT_EQ(umount(path), 0);
}

TEST_F(OpenTest, RelativePathIsRefused) {
  options_.path = "store";
  EXPECT_EQ(refused().code, Code::invalid_path);
}

TEST(Migrations, RunInOneTransactionAndOnlyWhatIsMissing) {
  StoreFolder folder;
  make_database(folder.store());
  Database db = open_database(folder.store());
  const Migration steps[] = {{1, "one", "CREATE TABLE one(a);"},
                             {2, "two", "CREATE TABLE two(a); INSERT INTO one VALUES(7);"}};
  EXPECT_TRUE(migrate(db, std::span(steps, 1)).value());
  EXPECT_EQ(db.scalar("PRAGMA user_version").value(), 1);
  EXPECT_TRUE(migrate(db, steps).value());
  EXPECT_EQ(db.scalar("SELECT count(*) FROM one").value(), 1);
  EXPECT_FALSE(migrate(db, steps).value());

  const Migration broken[] = {
      steps[0], steps[1], {3, "ok", "CREATE TABLE three(a);"}, {4, "bad", "CREATE TABLE two(a);"}};
  const auto failed = migrate(db, broken);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().text.find("version 4"), std::string::npos) << failed.error().text;
  EXPECT_EQ(db.scalar("PRAGMA user_version").value(), 2);
  EXPECT_EQ(db.scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'three'").value(), 0);
}

TEST(Migrations, EmbeddedOnesAreNumberedFromOne) {
  int64_t expected = 0;
  for (const Migration& step : migrations()) EXPECT_EQ(step.version, ++expected);
}

}  // namespace
}  // namespace ebla::sqlite::test
