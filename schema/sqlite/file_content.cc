#include "schema/sqlite/file_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

using limits::kChunkBytes;

constexpr uint64_t kSmallestRoom = 4096;  // of a chunk that grows
// Cutting so many chunks off a file that keeps few moves the few, and leaves the rest to idle work.
constexpr uint64_t kManyChunks = 512;
constexpr uint64_t kFewChunks = 64;

struct FileRow {
  Ino ino = 0;
  ContentId content = 0;
  uint64_t size = 0;
  uint64_t raw = 0;
  uint32_t mode = 0;
  uint64_t change = 0;
  uint64_t layer = 0;
  SessionId tree = 0;
};

Result<std::optional<FileRow>> file_row(Database& db, Ino ino) {
  auto row =
      query(db,
            "SELECT i.content, i.size, i.raw, i.mode, i.change, i.layer, s.tree FROM inodes i "
            "LEFT JOIN sessions s ON s.serial = i.session WHERE i.ino = ?",
            ino);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  FileRow file;
  file.ino = ino;
  file.content = row->uint64(0);
  file.size = row->uint64(1);
  file.raw = row->uint64(2);
  file.mode = static_cast<uint32_t>(row->int64(3));
  file.change = row->uint64(4);
  file.layer = row->uint64(5);
  file.tree = row->uint64(6);
  return file;
}

// nullopt: a hole.
Result<std::optional<std::string>> read_chunk(Database& db, const FileRow& file, uint64_t index) {
  if (file.content == 0) return std::nullopt;
  auto row =
      query(db, "SELECT sum, bytes FROM chunks WHERE key = ?", chunk_key(file.content, index));
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  std::string bytes = row->string(1);
  if (xxh3_64(bytes) != row->uint64(0)) {
    return fail(
        Code::io_error,
        fmt::format("node {} is damaged in the store: what is there cannot be changed", file.ino));
  }
  return bytes;
}

Result<void> put_chunk(Database& db, FileRow& file, uint64_t index, uint64_t held,
                       std::string_view bytes) {
  if (file.content == 0) {
    auto id = next_id(db);
    if (!id) return std::unexpected(std::move(id.error()));
    file.content = *id;
  }
  file.raw += bytes.size() - held;
  // Of a row that keeps its length SQLite writes only the pages that differ.
  return execute(db,
                 "INSERT INTO chunks(key, sum, bytes) VALUES(?, ?, ?) ON CONFLICT(key) DO UPDATE "
                 "SET sum = excluded.sum, bytes = excluded.bytes",
                 chunk_key(file.content, index), xxh3_64(bytes), bytes);
}

// Deletes the chunks [first, end).
Result<void> delete_chunks(Database& db, FileRow& file, uint64_t first, uint64_t end) {
  if (file.content == 0 || first >= end) return {};
  const uint64_t from = chunk_key(file.content, first);
  const uint64_t to = chunk_key(file.content, 0) + end;
  {
    auto row =
        query(db, "SELECT ifnull(sum(length(bytes)), 0) FROM chunks WHERE key >= ? AND key < ?",
              from, to);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    if (row->uint64(0) == 0) return {};
    file.raw -= row->uint64(0);
  }
  return execute(db, "DELETE FROM chunks WHERE key >= ? AND key < ?", from, to);
}

// Makes [from, to) of one chunk zeros.
Result<void> zero_within(Database& db, FileRow& file, uint64_t index, uint64_t from, uint64_t to) {
  auto bytes = read_chunk(db, file, index);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  if (!*bytes || (*bytes)->size() <= from) return {};
  std::string& chunk = **bytes;
  const uint64_t held = chunk.size();
  if (to >= held) {
    chunk.resize(from);
  } else {
    std::fill(chunk.begin() + static_cast<ptrdiff_t>(from),
              chunk.begin() + static_cast<ptrdiff_t>(to), '\0');
  }
  if (chunk.empty()) return delete_chunks(db, file, index, index + 1);
  return put_chunk(db, file, index, held, chunk);
}

Result<void> zero_range(Database& db, FileRow& file, uint64_t offset, uint64_t end) {
  const uint64_t first = (offset + kChunkBytes - 1) / kChunkBytes;
  const uint64_t last = end / kChunkBytes;
  if (offset % kChunkBytes != 0) {
    const uint64_t index = offset / kChunkBytes;
    const uint64_t to = std::min(end - index * kChunkBytes, kChunkBytes);
    if (auto done = zero_within(db, file, index, offset % kChunkBytes, to); !done) return done;
  }
  if (auto done = delete_chunks(db, file, first, last); !done) return done;
  if (last < first || end % kChunkBytes == 0) return {};
  return zero_within(db, file, last, 0, end % kChunkBytes);
}

// The chunks before `count` become a new content; the old one is freed, with what is left of it.
Result<void> move_chunks(Database& db, FileRow& file, uint64_t count) {
  auto id = next_id(db);
  if (!id) return std::unexpected(std::move(id.error()));
  const uint64_t from = chunk_key(file.content, 0);
  {
    auto row =
        query(db, "SELECT ifnull(sum(length(bytes)), 0) FROM chunks WHERE key >= ? AND key < ?",
              from, from + count);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = row->step();
    if (!found) return std::unexpected(std::move(found.error()));
    file.raw = row->uint64(0);
  }
  if (auto moved = execute(db, "UPDATE chunks SET key = key + ? WHERE key >= ? AND key < ?",
                           chunk_key(*id, 0) - from, from, from + count);
      !moved) {
    return moved;
  }
  auto freed = execute(db, "INSERT INTO freed(content) VALUES(?)", file.content);
  file.content = file.raw == 0 ? 0 : *id;
  return freed;
}

Result<void> cut_content(Database& db, FileRow& file, uint64_t at) {
  if (file.content == 0 || at >= file.size) return {};
  const uint64_t kept = (at + kChunkBytes - 1) / kChunkBytes;
  const uint64_t all = (file.size + kChunkBytes - 1) / kChunkBytes;
  if (at == 0 || (all - kept > kManyChunks && kept <= kFewChunks)) {
    if (auto moved = move_chunks(db, file, kept); !moved) return moved;
  } else if (auto gone = delete_chunks(db, file, kept, all); !gone) {
    return gone;
  }
  if (at % kChunkBytes == 0) return {};
  return zero_within(db, file, at / kChunkBytes, at % kChunkBytes, kChunkBytes);
}

using Piece = std::pair<uint64_t, std::string_view>;  // offset within the chunk, bytes

// New bytes of one chunk, in order and without overlap.
Result<void> write_pieces(Database& db, FileRow& file, uint64_t index,
                          const std::vector<Piece>& pieces) {
  if (pieces.size() == 1 && pieces.front().second.size() == kChunkBytes) {
    uint64_t held = 0;
    if (file.content != 0) {
      auto row = query(db, "SELECT length(bytes) FROM chunks WHERE key = ?",
                       chunk_key(file.content, index));
      if (!row) return std::unexpected(std::move(row.error()));
      auto found = row->step();
      if (!found) return std::unexpected(std::move(found.error()));
      if (*found) held = row->uint64(0);
    }
    return put_chunk(db, file, index, held, pieces.front().second);
  }
  auto before = read_chunk(db, file, index);
  if (!before) return std::unexpected(std::move(before.error()));
  std::string chunk = std::move(*before).value_or("");
  const uint64_t held = chunk.size();
  const uint64_t needed = pieces.back().first + pieces.back().second.size();
  if (needed > held) {
    // One that grows again gets room, so that the next bytes do not move all others.
    const uint64_t room = std::max(std::bit_ceil(needed), kSmallestRoom);
    chunk.resize(held == 0 ? needed : std::min<uint64_t>(room, kChunkBytes));
  }
  for (const auto& [within, bytes] : pieces) chunk.replace(within, bytes.size(), bytes);
  return put_chunk(db, file, index, held, chunk);
}

Result<void> write_extents(Database& db, FileRow& file, const Layer& layer) {
  std::vector<Piece> pieces;
  uint64_t index = 0;
  const auto flush = [&]() -> Result<void> {
    if (pieces.empty()) return {};
    auto written = write_pieces(db, file, index, pieces);
    pieces.clear();
    return written;
  };
  for (const auto& [offset, extent] : layer.extents()) {
    if (extent.zeros != 0) {
      auto done = flush();
      if (done) done = zero_range(db, file, offset, offset + extent.zeros);
      if (!done) return done;
      continue;
    }
    if (!pieces.empty() && offset / kChunkBytes != index) {
      if (auto done = flush(); !done) return done;
    }
    index = offset / kChunkBytes;
    pieces.emplace_back(offset % kChunkBytes, extent.bytes);
  }
  return flush();
}

}  // namespace

Result<bool> read_file_content(Database& db, ContentId content, uint64_t offset,
                               std::span<char> out) {
  const uint64_t end = offset + out.size();
  uint64_t done = offset;
  const auto fill_to = [&](uint64_t at) {
    if (at > done) std::memset(out.data() + (done - offset), 0, at - done);
    done = std::max(done, at);
  };
  if (content == 0 || out.empty()) {
    fill_to(end);
    return true;
  }
  auto rows =
      query(db, "SELECT key, sum, bytes FROM chunks WHERE key BETWEEN ? AND ?",
            chunk_key(content, offset / kChunkBytes), chunk_key(content, (end - 1) / kChunkBytes));
  if (!rows) return std::unexpected(std::move(rows.error()));
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    const std::string_view bytes = rows->bytes(2);
    const uint64_t start = (rows->uint64(0) - chunk_key(content, 0)) * kChunkBytes;
    const uint64_t from = std::max(start, offset);
    const uint64_t to = std::min(start + bytes.size(), end);
    if (from >= to) continue;
    if (from == start && to == start + bytes.size() && xxh3_64(bytes) != rows->uint64(1)) {
      return false;
    }
    fill_to(from);
    bytes.copy(out.data() + (from - offset), to - from, from - start);
    done = to;
  }
  fill_to(end);
  return true;
}

Result<std::optional<uint64_t>> find_in_content(Database& db, ContentId content, uint64_t offset,
                                                SeekTo to) {
  if (content == 0) {
    if (to == SeekTo::hole) return offset;
    return std::nullopt;
  }
  auto rows = query(db, "SELECT key, length(bytes) FROM chunks WHERE key BETWEEN ? AND ?",
                    chunk_key(content, offset / kChunkBytes), chunk_key(content + 1, 0) - 1);
  if (!rows) return std::unexpected(std::move(rows.error()));
  uint64_t at = offset;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    const uint64_t start = (rows->uint64(0) - chunk_key(content, 0)) * kChunkBytes;
    const uint64_t end = start + rows->uint64(1);
    if (end <= at) continue;
    if (to == SeekTo::data) return std::max(at, start);
    if (start > at) break;
    at = end;
  }
  if (to == SeekTo::data) return std::nullopt;
  return at;
}

Result<uint64_t> write_layer(Database& db, Ino ino, const Layer& layer, ChangeSet& changes) {
  auto row = file_row(db, ino);
  if (!row) return std::unexpected(std::move(row.error()));
  // By an earlier unit of this transaction: once more would undo what came between.
  if (!*row || (*row)->layer == layer.mark()) return 0;
  FileRow& file = **row;
  const auto size_before = static_cast<int64_t>(file.size);
  auto done = cut_content(db, file, layer.cut_at());
  if (done) done = write_extents(db, file, layer);
  if (layer.drop_privileges) file.mode &= (file.mode & 010) != 0 ? ~06000u : ~04000u;
  const uint64_t change = file.change + layer.changes;
  if (done) {
    done = execute(db,
                   "UPDATE inodes SET content = ?, size = ?, raw = ?, mode = ?, mtime_ns = ?, "
                   "ctime_ns = max(ctime_ns, ?), change = ?, layer = ? WHERE ino = ?",
                   file.content, layer.size, file.raw, file.mode, layer.time_ns, layer.time_ns,
                   change, layer.mark(), ino);
  }
  const int64_t growth = static_cast<int64_t>(layer.size) - size_before;
  if (done && growth != 0) done = add_usage(db, file.tree, {.logical_bytes = growth});
  if (!done) return std::unexpected(std::move(done.error()));
  if (file.raw != layer.raw_bytes) changes.attributes.push_back(ino);
  return change;
}

}  // namespace ebla::sqlite
