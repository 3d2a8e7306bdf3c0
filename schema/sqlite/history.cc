#include "schema/sqlite/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sessions.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

// Records the keys; returns how many are new.
Result<uint64_t> add_keys(Database& db, SessionId session, const std::vector<Hash128>& keys) {
  uint64_t added = 0;
  for (const Hash128& key : keys) {
    auto kept = execute(db, "INSERT OR IGNORE INTO section_keys(session, key) VALUES(?, ?)",
                        session, HashBytes(key).view());
    if (!kept) return std::unexpected(std::move(kept.error()));
    added += static_cast<uint64_t>(db.changes());
  }
  return added;
}

Result<bool> holds_key(Database& db, SessionId session, Hash128 key) {
  return exists(db, "SELECT 1 FROM section_keys WHERE session = ? AND key = ?", session,
                HashBytes(key).view());
}

Result<bool> holds_all(Database& db, SessionId session, const std::vector<Hash128>& keys) {
  for (const Hash128& key : keys) {
    auto held = holds_key(db, session, key);
    if (!held || !*held) return held;
  }
  return !keys.empty();
}

Result<void> check_section(const Section& section, const HistoryState& state) {
  if (!section.bytes.ends_with('\n')) {
    return fail(Code::invalid_params, "a section of a history ends with a line's end");
  }
  if (section.history_bytes != state.bytes) {
    return fail(Code::conflict,
                fmt::format("the history has {} bytes, the section was written for {}: write it "
                            "again",
                            state.bytes, section.history_bytes));
  }
  return {};
}

// The section's content, with its bytes in the store.
Result<ContentId> keep_bytes(Database& db, const Section& section, uint64_t id) {
  auto kept = section.staged != 0 ? unstage(db, section.staged)
                                  : insert_chunks(db, id, 0, section.bytes, section.sums);
  if (!kept) return std::unexpected(std::move(kept.error()));
  return section.staged != 0 ? section.staged : id;
}

Result<HistoryState> append(Database& db, const Section& section, int64_t now_ns,
                            ChangeSet& changes) {
  auto session = session_brief(db, section.session);
  if (!session) return std::unexpected(std::move(session.error()));
  auto known = holds_all(db, session->serial, section.keys);
  if (!known) return std::unexpected(std::move(known.error()));
  if (*known) {
    if (auto dropped = drop_staged(db, section.staged); !dropped) {
      return std::unexpected(std::move(dropped.error()));
    }
    return last_state(db, session->serial);
  }
  auto id = next_id(db);
  if (!id) return std::unexpected(std::move(id.error()));
  return grow_history(db, *session, section, *id, now_ns, changes);
}

// Stages one slice after the other. Each completion starts the next.
void stage_from(SqliteStore& store, std::shared_ptr<Section> section, ChangeOptions options,
                size_t at, std::move_only_function<void(Result<void>)> next) {
  if (at >= section->bytes.size()) return next({});
  std::string slice = section->bytes.substr(at, limits::kStageSliceBytes);
  const size_t after = at + slice.size();
  store.stage(section->staged, at, std::move(slice), options,
              [&store, section, options, after, next = std::move(next)](Result<ContentId> content,
                                                                        const ChangeSet&) mutable {
                if (!content) return next(std::unexpected(std::move(content.error())));
                section->staged = *content;
                stage_from(store, std::move(section), options, after, std::move(next));
              });
}

}  // namespace

Result<HistoryState> last_state(Database& db, SessionId session) {
  auto row = query(db,
                   "SELECT at + size, lines, sections, messages FROM sections WHERE session = ? "
                   "ORDER BY at DESC LIMIT 1",
                   session);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return HistoryState{};
  return HistoryState{.bytes = row->uint64(0),
                      .lines = row->uint64(1),
                      .sections = row->uint64(2),
                      .messages = row->uint64(3)};
}

Result<HistoryState> grow_history(Database& db, const Session& session, const Section& section,
                                  uint64_t id, int64_t now_ns, ChangeSet& changes) {
  const uint64_t size = section.bytes.size();
  auto state = last_state(db, session.serial);
  if (!state) return state;
  if (auto good = check_section(section, *state); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (state->bytes + size > limits::kFileBytes) {
    return fail(Code::too_large, fmt::format("a file has at most {} bytes", limits::kFileBytes));
  }
  auto content = keep_bytes(db, section, id);
  if (!content) return std::unexpected(std::move(content.error()));
  auto fresh = add_keys(db, session.serial, section.keys);
  if (!fresh) return std::unexpected(std::move(fresh.error()));
  const uint64_t at = state->bytes;
  *state = {.bytes = at + size,
            .lines = state->lines + section.lines,
            .sections = state->sections + 1,
            .messages = state->messages + *fresh};
  auto done = execute(db,
                      "INSERT INTO sections(id, session, at, size, hash, content, start, sections, "
                      "lines, messages, created_ns) VALUES(?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
                      id, session.serial, at, size, HashBytes(section.hash).view(), *content,
                      state->sections, state->lines, state->messages, now_ns);
  if (done) {
    done = execute(db,
                   "UPDATE inodes SET content = ?1, size = ?2, mtime_ns = ?3, ctime_ns = ?3, "
                   "change = change + 1 WHERE ino = ?4",
                   session.serial, state->bytes, now_ns, session.history);
  }
  const auto growth = static_cast<int64_t>(size);
  if (done) {
    done = add_usage(db, session.tree, {.logical_bytes = growth, .content_bytes = growth});
  }
  if (!done) return std::unexpected(std::move(done.error()));
  changes.tree = session.tree;
  changes.session = session.serial;
  changes.attributes.push_back(session.history);
  changes.ranges.push_back({.ino = session.history, .offset = at, .length = 0});
  return state;
}

Result<bool> read_history(Database& db, SessionId session, uint64_t offset, std::span<char> out) {
  auto rows = query(db,
                    "SELECT at, size, content, start FROM sections WHERE session = ?1 AND at >= "
                    "(SELECT max(at) FROM sections WHERE session = ?1 AND at <= ?2) AND at < ?3 "
                    "ORDER BY at",
                    session, offset, offset + out.size());
  if (!rows) return std::unexpected(std::move(rows.error()));
  // Neighbours in one content are read at once.
  ContentId content = 0;
  uint64_t from = 0;
  size_t length = 0;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    const uint64_t skipped = *row && rows->uint64(0) < offset ? offset - rows->uint64(0) : 0;
    const bool joins = *row && length > 0 && rows->uint64(2) == content &&
                       rows->uint64(3) + skipped == from + length;
    if (!joins && length > 0) {
      auto read = read_content(db, content, from, out.first(length));
      if (!read || !*read) return read;
      out = out.subspan(length);
      length = 0;
    }
    if (!*row) return out.empty();
    if (rows->uint64(0) + skipped != offset) return false;
    if (!joins) {
      content = rows->uint64(2);
      from = rows->uint64(3) + skipped;
    }
    const uint64_t count = std::min<uint64_t>(rows->uint64(1) - skipped, out.size() - length);
    length += count;
    offset += count;
  }
}

void SqliteStore::stage_section(std::shared_ptr<Section> section, ChangeOptions options,
                                std::move_only_function<void(Result<void>)> next) {
  section->hash = xxh3_128(section->bytes);
  if (section->bytes.size() <= limits::kInlineContentBytes) {
    section->sums = chunk_sums(section->bytes);
    return next({});
  }
  // Nobody waits for a slice: the last unit's sync makes all of them durable.
  options.durability = Durability::ordered;
  stage_from(*this, std::move(section), options, 0, std::move(next));
}

void SqliteStore::append_history(HistoryPlan plan, ChangeOptions options,
                                 Completion<HistoryState> done) {
  auto section = std::make_shared<Section>(Section{.session = plan.session,
                                                   .bytes = std::move(plan.section),
                                                   .lines = plan.section_lines,
                                                   .history_bytes = plan.history_bytes,
                                                   .keys = std::move(plan.keys),
                                                   .hash = {},
                                                   .sums = {},
                                                   .staged = 0});
  change_history<HistoryState>(std::move(section), options, std::move(done), append);
}

Result<HistoryState> SqliteStore::history_state(SessionId session) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto state = last_state(**reader, session);
  if (!state || state->sections > 0) return state;
  auto known = session_brief(**reader, session);
  if (!known) return std::unexpected(std::move(known.error()));
  return HistoryState{};
}

Result<std::vector<bool>> SqliteStore::history_holds(SessionId session,
                                                     std::span<const Hash128> keys) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto snapshot = Snapshot::begin(**reader);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  if (auto known = session_brief(**reader, session); !known) {
    return std::unexpected(std::move(known.error()));
  }
  std::vector<bool> held;
  held.reserve(keys.size());
  for (const Hash128& key : keys) {
    auto holds = holds_key(**reader, session, key);
    if (!holds) return std::unexpected(std::move(holds.error()));
    held.push_back(*holds);
  }
  return held;
}

}  // namespace ebla::sqlite
