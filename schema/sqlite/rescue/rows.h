// Rows in pages of SQLite's format, parsed so that no damage can lead astray. Private to this
// folder and to check/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/sqlite/rescue/page_file.h"

namespace ebla::sqlite {

struct RowValue {
  enum class Kind { null, integer, real, text, blob };
  Kind kind = Kind::null;
  int64_t integer = 0;
  std::string_view bytes;  // what of it could be read
  bool cut = false;        // not all of it
};

// Where a row lies.
struct RowPlace {
  uint32_t page = 0;
  uint16_t cell = 0;
};

struct Row {
  RowPlace place;
  int64_t rowid = 0;  // of a table with row ids
  std::vector<RowValue> values;
  std::string payload;  // what the values point into
};

enum class PageKind { none, table_leaf, table_inner, index_leaf, index_inner };
PageKind page_kind(PageFile& pages, uint32_t number);
// Cells of the page; 0 for one without.
uint16_t cell_count(PageFile& pages, uint32_t number);
// Reads a row; `whole` false: of a long one only what lies on its own page. False: it makes no
// sense.
bool read_row(PageFile& pages, RowPlace place, bool whole, Row& row);

struct WalkResult {
  std::vector<uint32_t> damaged;  // pages whose rows, or the ones below, were not found
  uint64_t bad_rows = 0;
};
// Calls `each` for every row below the root; marks the pages in `seen`, none is walked twice.
WalkResult walk_rows(PageFile& pages, uint32_t root, bool whole, std::vector<bool>& seen,
                     const std::function<void(const Row&)>& each);
// The same for the rows of one page alone.
void page_rows(PageFile& pages, uint32_t number, bool whole,
               const std::function<void(const Row&)>& each, WalkResult& result);

}  // namespace ebla::sqlite
