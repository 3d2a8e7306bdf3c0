// Contents that sections of histories lie in.
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

struct Part {
  int64_t id = 0;
  uint64_t start = 0;
  uint64_t size = 0;
};

Result<std::vector<Part>> parts_of(Database& db, int64_t content) {
  auto rows = query(db, "SELECT id, start, size FROM sections WHERE content = ? ORDER BY start, id",
                    content);
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::vector<Part> parts;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return parts;
    parts.push_back({rows->int64(0), rows->uint64(1), rows->uint64(2)});
  }
}

// A long section: its size is what is there, hash and sums follow. What lacks in between is zeros.
Result<bool> settle_one(const Mend& mend, int64_t content, const Part& part) {
  Database& db = mend.db;
  const int64_t first = content << kChunkIndexBits;
  std::vector<std::pair<int64_t, std::string>> filled;
  Hasher128 hasher;
  uint64_t at = 0;
  {
    auto rows = query(db,
                      "SELECT key - ?1, bytes, sum FROM chunks WHERE key BETWEEN ?1 AND ?2 "
                      "ORDER BY key",
                      first, first + (1 << kChunkIndexBits) - 1);
    if (!rows) return std::unexpected(std::move(rows.error()));
    const auto pad_to = [&](uint64_t end) {
      // Only ever up to a border of chunks, or to the end.
      while (at < end) {
        const auto index = static_cast<int64_t>(at / kChunkBytes);
        const size_t room = std::min<uint64_t>(kChunkBytes - at % kChunkBytes, end - at);
        if (filled.empty() || filled.back().first != index) filled.emplace_back(index, "");
        filled.back().second.append(room, '\0');
        hasher.update(std::string(room, '\0'));
        at += room;
      }
    };
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) break;
      const auto from = static_cast<uint64_t>(rows->int64(0)) * kChunkBytes;
      const bool gap = from > at;
      if (gap && from - at > limits::kGiB) return false;
      pad_to(from);
      const std::string_view bytes = rows->bytes(1);
      hasher.update(bytes);
      at = from + bytes.size();
      if (xxh3_64(bytes) != rows->uint64(2) || bytes.size() < kChunkBytes) {
        filled.emplace_back(rows->int64(0), std::string(bytes));
      }
    }
    if (part.size > at && part.size - at < limits::kMiB * 16) pad_to(part.size);
  }
  Result<void> done;
  for (const auto& [index, bytes] : filled) {
    if (!done) break;
    done = execute(db,
                   "INSERT INTO chunks(key, sum, bytes) VALUES(?, ?, ?) ON CONFLICT(key) DO UPDATE "
                   "SET sum = excluded.sum, bytes = excluded.bytes",
                   first + index, xxh3_64(bytes), bytes);
  }
  if (done) {
    done = execute(db, "UPDATE sections SET start = 0, size = ?, hash = ? WHERE id = ?", at,
                   HashBytes(hasher.digest()).view(), part.id);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

// What the part says is its own, zeros where nothing is.
std::string bytes_of(const std::string& all, const Part& part) {
  const uint64_t size = std::min<uint64_t>(part.size, kChunkBytes);
  std::string bytes = part.start < all.size() ? all.substr(part.start, size) : std::string();
  bytes.resize(size, '\0');
  return bytes;
}

Result<void> update_part(Database& db, const Part& part, int64_t content, uint64_t start,
                         std::string_view bytes) {
  return execute(db, "UPDATE sections SET content = ?, start = ?, size = ?, hash = ? WHERE id = ?",
                 content, start, bytes.size(), HashBytes(xxh3_128(bytes)).view(), part.id);
}

// Short sections that share one chunk move into a new one; a chunk with bytes that none of them has
// becomes a file of the lost folder.
Result<bool> settle_many(const Mend& mend, int64_t content, const std::vector<Part>& parts) {
  Database& db = mend.db;
  const int64_t first = content << kChunkIndexBits;
  std::string all;
  {
    auto row = query(db, "SELECT bytes FROM chunks WHERE key = ?", first);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return found;
    if (*found) all = row->string(0);
  }
  std::string moved;
  std::vector<bool> used(all.size());
  std::vector<std::string> own;
  for (const Part& part : parts) {
    own.push_back(bytes_of(all, part));
    for (uint64_t i = part.start; i < part.start + part.size && i < used.size(); ++i)
      used[i] = true;
    moved += own.back();
  }
  auto fresh = next_id(db);
  if (!fresh) return std::unexpected(std::move(fresh.error()));
  auto done = insert_chunks(db, *fresh, 0, moved, chunk_sums(moved));
  uint64_t start = 0;
  for (size_t i = 0; i < parts.size() && done; ++i) {
    done = update_part(db, parts[i], static_cast<int64_t>(*fresh), start, own[i]);
    start += own[i].size();
  }
  if (!done) return std::unexpected(std::move(done.error()));
  if (std::ranges::find(used, false) != used.end()) return adopt_content(mend, content);
  done = execute(db, "INSERT OR IGNORE INTO freed(content) VALUES(?)", content);
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

// Where a history has room for a section that is not there.
struct Gap {
  int64_t session = 0;
  uint64_t at = 0;
  int64_t before = 0;  // numbers of the sections beside it
  int64_t behind = 0;
  int64_t sections = 0;  // counts up to the one before
  int64_t lines = 0;
  int64_t messages = 0;
};

Result<std::optional<Gap>> find_gap(Database& db, int64_t content, uint64_t bytes) {
  // Between two sections, before the first one, or behind the last.
  auto rows = query(
      db,
      "SELECT session, start, before, id, sections, lines, messages FROM (SELECT session, at, id, "
      "lag(at + size, 1, 0) OVER w AS start, lag(id, 1, 0) OVER w AS before, lag(sections, 1, 0) "
      "OVER w AS sections, lag(lines, 1, 0) OVER w AS lines, lag(messages, 1, 0) OVER w AS "
      "messages "
      "FROM sections WINDOW w AS (PARTITION BY session ORDER BY at)) "
      "WHERE at - start = ?1 AND before < ?2 AND id > ?2 UNION ALL "
      "SELECT s.serial, ifnull(x.at + x.size, 0), ifnull(x.id, 0), 9223372036854775807, "
      "ifnull(x.sections, 0), ifnull(x.lines, 0), ifnull(x.messages, 0) FROM sessions s "
      "JOIN inodes i ON i.ino = s.history LEFT JOIN sections x ON x.session = s.serial AND x.at = "
      "(SELECT max(at) FROM sections y WHERE y.session = s.serial) "
      "WHERE i.size - ifnull(x.at + x.size, 0) = ?1 AND max(ifnull(x.id, 0), s.serial) < ?2",
      bytes, content);
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::optional<Gap> gap;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return gap;
    // Two that fit would be a guess.
    if (gap) return std::nullopt;
    gap = Gap{rows->int64(0), rows->uint64(1), rows->int64(2), rows->int64(3),
              rows->int64(4), rows->int64(5),  rows->int64(6)};
  }
}

struct Found {
  uint64_t bytes = 0;
  int64_t lines = 0;
  bool whole = true;  // chunks are full and have their sums
  Hash128 hash;
};

Result<Found> look_at(Database& db, int64_t content) {
  const int64_t first = content << kChunkIndexBits;
  auto rows = query(db,
                    "SELECT key - ?1, bytes, sum FROM chunks WHERE key BETWEEN ?1 AND ?2 "
                    "ORDER BY key",
                    first, first + (1 << kChunkIndexBits) - 1);
  if (!rows) return std::unexpected(std::move(rows.error()));
  Found found;
  Hasher128 hasher;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    const std::string_view bytes = rows->bytes(1);
    found.whole = found.whole && rows->uint64(0) * kChunkBytes == found.bytes &&
                  xxh3_64(bytes) == rows->uint64(2);
    found.bytes += bytes.size();
    found.lines += std::ranges::count(bytes, '\n');
    hasher.update(bytes);
  }
  found.hash = hasher.digest();
  return found;
}

}  // namespace

Result<bool> restore_section(const Mend& mend, int64_t content) {
  Database& db = mend.db;
  auto found = look_at(db, content);
  if (!found) return std::unexpected(std::move(found.error()));
  if (!found->whole || found->bytes == 0) return false;
  auto gap = find_gap(db, content, found->bytes);
  if (!gap) return std::unexpected(std::move(gap.error()));
  if (!*gap) return false;
  const Gap& at = **gap;
  // A pass of this place has the number of its section.
  auto done = execute(
      db,
      "INSERT INTO sections(id, session, at, size, hash, content, start, sections, "
      "lines, messages, created_ns) VALUES(ifnull((SELECT id FROM passes WHERE "
      "session = ?1 AND id > ?2 AND id < ?3 AND id NOT IN (SELECT id FROM sections) "
      "ORDER BY id LIMIT 1), ?4), ?1, ?5, ?6, ?7, ?4, 0, ?8 + 1, ?9, ?10, ?11)",
      at.session, at.before, at.behind, content, at.at, found->bytes, HashBytes(found->hash).view(),
      at.sections, at.lines + found->lines, at.messages, mend.now_ns);
  if (!done) return std::unexpected(std::move(done.error()));
  return true;
}

Result<bool> settle_sections(const Mend& mend, int64_t content) {
  auto parts = parts_of(mend.db, content);
  if (!parts) return std::unexpected(std::move(parts.error()));
  if (parts->empty()) return true;
  if (parts->size() == 1) return settle_one(mend, content, parts->front());
  return settle_many(mend, content, *parts);
}

}  // namespace ebla::sqlite::check
