// Brings the rows of a damaged store into a sound, empty one. Private to this folder and to check/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schema/base/result.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/rescue/rows.h"

namespace ebla::sqlite {

struct CollectOptions {
  // False: chunks get 8 bytes in place of theirs, which say where they lie (place_of).
  bool bytes = true;
  std::function<void(uint64_t done, uint64_t total)> progress = [](uint64_t, uint64_t) {};
};

struct Collected {
  uint64_t rows = 0;
  std::vector<std::string> notes;  // what could not be read, one sentence each
};

// `target` has the tables of the newest version, empty. Rows are found from each table's root; when
// pages on the way are damaged, also in pages that nothing leads to any more, by their shape. Of
// two rows with one key the first counts, so that old copies never win.
Result<Collected> collect_rows(PageFile& pages, Database& target, const CollectOptions& options);

std::string place_bytes(RowPlace place);
RowPlace place_of(std::string_view bytes);

}  // namespace ebla::sqlite
