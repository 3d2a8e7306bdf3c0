#include "schema/sqlite/migrations.h"

#include <fmt/format.h>

namespace ebla::sqlite {

int64_t newest_version(std::span<const Migration> steps) {
  return steps.empty() ? 0 : steps.back().version;
}

Result<bool> migrate(Database& db, std::span<const Migration> steps) {
  const auto version = db.scalar("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*version >= newest_version(steps)) return false;

  if (auto begun = db.exec("BEGIN IMMEDIATE"); !begun) return std::unexpected(begun.error());
  const auto run = [&]() -> Result<void> {
    for (const Migration& step : steps) {
      if (step.version <= *version) continue;
      if (auto done = db.exec(step.sql); !done) {
        Error error = done.error();
        error.text = fmt::format("bring the store to version {}: {}", step.version, error.text);
        return std::unexpected(std::move(error));
      }
    }
    const std::string set = fmt::format("PRAGMA user_version={}", newest_version(steps));
    if (auto done = db.exec(set.c_str()); !done) return done;
    return db.exec("COMMIT");
  };
  if (auto done = run(); !done) {
    (void)db.exec("ROLLBACK");
    return std::unexpected(std::move(done.error()));
  }
  return true;
}

}  // namespace ebla::sqlite
