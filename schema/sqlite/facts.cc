// Small values that outlive the process.
#include <fmt/format.h>

#include "schema/base/limits.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"

namespace ebla::sqlite {
namespace {

Result<void> keep_fact(Database& db, std::string_view name,
                       const std::optional<std::string>& value) {
  if (name.empty() || name.size() > limits::kFactNameBytes) {
    return fail(Code::invalid_params,
                fmt::format("the name of a fact has 1 to {} bytes", limits::kFactNameBytes));
  }
  if (!value) return execute(db, "DELETE FROM facts WHERE name = ?", name);
  if (value->size() > limits::kFactBytes) {
    return fail(Code::too_large, fmt::format("a fact has at most {} bytes", limits::kFactBytes));
  }
  return execute(db,
                 "INSERT INTO facts(name, value) VALUES(?, ?) "
                 "ON CONFLICT(name) DO UPDATE SET value = excluded.value",
                 name, std::string_view(*value));
}

}  // namespace

Result<std::optional<std::string>> SqliteStore::fact(std::string_view name) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto row = query(**reader, "SELECT value FROM facts WHERE name = ?", name);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  return row->string(0);
}

void SqliteStore::set_fact(std::string name, std::optional<std::string> value,
                           ChangeOptions options, Completion<void> done) {
  const Growth growth = value ? Growth::yes : Growth::no;
  change(options, growth, std::move(done),
         [name = std::move(name), value = std::move(value)](Database& db, ChangeSet&) {
           return keep_fact(db, name, value);
         });
}

}  // namespace ebla::sqlite
