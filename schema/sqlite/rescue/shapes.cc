#include "schema/sqlite/rescue/shapes.h"

#include <fmt/format.h>

namespace ebla::sqlite {
namespace {

Result<void> add_columns(Database& db, Shape& shape) {
  auto rows =
      db.prepare_once(fmt::format("SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk FROM "
                                  "pragma_table_info('{}') ORDER BY cid",
                                  shape.table)
                          .c_str());
  if (!rows) return std::unexpected(std::move(rows.error()));
  int keys = 0;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    const bool key = rows->int64(4) != 0;
    keys += key ? 1 : 0;
    shape.columns.push_back({.name = rows->string(0),
                             .blob = rows->bytes(1) != "INTEGER",
                             .may_be_null = rows->int64(2) == 0 && !key,
                             .may_lack = rows->int64(3) != 0,
                             .is_rowid = key});
  }
  for (Shape::Column& column : shape.columns) {
    column.is_rowid = column.is_rowid && shape.row_ids && keys == 1 && !column.blob;
  }
  return {};
}

}  // namespace

bool Shape::fits(const Row& row) const {
  if (row.values.size() > columns.size()) return false;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    if (i >= row.values.size()) {
      if (!column.may_lack) return false;
      continue;
    }
    using enum RowValue::Kind;
    const RowValue& value = row.values[i];
    if (value.kind == null) {
      if (!column.may_be_null && !column.is_rowid) return false;
    } else if (column.blob ? value.kind != blob : value.kind != integer) {
      return false;
    }
  }
  return true;
}

std::string Shape::insert(size_t count) const {
  std::string names;
  std::string marks;
  for (size_t i = 0; i < count; ++i) {
    names += (i == 0 ? "" : ", ") + columns[i].name;
    marks += i == 0 ? "?" : ", ?";
  }
  return fmt::format("INSERT OR IGNORE INTO {}({}) VALUES({})", table, names, marks);
}

Result<std::vector<Shape>> shapes_of(Database& newest) {
  std::vector<Shape> shapes;
  {
    auto rows = newest.prepare_once(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
        "AND name NOT LIKE 'sqlite_%' ORDER BY name");
    if (!rows) return std::unexpected(std::move(rows.error()));
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) break;
      shapes.push_back({.table = rows->string(0), .row_ids = rows->int64(1) == 0, .columns = {}});
    }
  }
  for (Shape& shape : shapes) {
    if (auto added = add_columns(newest, shape); !added) {
      return std::unexpected(std::move(added.error()));
    }
  }
  return shapes;
}

}  // namespace ebla::sqlite
