// Passes: the bytes that stand for the first messages of a list, found by what those are.
#include <fmt/format.h>

#include <algorithm>

#include "schema/sqlite/content.h"
#include "schema/sqlite/history.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sessions.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

#define EBLA_PASS_COLUMNS "id, session, prefix, messages, message_identity, tokens_after, pinned"

namespace ebla::sqlite {
namespace {

constexpr size_t kIndexBytes = 8;

// Eight bytes each, the high one first.
std::string pack(const std::vector<uint64_t>& indexes) {
  std::string bytes;
  bytes.reserve(indexes.size() * kIndexBytes);
  for (const uint64_t index : indexes) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      bytes += static_cast<char>(static_cast<uint8_t>(index >> shift));
    }
  }
  return bytes;
}

std::vector<uint64_t> unpack(std::string_view bytes) {
  std::vector<uint64_t> indexes(bytes.size() / kIndexBytes);
  for (size_t i = 0; i < indexes.size() * kIndexBytes; ++i) {
    uint64_t& index = indexes[i / kIndexBytes];
    index = index << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return indexes;
}

Pass to_pass(const Statement& row) {
  return {.id = row.uint64(0),
          .session = row.uint64(1),
          .prefix = to_hash(row.bytes(2)),
          .messages = row.uint64(3),
          .pinned = unpack(row.bytes(6)),
          .message_identity = to_hash(row.bytes(4)),
          .tokens_after = row.uint64(5),
          .known = false};
}

Result<std::optional<Pass>> known_pass(Database& db, SessionId tree, Hash128 prefix) {
  const HashBytes key(prefix);
  auto row = query(db, "SELECT " EBLA_PASS_COLUMNS " FROM passes WHERE tree = ? AND prefix = ?",
                   tree, key.view());
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  Pass pass = to_pass(*row);
  pass.known = true;
  return pass;
}

// `plan` without what the section has taken from it.
Result<Pass> commit(Database& db, const PassPlan& plan, const Section& section, int64_t now_ns,
                    ChangeSet& changes) {
  auto session = session_brief(db, plan.session);
  if (!session) return std::unexpected(std::move(session.error()));
  auto known = known_pass(db, session->tree, plan.prefix);
  if (!known) return std::unexpected(std::move(known.error()));
  if (*known) {
    auto dropped = drop_staged(db, section.staged);
    if (!dropped) return std::unexpected(std::move(dropped.error()));
    return std::move(**known);
  }
  auto id = next_id(db);
  if (!id) return std::unexpected(std::move(id.error()));
  if (auto grown = grow_history(db, *session, section, *id, now_ns, changes); !grown) {
    return std::unexpected(std::move(grown.error()));
  }
  const std::string pinned = pack(plan.pinned);
  auto kept = execute(
      db,
      "INSERT INTO passes(id, tree, session, prefix, messages, message_identity, source, "
      "tokens_before, tokens_after, created_ns, pinned, message) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      *id, session->tree, plan.session, HashBytes(plan.prefix).view(), plan.messages,
      HashBytes(plan.message_identity).view(), static_cast<int>(plan.source), plan.tokens_before,
      plan.tokens_after, now_ns, std::string_view(pinned), std::string_view(plan.message));
  if (!kept) return std::unexpected(std::move(kept.error()));
  return Pass{.id = *id,
              .session = plan.session,
              .prefix = plan.prefix,
              .messages = plan.messages,
              .pinned = plan.pinned,
              .message_identity = plan.message_identity,
              .tokens_after = plan.tokens_after,
              .known = false};
}

}  // namespace

void SqliteStore::commit_pass(PassPlan plan, ChangeOptions options, Completion<Pass> done) {
  auto section = std::make_shared<Section>(Section{.session = plan.session,
                                                   .bytes = std::move(plan.section),
                                                   .lines = plan.section_lines,
                                                   .history_bytes = plan.history_bytes,
                                                   .keys = std::move(plan.keys),
                                                   .hash = {},
                                                   .sums = {},
                                                   .staged = 0});
  change_history<Pass>(std::move(section), options, std::move(done),
                       [plan = std::move(plan)](Database& db, const Section& ready, int64_t now,
                                                ChangeSet& changes) {
                         return commit(db, plan, ready, now, changes);
                       });
}

Result<std::vector<Pass>> SqliteStore::passes(SessionId tree, uint64_t after) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto rows = query(
      **reader, "SELECT " EBLA_PASS_COLUMNS " FROM passes WHERE tree = ? AND id > ? ORDER BY id",
      tree, static_cast<int64_t>(std::min<uint64_t>(after, INT64_MAX)));
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::vector<Pass> all;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return all;
    all.push_back(to_pass(*rows));
  }
}

Result<std::string> SqliteStore::pass_message(uint64_t pass) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto row = query(**reader, "SELECT message FROM passes WHERE id = ?", pass);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return fail(Code::file_not_found, fmt::format("pass {} does not exist", pass));
  return row->string(0);
}

}  // namespace ebla::sqlite
