#include "schema/sqlite/check/rebuild.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "schema/base/fd.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/rescue/collect.h"
#include "schema/sqlite/store_file.h"

namespace ebla::sqlite::check {
namespace {

constexpr int kKeptTries = 1'000;

void remove_database(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((path + suffix).c_str());
}

Result<Collected> fill(const std::string& path, const std::string& fresh, bool foreign,
                       const std::function<void(uint64_t, uint64_t)>& progress) {
  auto pages = PageFile::open(path);
  if (!pages) return std::unexpected(std::move(pages.error()));
  if (foreign && !pages->header_damaged()) return fail(Code::store_foreign, path + " is no store");
  if (auto made = create_store(fresh); !made) return std::unexpected(std::move(made.error()));
  auto db = Database::open(fresh, Database::Mode::read_write);
  if (!db) return std::unexpected(std::move(db.error()));
  // Nobody sees it before it is whole and synced.
  auto set = db->exec("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF");
  if (!set) return std::unexpected(std::move(set.error()));
  auto collected = collect_rows(*pages, *db, {.bytes = true, .progress = progress});
  if (!collected) return collected;
  if (auto log = db->exec("PRAGMA journal_mode=WAL"); !log) {
    return std::unexpected(std::move(log.error()));
  }
  return collected;
}

Result<void> sync_file(const std::string& path) {
  auto file = open_file(path, O_RDWR);
  if (!file) return std::unexpected(std::move(file.error()));
  if (fsync(file->get()) != 0) return std::unexpected(errno_error(errno, "sync " + path));
  return {};
}

std::string kept_name(const std::string& path, int number) {
  return number == 1 ? path + ".damaged" : fmt::format("{}.damaged.{}", path, number);
}

// A second name for the file; the first one that is free.
Result<std::string> keep(const std::string& path) {
  for (int i = 1; i < kKeptTries; ++i) {
    const std::string kept = kept_name(path, i);
    if (link(path.c_str(), kept.c_str()) == 0) return kept;
    if (errno != EEXIST) return std::unexpected(errno_error(errno, "keep the damaged " + path));
  }
  return fail(Code::already_exists,
              fmt::format("there are {} damaged copies beside {}: remove some", kKeptTries, path));
}

// The old log must be gone before the new database has the name: it belongs to the old one. Until
// then the store has two names, and no daemon opens it.
Result<std::string> swap(const std::string& path, const std::string& fresh) {
  auto kept = keep(path);
  if (!kept) return kept;
  const std::string log = path + "-wal";
  if (rename(log.c_str(), (*kept + "-wal").c_str()) != 0 && errno != ENOENT) {
    return std::unexpected(errno_error(errno, "keep the log " + log));
  }
  unlink((path + "-shm").c_str());
  if (rename(fresh.c_str(), path.c_str()) != 0) {
    return std::unexpected(errno_error(errno, "put the new database in place of " + path));
  }
  if (auto synced = sync_folder_of(path); !synced) {
    return std::unexpected(std::move(synced.error()));
  }
  return kept;
}

}  // namespace

void undo_interrupted(const std::string& path) {
  struct stat store{};
  if (stat(path.c_str(), &store) != 0 || store.st_nlink < 2) return;
  struct stat kept{};
  for (int i = 1; i < kKeptTries && stat(kept_name(path, i).c_str(), &kept) == 0; ++i) {
    if (kept.st_ino != store.st_ino || kept.st_dev != store.st_dev) continue;
    const std::string name = kept_name(path, i);
    // RENAME_NOREPLACE: a log that is still in its place is the right one.
    (void)renameat2(AT_FDCWD, (name + "-wal").c_str(), AT_FDCWD, (path + "-wal").c_str(),
                    RENAME_NOREPLACE);
    unlink(name.c_str());
    return;
  }
}

Result<Rebuilt> rebuild_store(const std::string& path, bool foreign,
                              const std::function<void(uint64_t done, uint64_t total)>& progress) {
  const std::string fresh = path + ".rebuilt";
  remove_database(fresh);
  auto collected = fill(path, fresh, foreign, progress);
  Result<std::string> kept;
  if (!collected) {
    kept = std::unexpected(std::move(collected.error()));
  } else if (collected->rows == 0) {
    kept = fail(Code::store_foreign, path + " holds no row of a store of Ebla");
  } else if (auto synced = sync_file(fresh); !synced) {
    kept = std::unexpected(std::move(synced.error()));
  } else {
    for (const char* suffix : {"-wal", "-shm"}) unlink((fresh + suffix).c_str());
    kept = swap(path, fresh);
  }
  if (!kept) {
    remove_database(fresh);
    return std::unexpected(std::move(kept.error()));
  }
  return Rebuilt{
      .rows = collected->rows, .kept = std::move(*kept), .notes = std::move(collected->notes)};
}

}  // namespace ebla::sqlite::check
