// Mends of contents: what the store says about bytes is made to fit the bytes.
#include <algorithm>
#include <optional>
#include <vector>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite::check {
namespace {

using limits::kChunkBytes;

// More than this is not filled with zeros: the size is what was damaged then.
constexpr uint64_t kFilledBytes = limits::kGiB;

int64_t first_key(int64_t content) {
  return content << kChunkIndexBits;
}
int64_t last_key(int64_t content) {
  return first_key(content) + (1 << kChunkIndexBits) - 1;
}

struct Bytes {
  uint64_t end = 0;   // of the last chunk, counted from the content's begin
  bool whole = true;  // no chunk is missing or short before the last
  Hash128 hash;       // of all chunks one after the other
};

Result<Bytes> look_at(Database& db, int64_t content) {
  auto rows = query(db, "SELECT key, bytes FROM chunks WHERE key BETWEEN ? AND ? ORDER BY key",
                    first_key(content), last_key(content));
  if (!rows) return std::unexpected(std::move(rows.error()));
  Bytes seen;
  Hasher128 hasher;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    const auto from = static_cast<uint64_t>(rows->int64(0) - first_key(content)) * kChunkBytes;
    if (from != seen.end) seen.whole = false;
    const std::string_view bytes = rows->bytes(1);
    hasher.update(bytes);
    seen.end = from + bytes.size();
  }
  seen.hash = hasher.digest();
  return seen;
}

// Every chunk up to `size` is there and full, zeros where none was, and has its sum.
Result<void> fill(Database& db, int64_t content, uint64_t size) {
  for (uint64_t at = 0, index = 0; at < size; at += kChunkBytes, ++index) {
    const int64_t key = first_key(content) + static_cast<int64_t>(index);
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(kChunkBytes, size - at));
    std::string bytes;
    std::optional<uint64_t> sum;
    {
      auto row = query(db, "SELECT sum, bytes FROM chunks WHERE key = ?", key);
      if (!row) return std::unexpected(std::move(row.error()));
      auto found = row->step();
      if (!found) return std::unexpected(std::move(found.error()));
      if (*found) {
        sum = row->uint64(0);
        bytes = row->string(1);
      }
    }
    const bool same = bytes.size() == wanted;
    bytes.resize(wanted, '\0');
    const uint64_t real = xxh3_64(bytes);
    if (same && sum == real) continue;
    auto put = execute(db,
                       "INSERT INTO chunks(key, sum, bytes) VALUES(?, ?, ?) ON CONFLICT(key) DO "
                       "UPDATE SET sum = excluded.sum, bytes = excluded.bytes",
                       key, real, bytes);
    if (!put) return put;
  }
  return {};
}

struct Claims {
  std::vector<uint64_t> sizes;
  std::vector<std::string> hashes;
};

Result<Claims> claims_of(Database& db, int64_t content) {
  auto rows =
      query(db,
            "SELECT size, hash FROM contents WHERE content = ?1 UNION ALL SELECT size, hash "
            "FROM inodes WHERE content = ?1 AND hash IS NOT NULL UNION ALL SELECT size, "
            "hash FROM evictions WHERE content = ?1 AND ino <> 0",
            content);
  if (!rows) return std::unexpected(std::move(rows.error()));
  Claims claims;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return claims;
    claims.sizes.push_back(rows->uint64(0));
    claims.hashes.push_back(rows->string(1));
  }
}

// The size that the content has, or had before it was damaged.
uint64_t likely_size(const Bytes& seen, const Claims& claims) {
  const HashBytes hash(seen.hash);
  if (seen.whole && std::ranges::find(claims.hashes, hash.view()) != claims.hashes.end()) {
    return seen.end;
  }
  uint64_t size = 0;
  for (const uint64_t claimed : claims.sizes) {
    if (claimed < seen.end || claimed > seen.end + kFilledBytes) continue;
    if (size == 0 || claimed < size) size = claimed;
  }
  return size == 0 ? seen.end : size;
}

Result<void> settle_decisions(const Mend& mend, int64_t content, std::string_view hash,
                              uint64_t size) {
  std::vector<int64_t> ids;
  {
    auto rows = query(mend.db,
                      "SELECT id FROM evictions WHERE content = ? AND ino <> 0 "
                      "AND (hash <> ? OR size <> ?)",
                      content, hash, size);
    if (!rows) return std::unexpected(std::move(rows.error()));
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) break;
      ids.push_back(rows->int64(0));
    }
  }
  Result<void> done;
  for (const int64_t id : ids) {
    done = execute(mend.db,
                   "DELETE FROM eviction_keys WHERE eviction = ?1 AND (tree, hash) = (SELECT tree, "
                   "hash FROM evictions WHERE id = ?1)",
                   id);
    if (done) {
      done =
          execute(mend.db, "UPDATE evictions SET hash = ?, size = ? WHERE id = ?", hash, size, id);
    }
    if (done) done = write_keys(mend, id);
    if (!done) break;
  }
  return done;
}

}  // namespace

Result<bool> settle_content(const Mend& mend, int64_t content) {
  Database& db = mend.db;
  auto seen = look_at(db, content);
  if (!seen) return std::unexpected(std::move(seen.error()));
  auto claims = claims_of(db, content);
  if (!claims) return std::unexpected(std::move(claims.error()));
  const uint64_t size = likely_size(*seen, *claims);
  auto done = fill(db, content, size);
  if (!done) return std::unexpected(std::move(done.error()));
  seen = look_at(db, content);
  if (!seen) return std::unexpected(std::move(seen.error()));
  const HashBytes hash(seen->hash);
  done =
      execute(db,
              "INSERT INTO contents(hash, content, size, refs, tree) SELECT ?2, ?1, ?3, 0, "
              "ifnull((SELECT tree FROM contents WHERE content = ?1), ifnull((SELECT s.tree FROM "
              "inodes i JOIN sessions s ON s.serial = i.session WHERE i.content = ?1 LIMIT 1), "
              "0)) WHERE NOT EXISTS (SELECT 1 FROM contents WHERE content = ?1)",
              content, hash.view(), size);
  if (done) {
    done = execute(db,
                   "UPDATE contents SET hash = ?2, size = ?3, refs = (SELECT count(*) FROM "
                   "inodes WHERE content = ?1 AND hash IS NOT NULL) WHERE content = ?1",
                   content, hash.view(), size);
  }
  if (done) {
    done = execute(db,
                   "UPDATE inodes SET hash = ?2, size = ?3, change = change + 1 WHERE content = ?1 "
                   "AND hash IS NOT NULL AND (hash <> ?2 OR size <> ?3)",
                   content, hash.view(), size);
  }
  if (done) done = settle_decisions(mend, content, hash.view(), size);
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

Result<bool> settle_file(const Mend& mend, int64_t ino) {
  Database& db = mend.db;
  int64_t content = 0;
  uint64_t size = 0;
  {
    auto row = query(db, "SELECT content, size FROM inodes WHERE ino = ?", ino);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return found;
    if (!*found) return true;
    content = row->int64(0);
    size = row->uint64(1);
  }
  uint64_t end = size;
  std::vector<std::pair<int64_t, uint64_t>> sums;  // keys whose sum is another
  {
    auto rows =
        query(db, "SELECT key, sum, bytes FROM chunks WHERE key BETWEEN ? AND ? ORDER BY key",
              first_key(content), last_key(content));
    if (!rows) return std::unexpected(std::move(rows.error()));
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) break;
      const std::string_view bytes = rows->bytes(2);
      if (bytes.size() > kChunkBytes) return false;
      const int64_t key = rows->int64(0);
      if (const uint64_t sum = xxh3_64(bytes); sum != rows->uint64(1)) sums.emplace_back(key, sum);
      // Bytes behind the end are bytes of the file; zeros there are room for more.
      const auto from = static_cast<uint64_t>(key - first_key(content)) * kChunkBytes;
      const size_t last = bytes.find_last_not_of('\0');
      if (last != std::string_view::npos) end = std::max<uint64_t>(end, from + last + 1);
    }
  }
  Result<void> done;
  for (const auto& [key, sum] : sums) {
    if (done) done = execute(db, "UPDATE chunks SET sum = ? WHERE key = ?", sum, key);
  }
  if (done) {
    done = execute(db,
                   "DELETE FROM chunks WHERE key BETWEEN ?1 AND ?2 AND (length(bytes) = 0 OR "
                   "key - ?1 >= ?3)",
                   first_key(content), last_key(content), (end + kChunkBytes - 1) / kChunkBytes);
  }
  if (done) {
    done = execute(db,
                   "UPDATE inodes SET size = ?4, change = change + 1, raw = (SELECT "
                   "ifnull(sum(length(bytes)), 0) FROM chunks WHERE key BETWEEN ?1 AND ?2) "
                   "WHERE ino = ?3",
                   first_key(content), last_key(content), ino, end);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

Result<bool> copy_content(const Mend& mend, int64_t ino) {
  Database& db = mend.db;
  auto fresh = next_id(db);
  if (!fresh) return std::unexpected(std::move(fresh.error()));
  auto row = query(db, "SELECT content FROM inodes WHERE ino = ?", ino);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found || !*found) return found;
  const int64_t content = row->int64(0);
  if (auto end = row->run(); !end) return std::unexpected(std::move(end.error()));
  auto done = execute(db,
                      "INSERT INTO chunks SELECT key + ?3, sum, bytes FROM chunks "
                      "WHERE key BETWEEN ?1 AND ?2",
                      first_key(content), last_key(content),
                      first_key(static_cast<int64_t>(*fresh)) - first_key(content));
  if (done) done = execute(db, "UPDATE inodes SET content = ? WHERE ino = ?", *fresh, ino);
  if (!done) return std::unexpected(std::move(done.error()));
  return settle_file(mend, ino);
}

}  // namespace ebla::sqlite::check
