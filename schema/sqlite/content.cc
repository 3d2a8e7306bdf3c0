#include "schema/sqlite/content.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/base/hash.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

using limits::kChunkBytes;

constexpr uint64_t kFreeStepChunks = limits::kMiB / kChunkBytes;
// Free pages that stay for what comes next: 1 MiB, and an eighth of a large store.
constexpr int64_t kKeptFreePages = 64;
constexpr int64_t kKeptFreeShare = 8;
constexpr uint64_t kCompareStepChunks = 8 * limits::kMiB / kChunkBytes;

int64_t as_signed(uint64_t value) {
  return static_cast<int64_t>(value);
}

// Among these chunks other bytes were found. False, or corrupt: they are not what was stored.
Result<bool> differ(Database& db, const HeldContent& content, uint64_t first, uint64_t count) {
  auto rows = query(db, "SELECT sum, bytes FROM chunks WHERE key >= ? AND key < ?",
                    chunk_key(content.content, first), chunk_key(content.content, first + count));
  if (!rows) return std::unexpected(std::move(rows.error()));
  uint64_t size = std::min(content.size - first * kChunkBytes, count * kChunkBytes);
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    const std::string_view held = rows->bytes(1);
    if (xxh3_64(held) != rows->uint64(0) || held.size() > size) break;
    size -= held.size();
  }
  if (size == 0) return false;
  return fail(Code::corrupt, fmt::format("content {} is damaged", content.content));
}

// Compares a content with bytes in memory.
Result<bool> equal_to_bytes(Database& db, ContentId content, std::string_view bytes) {
  auto rows = query(db, "SELECT bytes FROM chunks WHERE key BETWEEN ? AND ? ORDER BY key",
                    chunk_key(content, 0), chunk_key(content + 1, 0) - 1);
  if (!rows) return std::unexpected(std::move(rows.error()));
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return bytes.empty();
    const std::string_view held = rows->bytes(0);
    if (!bytes.starts_with(held)) return false;
    bytes.remove_prefix(held.size());
  }
}

// Compares at most kCompareStepChunks chunks of two contents from `first` on.
Result<bool> equal_chunks(Database& db, ContentId one, ContentId other, uint64_t first,
                          uint64_t count) {
  auto rows = query(db,
                    "SELECT count(*) FROM chunks a JOIN chunks b ON b.key = a.key + ?1 "
                    "WHERE a.key >= ?2 AND a.key < ?3 AND a.sum = b.sum AND a.bytes = b.bytes",
                    as_signed(chunk_key(other, 0)) - as_signed(chunk_key(one, 0)),
                    chunk_key(one, first), chunk_key(one, first + count));
  if (!rows) return std::unexpected(std::move(rows.error()));
  auto row = rows->step();
  if (!row) return std::unexpected(std::move(row.error()));
  return rows->uint64(0) == count;
}

// Closes the handle, which ends its read transaction.
struct BlobCloser {
  void operator()(sqlite3_blob* blob) const { sqlite3_blob_close(blob); }
};

}  // namespace

std::vector<uint64_t> chunk_sums(std::string_view bytes) {
  std::vector<uint64_t> sums;
  sums.reserve(bytes.size() / kChunkBytes + 1);
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    sums.push_back(xxh3_64(bytes.substr(at, kChunkBytes)));
  }
  return sums;
}

Result<void> insert_chunks(Database& db, ContentId content, uint64_t offset, std::string_view bytes,
                           const std::vector<uint64_t>& sums) {
  uint64_t index = offset / kChunkBytes;
  for (const uint64_t sum : sums) {
    const std::string_view chunk = bytes.substr(0, kChunkBytes);
    auto inserted = execute(db, "INSERT INTO chunks(key, sum, bytes) VALUES(?, ?, ?)",
                            chunk_key(content, index++), sum, chunk);
    if (!inserted) return inserted;
    bytes.remove_prefix(chunk.size());
  }
  return {};
}

Result<std::vector<HeldContent>> contents_of_hash(Database& db, Hash128 hash) {
  const HashBytes key(hash);
  auto rows = query(db, "SELECT content, size FROM contents WHERE hash = ?", key.view());
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::vector<HeldContent> held;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return held;
    held.push_back({rows->uint64(0), rows->uint64(1)});
  }
}

Result<bool> equal_bytes(Database& db, const HeldContent& held, const ContentRef& wanted) {
  if (held.size != wanted.size) return false;
  const uint64_t chunks = (held.size + kChunkBytes - 1) / kChunkBytes;
  if (wanted.staged == 0) {
    auto equal = equal_to_bytes(db, held.content, wanted.bytes);
    return !equal || *equal ? equal : differ(db, held, 0, chunks);
  }
  for (uint64_t first = 0; first < chunks; first += kCompareStepChunks) {
    const uint64_t count = std::min(kCompareStepChunks, chunks - first);
    auto equal = equal_chunks(db, held.content, wanted.staged, first, count);
    if (!equal) return equal;
    if (!*equal) return differ(db, held, first, count);
  }
  return true;
}

Result<void> share_content(Database& db, Hash128 hash, ContentId content) {
  return execute(db, "UPDATE contents SET refs = refs + 1 WHERE hash = ? AND content = ?",
                 HashBytes(hash).view(), content);
}

Result<void> add_content(Database& db, SessionId tree, Hash128 hash, ContentId content,
                         uint64_t size) {
  return execute(db, "INSERT INTO contents(hash, content, size, refs, tree) VALUES(?, ?, ?, 1, ?)",
                 HashBytes(hash).view(), content, size, tree);
}

Result<void> release_content(Database& db, Hash128 hash, ContentId content) {
  const HashBytes key(hash);
  uint64_t size = 0;
  SessionId tree = 0;
  {
    auto row = query(db,
                     "UPDATE contents SET refs = refs - 1 WHERE hash = ? AND content = ? "
                     "RETURNING refs, size, tree",
                     key.view(), content);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    if (!*found) return fail(Code::corrupt, fmt::format("content {} is not listed", content));
    if (row->int64(0) > 0) return {};
    size = row->uint64(1);
    tree = row->uint64(2);
  }
  if (auto gone =
          execute(db, "DELETE FROM contents WHERE hash = ? AND content = ?", key.view(), content);
      !gone) {
    return gone;
  }
  if (auto freed = execute(db, "INSERT INTO freed(content) VALUES(?)", content); !freed) {
    return freed;
  }
  return add_usage(db, tree, {.content_bytes = -as_signed(size)});
}

Result<uint64_t> staged_size(Database& db, ContentId content) {
  auto row = query(db, "SELECT size FROM staged WHERE content = ?", content);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) {
    return fail(Code::file_not_found,
                fmt::format("content {} is not staged: send it again", content));
  }
  return row->uint64(0);
}

Result<void> unstage(Database& db, ContentId content) {
  return execute(db, "DELETE FROM staged WHERE content = ?", content);
}

Result<void> drop_staged(Database& db, ContentId content) {
  auto gone = unstage(db, content);
  if (!gone || db.changes() == 0) return gone;
  return execute(db, "INSERT INTO freed(content) VALUES(?)", content);
}

Result<bool> free_step(Database& db) {
  ContentId content = 0;
  {
    auto row = query(db, "SELECT content FROM freed LIMIT 1");
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found || !*found) return found;
    content = row->uint64(0);
  }
  auto cut = execute(db,
                     "DELETE FROM chunks WHERE key IN "
                     "(SELECT key FROM chunks WHERE key BETWEEN ? AND ? LIMIT ?)",
                     chunk_key(content, 0), chunk_key(content + 1, 0) - 1, kFreeStepChunks);
  if (!cut) return std::unexpected(std::move(cut.error()));
  if (static_cast<uint64_t>(db.changes()) < kFreeStepChunks) {
    auto done = execute(db, "DELETE FROM freed WHERE content = ?", content);
    if (!done) return std::unexpected(std::move(done.error()));
  }
  return true;
}

Result<bool> vacuum_step(Database& db) {
  auto free = db.scalar("PRAGMA freelist_count");
  if (!free) return std::unexpected(std::move(free.error()));
  auto pages = db.scalar("PRAGMA page_count");
  if (!pages) return std::unexpected(std::move(pages.error()));
  if (*free <= std::max(kKeptFreePages, *pages / kKeptFreeShare)) return false;
  if (auto done = db.exec("PRAGMA incremental_vacuum(16)"); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return true;
}

Result<bool> read_content(Database& db, ContentId content, uint64_t offset, std::span<char> out) {
  while (!out.empty()) {
    const uint64_t key = chunk_key(content, offset / kChunkBytes);
    const size_t within = offset % kChunkBytes;
    auto row = query(db, "SELECT sum FROM chunks WHERE key = ?", key);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found || !*found) return found;

    // Blob reads copy from the page cache to the caller's buffer, with nothing between.
    sqlite3_blob* handle = nullptr;
    int rc = sqlite3_blob_open(db.handle(), "main", "chunks", "bytes", static_cast<int64_t>(key), 0,
                               &handle);
    const std::unique_ptr<sqlite3_blob, BlobCloser> blob(handle);
    if (rc != SQLITE_OK) return std::unexpected(db.error("read a chunk"));
    const auto held = static_cast<size_t>(sqlite3_blob_bytes(handle));
    if (held <= within) return false;
    const size_t count = std::min(out.size(), held - within);
    if (count < out.size() && held != kChunkBytes) return false;  // not the last one, and short
    rc = sqlite3_blob_read(handle, out.data(), static_cast<int>(count), static_cast<int>(within));
    if (rc != SQLITE_OK) return std::unexpected(db.error("read a chunk"));
    if (count == held && xxh3_64({out.data(), count}) != row->uint64(0)) return false;
    out = out.subspan(count);
    offset += count;
  }
  return true;
}

}  // namespace ebla::sqlite
