// Short sections become parts of whole chunks.
#include <algorithm>

#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/history.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

using limits::kChunkBytes;

// What one step does at most: a few milliseconds of the writer.
constexpr uint64_t kStepBytes = limits::kMiB;
constexpr size_t kStepSections = 1'024;

struct Short {
  uint64_t id = 0;
  uint64_t size = 0;
};

// Neighbours that fit into one chunk together and have one that does not fit behind them: the last
// ones of a history stay as they are, since more are to come.
struct Group {
  std::vector<Short> members;
  uint64_t bytes = 0;
  uint64_t next = 0;  // offset behind them
};

// The first group at or after `from`; without members when there is none.
Result<Group> find_group(Database& db, SessionId session, uint64_t from) {
  auto rows = query(db,
                    "SELECT id, at, size, content FROM sections WHERE session = ? AND at >= ? "
                    "ORDER BY at",
                    session, from);
  if (!rows) return std::unexpected(std::move(rows.error()));
  Group group;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return Group{};
    const uint64_t size = rows->uint64(2);
    const bool is_short = rows->uint64(0) == rows->uint64(3) && size < kChunkBytes;
    const bool fits = is_short && group.bytes + size <= kChunkBytes;
    if (!fits || group.members.size() == kStepSections) {
      if (group.members.size() > 1) return group;
      group = {};
    }
    if (!is_short) continue;
    group.members.push_back({.id = rows->uint64(0), .size = size});
    group.bytes += size;
    group.next = rows->uint64(1) + size;
  }
}

Result<void> fold(Database& db, const Group& group) {
  std::string bytes(group.bytes, '\0');
  size_t at = 0;
  for (const Short& one : group.members) {
    auto read = read_content(db, one.id, 0, std::span(bytes).subspan(at, one.size));
    if (!read) return std::unexpected(std::move(read.error()));
    if (!*read) return {};  // damaged: left as it is, so that the sections beside it stay readable
    at += one.size;
  }
  auto content = next_id(db);
  if (!content) return std::unexpected(std::move(content.error()));
  auto done = insert_chunks(db, *content, 0, bytes, chunk_sums(bytes));
  uint64_t start = 0;
  for (const Short& one : group.members) {
    if (done) {
      done = execute(db, "UPDATE sections SET content = ?, start = ? WHERE id = ?", *content, start,
                     one.id);
    }
    if (done) done = execute(db, "DELETE FROM chunks WHERE key = ?", chunk_key(one.id, 0));
    start += one.size;
  }
  return done;
}

}  // namespace

void HistoryFolds::note(SessionId session, uint64_t at, uint64_t size) {
  if (at / kChunkBytes == (at + size) / kChunkBytes) return;  // not yet a chunk's worth
  const uint64_t chunk = at / kChunkBytes * kChunkBytes;
  const uint64_t from = chunk - std::min<uint64_t>(chunk, kChunkBytes);
  const std::scoped_lock lock(mutex_);
  const auto [known, fresh] = from_.try_emplace(session, from);
  if (!fresh) known->second = std::min(known->second, from);
}

Result<bool> HistoryFolds::step(Database& db) {
  std::pair<SessionId, uint64_t> place;
  {
    const std::scoped_lock lock(mutex_);
    if (from_.empty()) return false;
    place = *from_.begin();
    from_.erase(from_.begin());
  }
  uint64_t bytes = 0;
  size_t sections = 0;
  while (bytes < kStepBytes && sections < kStepSections) {
    auto group = find_group(db, place.first, place.second);
    if (!group) return std::unexpected(std::move(group.error()));
    if (group->members.empty()) {
      const std::scoped_lock lock(mutex_);
      return !from_.empty();
    }
    if (auto folded = fold(db, *group); !folded) return std::unexpected(std::move(folded.error()));
    bytes += group->bytes;
    sections += group->members.size();
    place.second = group->next;
  }
  const std::scoped_lock lock(mutex_);
  const auto [known, fresh] = from_.try_emplace(place.first, place.second);
  if (!fresh) known->second = std::min(known->second, place.second);
  return true;
}

}  // namespace ebla::sqlite
