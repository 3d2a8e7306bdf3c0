// Bytes of one file, from the pages of a damaged store. Private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/base/result.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/rescue/page_file.h"

namespace ebla::sqlite {

struct SavedNode {
  int64_t ino = 0;
  int64_t kind = 0;
  uint64_t size = 0;
  int64_t content = 0;
  std::string hash;  // empty: none
  int64_t session = 0;
  uint64_t raw = 0;
  int64_t flags = 0;
};

struct SavedBytes {
  uint64_t bytes = 0;               // written
  uint64_t stored = 0;              // lengths of the chunks that were found
  std::vector<std::string> losses;  // one phrase each
};

// Writes the node's bytes to the descriptor and sets its length. Holes stay holes.
Result<SavedBytes> save_bytes(PageFile& pages, Database& db, const SavedNode& node, int out);
// All that a content has that nobody owns any more.
Result<SavedBytes> save_content(PageFile& pages, Database& db, int64_t content, int out);

}  // namespace ebla::sqlite
