// The pass over bytes beside a daemon that goes on writing.
#include <fmt/format.h>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/sqlite/check/chunk_pass.h"
#include "schema/sqlite/check/helpers.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"

namespace ebla::sqlite::check {
namespace {

// 4 MiB: some milliseconds, far below what a reader may hold a snapshot.
constexpr int kSliceChunks = 32;

// Who has the content now; empty: nobody any more.
std::string holder(Database& db, int64_t content) {
  auto row = query(db,
                   "SELECT ino FROM inodes WHERE content = ?1 AND content <> session UNION ALL "
                   "SELECT s.history FROM sections x JOIN sessions s ON s.serial = x.session "
                   "WHERE x.content = ?1 LIMIT 1",
                   content);
  if (!row || !row->step().value_or(false)) return "";
  return path_of(db, row->int64(0));
}

// A content that never changes, while its chunks go by.
struct Whole {
  int64_t content = 0;
  std::string hash;  // empty: not one of those, or told already
  Hasher128 hasher;
};

class Sums {
 public:
  Sums(Database& db, const ChunkPassOptions& options) : db_(db), options_(options) {}

  // The chunks after the last one, in one transaction. False: there are no more.
  Result<bool> slice() {
    auto rows = query(db_, "SELECT key, sum, bytes FROM chunks WHERE key > ? ORDER BY key LIMIT ?",
                      last_, kSliceChunks);
    if (!rows) return std::unexpected(std::move(rows.error()));
    bool any = false;
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) break;
      any = true;
      last_ = rows->int64(0);
      if (auto looked = look(last_ >> kChunkIndexBits, rows->uint64(1), rows->bytes(2)); !looked) {
        return std::unexpected(std::move(looked.error()));
      }
    }
    if (!any) end_whole();
    options_.progress(totals_.chunks);
    return any;
  }

  ChunkTotals totals() const { return totals_; }

 private:
  Result<void> look(int64_t content, uint64_t sum, std::string_view bytes) {
    ++totals_.chunks;
    totals_.bytes += bytes.size();
    if (content != whole_.content) {
      end_whole();
      whole_ = {.content = content, .hash = "", .hasher = {}};
      auto row = query(db_, "SELECT hash FROM temp.owners WHERE content = ? AND kind = 0", content);
      if (!row) return std::unexpected(std::move(row.error()));
      if (row->step().value_or(false)) whole_.hash = row->string(0);
    }
    whole_.hasher.update(bytes);
    if (xxh3_64(bytes) == sum || content == told_) return {};
    tell("sum", " is damaged: its bytes do not match their sums");
    return {};
  }

  void end_whole() {
    if (whole_.hash.empty() || whole_.content == told_) return;
    if (HashBytes(whole_.hasher.digest()).view() == whole_.hash) return;
    tell("hash", " is damaged: its bytes do not have its hash");
  }

  void tell(std::string_view kind, std::string_view what) {
    told_ = whole_.content;
    std::string path = holder(db_, whole_.content);
    if (path.empty()) return;
    std::string text = path + std::string(what);
    options_.found({kind, std::move(path), std::move(text), "", 0, nullptr});
  }

  Database& db_;
  const ChunkPassOptions& options_;
  int64_t last_ = -1;
  int64_t told_ = 0;
  Whole whole_;
  ChunkTotals totals_;
};

}  // namespace

Result<ChunkTotals> pass_sums(Database& db, const ChunkPassOptions& options) {
  Sums sums(db, options);
  while (true) {
    auto more = sums.slice();
    if (!more) return std::unexpected(std::move(more.error()));
    if (!*more) return sums.totals();
  }
}

}  // namespace ebla::sqlite::check
