// One pass over all chunks in the order of their keys, beside the list of who owns which content.
// Private to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "schema/base/result.h"
#include "schema/sqlite/check/rule.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite::check {

// What a content breaks, and how it is mended.
struct ChunkProblem {
  std::string_view kind;
  std::string path;
  std::string text;
  std::string_view done;  // what the mend does, for the one who reads that it was mended
  int64_t id = 0;         // what the mend gets as Offender::id
  MendFunction mend = nullptr;
};

struct ChunkPassOptions {
  bool bytes = true;  // read them and check sums and hashes
  std::function<void(ChunkProblem)> found;
  std::function<void(uint64_t chunks)> progress;
};

struct ChunkTotals {
  uint64_t chunks = 0;
  uint64_t bytes = 0;  // read and checked
};

// Needs fresh helper tables, and a database that does not change meanwhile.
Result<ChunkTotals> pass_chunks(Database& db, const ChunkPassOptions& options);

// Beside a daemon: sums of all chunks, and hashes of contents that never change, in transactions of
// some chunks each. What has gone meanwhile is no problem.
Result<ChunkTotals> pass_sums(Database& db, const ChunkPassOptions& options);

}  // namespace ebla::sqlite::check
