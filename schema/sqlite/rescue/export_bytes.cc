#include "schema/sqlite/rescue/export_bytes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "schema/base/fd.h"
#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rescue/collect.h"
#include "schema/sqlite/rows.h"

namespace ebla::sqlite {
namespace {

using limits::kChunkBytes;

// A size beyond this behind the last byte that is there is taken for damage of the number.
constexpr uint64_t kTrustedGap = limits::kGiB;

struct Chunk {
  uint64_t index = 0;
  std::string bytes;
  bool whole = true;  // all of them, and they match their sum
};

// The chunks of a content, in order.
class Chunks {
 public:
  static Result<Chunks> open(PageFile& pages, Database& db, int64_t content) {
    auto rows =
        query(db, "SELECT key, sum, bytes FROM chunks WHERE key BETWEEN ? AND ? ORDER BY key",
              content << kChunkIndexBits, ((content + 1) << kChunkIndexBits) - 1);
    if (!rows) return std::unexpected(std::move(rows.error()));
    return Chunks(pages, std::move(*rows));
  }

  // False: no more.
  Result<bool> next(Chunk& chunk) {
    if (ended_) return false;
    auto row = rows_.step();
    if (!row) return row;
    ended_ = !*row;
    if (ended_) return false;
    chunk.index = rows_.uint64(0) & ((uint64_t{1} << kChunkIndexBits) - 1);
    chunk.bytes.clear();
    chunk.whole = false;
    Row stored;
    if (!read_row(pages_, place_of(rows_.bytes(2)), true, stored) || stored.values.size() != 3) {
      return true;
    }
    const RowValue& bytes = stored.values[2];
    chunk.bytes = bytes.bytes.substr(0, kChunkBytes);
    chunk.whole = !bytes.cut && xxh3_64(chunk.bytes) == rows_.uint64(1);
    return true;
  }

 private:
  Chunks(PageFile& pages, Statement rows) : pages_(pages), rows_(std::move(rows)) {}
  PageFile& pages_;
  Statement rows_;
  bool ended_ = false;
};

Result<void> write_at(int out, std::string_view bytes, uint64_t at) {
  if (bytes.empty()) return {};
  return pwrite_full(out, bytes, at);
}

Result<void> set_length(int out, uint64_t size) {
  if (ftruncate(out, static_cast<off_t>(size)) == 0) return {};
  return std::unexpected(errno_error(errno, "write a salvaged file"));
}

std::string range(uint64_t from, uint64_t to) {
  return fmt::format("bytes {} to {}", from, to);
}

// Copies a content's bytes [start, start + size) to `at` and says what was amiss. `dense`: every
// byte has to be there.
Result<uint64_t> copy_range(PageFile& pages, Database& db, int64_t content, uint64_t start,
                            uint64_t size, uint64_t at, bool dense, int out, SavedBytes& saved) {
  auto chunks = Chunks::open(pages, db, content);
  if (!chunks) return std::unexpected(std::move(chunks.error()));
  Chunk chunk;
  const uint64_t end = start + size;
  uint64_t done = start;
  while (true) {
    auto more = chunks->next(chunk);
    if (!more) return std::unexpected(std::move(more.error()));
    if (!*more) break;
    const uint64_t from = chunk.index * kChunkBytes;
    if (from >= end) break;
    if (from + kChunkBytes <= start) continue;
    if (dense && from > done)
      saved.losses.push_back(range(done - start, from - start) + " are missing");
    if (!chunk.whole) {
      saved.losses.push_back(fmt::format(
          "{} are damaged ({} of them could be read)",
          range(std::max(from, start) - start, std::min(from + kChunkBytes, end) - start),
          chunk.bytes.size()));
    }
    const size_t skip = start > from ? start - from : 0;
    std::string_view bytes = chunk.bytes;
    bytes = bytes.substr(std::min(skip, bytes.size()));
    bytes = bytes.substr(0, std::min<uint64_t>(bytes.size(), end - from - skip));
    if (auto put = write_at(out, bytes, at + from + skip - start); !put) {
      return std::unexpected(std::move(put.error()));
    }
    saved.bytes += bytes.size();
    saved.stored += chunk.bytes.size();
    done = std::max(done, from + skip + bytes.size());
    if (!chunk.whole) done = std::max(done, std::min(from + kChunkBytes, end));
  }
  if (dense && done < end) saved.losses.push_back(range(done - start, size) + " are missing");
  return done - start;
}

Result<void> save_history(PageFile& pages, Database& db, const SavedNode& node, int out,
                          SavedBytes& saved) {
  auto rows =
      query(db, "SELECT at, size, content, start FROM sections WHERE session = ? ORDER BY at",
            node.session);
  if (!rows) return std::unexpected(std::move(rows.error()));
  uint64_t end = 0;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    const uint64_t at = rows->uint64(0);
    const uint64_t size = std::min<uint64_t>(rows->uint64(1), limits::kFileBytes);
    if (at > end) saved.losses.push_back(range(end, at) + " are missing");
    SavedBytes part;
    auto copied = copy_range(pages, db, rows->int64(2), rows->uint64(3), size, at, true, out, part);
    if (!copied) return std::unexpected(std::move(copied.error()));
    saved.bytes += part.bytes;
    for (const std::string& loss : part.losses) {
      saved.losses.push_back(fmt::format("of the section at {}: {}", at, loss));
    }
    end = std::max(end, at + size);
  }
  if (end < node.size && node.size - end < kTrustedGap) {
    saved.losses.push_back(range(end, node.size) + " are missing");
    end = node.size;
  }
  return set_length(out, end);
}

// Where the last chunk of the content ends at most.
Result<uint64_t> chunk_end(Database& db, int64_t content) {
  auto row = query(db, "SELECT max(key) FROM chunks WHERE key BETWEEN ? AND ?",
                   content << kChunkIndexBits, ((content + 1) << kChunkIndexBits) - 1);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found || row->is_null(0)) return 0;
  return ((row->uint64(0) & ((uint64_t{1} << kChunkIndexBits) - 1)) + 1) * kChunkBytes;
}

}  // namespace

Result<SavedBytes> save_bytes(PageFile& pages, Database& db, const SavedNode& node, int out) {
  SavedBytes saved;
  if (node.hash.empty() && node.content != 0 && node.content == node.session) {
    if (auto done = save_history(pages, db, node, out, saved); !done) {
      return std::unexpected(std::move(done.error()));
    }
    return saved;
  }
  auto end = chunk_end(db, node.content);
  if (!end) return std::unexpected(std::move(end.error()));
  uint64_t size = node.size;
  const bool own = node.hash.empty();
  // A hole at the end of a client's file may have any length.
  if (size > limits::kFileBytes || (!own && size > *end + kTrustedGap)) {
    saved.losses.push_back(fmt::format("its size, {}, is damaged", size));
    size = *end;
  }
  if (node.content != 0) {
    auto copied = copy_range(pages, db, node.content, 0, size, 0, !own, out, saved);
    if (!copied) return std::unexpected(std::move(copied.error()));
  } else if (!own && size > 0) {
    saved.losses.emplace_back("its bytes are nowhere");
  }
  // Whether a chunk that is not there was a hole is told by the sum of all alone.
  if (own && saved.losses.empty() && saved.stored < node.raw && node.raw <= limits::kFileBytes) {
    saved.losses.push_back(
        fmt::format("{} of its {} stored bytes are missing", node.raw - saved.stored, node.raw));
  }
  if (auto done = set_length(out, size); !done) return std::unexpected(std::move(done.error()));
  return saved;
}

Result<SavedBytes> save_content(PageFile& pages, Database& db, int64_t content, int out) {
  auto end = chunk_end(db, content);
  if (!end) return std::unexpected(std::move(end.error()));
  SavedBytes saved;
  auto copied = copy_range(pages, db, content, 0, *end, 0, false, out, saved);
  if (!copied) return std::unexpected(std::move(copied.error()));
  return saved;
}

}  // namespace ebla::sqlite
