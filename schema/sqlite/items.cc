// All items of a list at once: which have been put away, and which are replacements themselves.
#include <algorithm>
#include <numeric>

#include "schema/sqlite/eviction_job.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sessions.h"
#include "schema/sqlite/sqlite_store.h"

namespace ebla::sqlite {
namespace {

// One row of a decision, as far as an answer needs it.
struct Found {
  ArtifactKind kind{};
  std::string call_id;
  EvictionOutcome outcome;
  Original original;
};

Result<std::optional<Found>> load(Database& db, uint64_t eviction) {
  auto row = query(db,
                   "SELECT e.kind, e.call_id, e.hash, e.size, e.tokens, s.id, e.name, e.ino, "
                   "e.lines, e.replacement FROM evictions e "
                   "JOIN sessions s ON s.serial = e.session WHERE e.id = ?",
                   eviction);
  if (!row) return std::unexpected(std::move(row.error()));
  auto there = row->step();
  if (!there) return std::unexpected(std::move(there.error()));
  if (!*there) return std::nullopt;
  Found found;
  found.kind = static_cast<ArtifactKind>(row->int64(0));
  found.call_id = row->string(1);
  found.original = {.kind = found.kind,
                    .call_id = found.call_id,
                    .hash = to_hash(row->bytes(2)),
                    .size = row->uint64(3),
                    .tokens = row->uint64(4),
                    .path = artifact_path(found.kind, row->bytes(5), row->bytes(6))};
  found.outcome = {.ino = row->uint64(7),
                   .path = found.original.path,
                   .replacement = row->string(9),
                   .size = found.original.size,
                   .lines = row->uint64(8),
                   .tokens = found.original.tokens,
                   .known = true,
                   .same_as = "",
                   .id = eviction};
  return found;
}

// Takes one decision of the item's hash, in the order of decisions, into the answer. `settled`: the
// original is of the item's own call.
Result<void> weigh(Database& db, const ItemQuery& item, uint64_t key, uint64_t eviction,
                   ItemAnswer& answer, bool& settled) {
  const bool as_replacement = key == kReplacementKey && !settled;
  const bool as_content = key == eviction_key(item.kind, item.call_id) && !answer.decision;
  if (!as_replacement && !as_content) return {};
  auto found = load(db, eviction);
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return {};
  const bool same_call = (*found)->kind == item.kind && (*found)->call_id == item.call_id;
  if (as_content && same_call && (*found)->outcome.size == item.size) {
    answer.decision = std::move((*found)->outcome);
  } else if (as_replacement && (same_call || !answer.original)) {
    answer.original = std::move((*found)->original);
    settled = same_call;
  }
  return {};
}

Result<ItemAnswer> answer_item(Database& db, SessionId tree, const ItemQuery& item) {
  ItemAnswer answer;
  bool settled = false;
  const HashBytes hash(item.hash);
  auto rows = query(db,
                    "SELECT key, eviction FROM eviction_keys WHERE tree = ? AND hash = ? "
                    "ORDER BY key, eviction",
                    tree, hash.view());
  if (!rows) return std::unexpected(std::move(rows.error()));
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return answer;
    auto weighed = weigh(db, item, rows->uint64(0), rows->uint64(1), answer, settled);
    if (!weighed) return std::unexpected(std::move(weighed.error()));
  }
}

}  // namespace

Result<std::vector<ItemAnswer>> SqliteStore::find_items(SessionId tree,
                                                        std::span<const ItemQuery> items) {
  std::vector<ItemAnswer> answers(items.size());
  if (items.empty()) return answers;
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto snapshot = Snapshot::begin(**reader);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  auto any = exists(**reader, "SELECT 1 FROM eviction_keys WHERE tree = ?", tree);
  if (!any) return std::unexpected(std::move(any.error()));
  if (!*any) return answers;
  // In the order of the keys: each page of theirs is read once.
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return items[i].hash; });
  for (const size_t i : order) {
    auto answer = answer_item(**reader, tree, items[i]);
    if (!answer) return std::unexpected(std::move(answer.error()));
    answers[i] = std::move(*answer);
  }
  return answers;
}

}  // namespace ebla::sqlite
