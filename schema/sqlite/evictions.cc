// Decisions to put a text away: found, and made.
#include <optional>

#include "schema/sqlite/content.h"
#include "schema/sqlite/eviction_job.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sessions.h"
#include "schema/sqlite/sqlite_store.h"

namespace ebla::sqlite {
namespace {

// Compares the content with those of its hash that the job has not seen yet. One that cannot be
// read is not shared: the content is held for itself, which is always right.
void compare(ReaderPool& readers, EvictionJob& job) {
  for (const HeldContent& one : job.held) {
    if (one.size != job.plan.content.size || job.has_seen(one.content)) continue;
    auto reader = readers.take();
    const auto equal = reader ? equal_bytes(**reader, one, job.plan.content)
                              : Result<bool>(std::unexpected(reader.error()));
    if (equal && *equal) {
      job.match = one.content;
      return;
    }
    (equal ? job.different : job.unread).push_back(one.content);
  }
}

std::vector<HeldContent> held_contents(ReaderPool& readers, Hash128 hash) {
  auto reader = readers.take();
  if (!reader) return {};
  return contents_of_hash(**reader, hash).value_or(std::vector<HeldContent>{});
}

}  // namespace

Result<std::optional<EvictionOutcome>> SqliteStore::find_eviction(SessionId tree, ArtifactKind kind,
                                                                  std::string_view call_id,
                                                                  Hash128 hash, uint64_t size) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  const HashBytes key(hash);
  auto row =
      query(**reader,
            "SELECT e.ino, s.id, e.name, e.replacement, e.lines, e.tokens, e.id "
            "FROM eviction_keys k JOIN evictions e ON e.id = k.eviction "
            "JOIN sessions s ON s.serial = e.session "
            "WHERE k.tree = ? AND k.hash = ? AND k.key = ? AND e.kind = ? "
            "AND e.call_id = ? AND e.size = ? ORDER BY k.eviction LIMIT 1",
            tree, key.view(), eviction_key(kind, call_id), static_cast<int>(kind), call_id, size);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::nullopt;
  return EvictionOutcome{.ino = row->uint64(0),
                         .path = artifact_path(kind, row->bytes(1), row->bytes(2)),
                         .replacement = row->string(3),
                         .size = size,
                         .lines = row->uint64(4),
                         .tokens = row->uint64(5),
                         .known = true,
                         .same_as = "",
                         .id = row->uint64(6)};
}

Result<bool> SqliteStore::is_replacement(SessionId tree, Hash128 hash) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  return exists(**reader, "SELECT 1 FROM eviction_keys WHERE tree = ? AND hash = ? AND key = ?",
                tree, HashBytes(hash).view(), kReplacementKey);
}

Result<std::vector<PathAlias>> SqliteStore::path_aliases() {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto rows = query(**reader, "SELECT prefix, subtree FROM path_aliases");
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::vector<PathAlias> aliases;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return aliases;
    aliases.push_back({.prefix = rows->string(0), .subtree = rows->string(1)});
  }
}

void SqliteStore::commit_eviction(EvictionPlan plan, ChangeOptions options,
                                  Completion<EvictionOutcome> done) {
  auto job = std::make_shared<EvictionJob>();
  job->plan = std::move(plan);
  job->options = options;
  job->done = std::move(done);
  begin_job();
  if (job->plan.content.staged == 0) job->sums = chunk_sums(job->plan.content.bytes);
  job->held = held_contents(readers_, job->plan.content.hash);
  if (job->plan.content.staged != 0 && !job->held.empty()) {
    // As long as the content is: not on the caller's time, and not on the writer's.
    comparer_.post([this, job] { compare_and_submit(job); });
    return;
  }
  compare(readers_, *job);
  submit(std::move(job));
}

void SqliteStore::compare_and_submit(std::shared_ptr<EvictionJob> job) {
  compare(readers_, *job);
  submit(std::move(job));
}

void SqliteStore::submit(std::shared_ptr<EvictionJob> job) {
  const ChangeOptions options = job->options;
  change<EvictionOutcome>(
      options, Growth::yes,
      [this, job](Result<EvictionOutcome> outcome, const ChangeSet& changes) {
        if (!outcome && job->compare_again) {
          job->compare_again = false;
          comparer_.post([this, job] { compare_and_submit(job); });
          return;
        }
        job->done(std::move(outcome), changes);
        end_job();
      },
      [this, job](Database& db, ChangeSet& changes) {
        return commit_job(db, *job, now_ns(), changes);
      });
}

}  // namespace ebla::sqlite
