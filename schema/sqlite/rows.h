// Short forms for one statement with its parameters, and how rows become values. Private to this
// folder.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

#include "schema/base/hash.h"
#include "schema/base/result.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"

// The columns that to_attr reads, of a table that the statement calls `i`.
#define EBLA_ATTR_COLUMNS                                                                 \
  "i.ino, i.kind, i.mode, i.nlink, i.uid, i.gid, i.rdev, i.size, i.content, i.atime_ns, " \
  "i.mtime_ns, i.ctime_ns, i.flags, i.change, i.raw"

namespace ebla::sqlite {

// Number of columns of EBLA_ATTR_COLUMNS: the next one of a statement has this index.
inline constexpr int kAttrColumns = 15;
inline constexpr Ino kRootIno = 1;
inline constexpr Ino kResultsIno = 2;
inline constexpr Ino kHistoriesIno = 3;

// A hash in its stored form. A temporary lives long enough for execute(), not for query().
class HashBytes {
 public:
  explicit HashBytes(Hash128 hash) : bytes_(hash.bytes()) {}
  std::string_view view() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::array<uint8_t, 16> bytes_;
};

inline Hash128 to_hash(std::string_view bytes) {
  if (bytes.size() != 16) return {};
  return Hash128::from_bytes(reinterpret_cast<const uint8_t*>(bytes.data()));
}

inline void bind_one(Statement& statement, std::string_view blob) {
  statement.bind_blob(blob);
}
inline void bind_one(Statement& statement, std::nullptr_t) {
  statement.bind_null();
}
template <std::integral T>
void bind_one(Statement& statement, T number) {
  statement.bind(static_cast<int64_t>(number));
}

// A bound statement, not yet stepped. Strings are blobs and must outlive it.
template <class... A>
Result<Statement> query(Database& db, const char* sql, const A&... parameters) {
  auto statement = db.prepare(sql);
  if (statement) (bind_one(*statement, parameters), ...);
  return statement;
}

template <class... A>
Result<void> execute(Database& db, const char* sql, const A&... parameters) {
  auto statement = query(db, sql, parameters...);
  if (!statement) return std::unexpected(std::move(statement.error()));
  return statement->run();
}

// Whether the statement has a row.
template <class... A>
Result<bool> exists(Database& db, const char* sql, const A&... parameters) {
  auto statement = query(db, sql, parameters...);
  if (!statement) return std::unexpected(std::move(statement.error()));
  return statement->step();
}

inline Attr to_attr(const Statement& row) {
  Attr attr;
  attr.ino = row.uint64(0);
  attr.kind = static_cast<NodeKind>(row.int64(1));
  attr.mode = static_cast<uint32_t>(row.int64(2));
  attr.nlink = static_cast<uint32_t>(row.int64(3));
  attr.uid = static_cast<uint32_t>(row.int64(4));
  attr.gid = static_cast<uint32_t>(row.int64(5));
  attr.rdev = row.uint64(6);
  attr.size = row.uint64(7);
  attr.atime_ns = row.int64(9);
  attr.mtime_ns = row.int64(10);
  attr.ctime_ns = row.int64(11);
  attr.flags = static_cast<uint32_t>(row.int64(12));
  attr.change = row.uint64(13);
  // What the daemon keeps is held once, but in full.
  const bool whole = (attr.flags & kNodeProtected) != 0;
  attr.raw_bytes = !whole ? row.uint64(14) : row.int64(8) != 0 ? attr.size : 0;
  return attr;
}

}  // namespace ebla::sqlite
