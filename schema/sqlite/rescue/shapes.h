// What rows of each table look like: taken from the newest schema itself. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "schema/base/result.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/rescue/rows.h"

namespace ebla::sqlite {

struct Shape {
  struct Column {
    std::string name;
    bool blob = false;  // else a number
    bool may_be_null = false;
    bool may_lack = false;  // added later, with a default
    bool is_rowid = false;
  };
  std::string table;
  bool row_ids = true;  // false: the rows lie in an index of their key
  std::vector<Column> columns;

  // Whether a row could be one of this table.
  bool fits(const Row& row) const;
  // With a parameter for each of the first `count` columns.
  std::string insert(size_t count) const;
};

Result<std::vector<Shape>> shapes_of(Database& newest);

}  // namespace ebla::sqlite
