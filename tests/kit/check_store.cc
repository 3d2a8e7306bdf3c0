#include "tests/kit/check_store.h"

#include "schema/sqlite/check/checker.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/reader_pool.h"

namespace ebla::kit {

std::vector<std::string> check_store(const std::string& path) {
  std::vector<std::string> breaches;
  auto db = sqlite::Database::open(path, sqlite::Database::Mode::read_only);
  if (!db) return {db.error().text};
  sqlite::check::Checker checker(
      *db, {.found = [&](const Problem& problem) { breaches.push_back(problem.text); },
            .progress = [](std::string_view, uint64_t, uint64_t) {}});
  auto snapshot = sqlite::Snapshot::begin(*db);
  if (!snapshot) return {snapshot.error().text};
  if (auto well = checker.check_pages(true); !well) breaches.push_back(well.error().text);
  if (auto done = checker.run(); !done) breaches.push_back(done.error().text);
  return breaches;
}

}  // namespace ebla::kit
