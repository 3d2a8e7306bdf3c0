// The unit that puts one content away.
#include <fmt/format.h>

#include <algorithm>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/eviction_job.h"
#include "schema/sqlite/media.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sessions.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

// Names that are tried one after the other; beyond, the step doubles.
constexpr uint64_t kNamesInOrder = 64;

Result<void> check_content(Database& db, const ContentRef& content) {
  uint64_t size = content.bytes.size();
  if (content.staged != 0) {
    auto staged = staged_size(db, content.staged);
    if (!staged) return std::unexpected(std::move(staged.error()));
    size = *staged;
  } else if (size > limits::kInlineContentBytes) {
    return fail(Code::too_large, fmt::format("contents over {} bytes must be staged in slices",
                                             limits::kInlineContentBytes));
  }
  if (size != content.size) {
    return fail(Code::invalid_params,
                fmt::format("the content has {} bytes, the plan says {}", size, content.size));
  }
  return {};
}

// Media have the name of their bytes.
std::string stem_of(const EvictionPlan& plan) {
  return plan.kind == ArtifactKind::media ? plan.content.hash.hex() : plan.stem;
}

Result<void> check_name(const EvictionPlan& plan) {
  const std::string stem = stem_of(plan);
  const std::string name = stem + plan.extension;
  if (stem.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    return fail(Code::invalid_path,
                "a file name is not empty, \".\" or \"..\" and holds neither '/' nor NUL");
  }
  return {};
}

// A content with equal bytes, 0 for none. Short contents are compared here when two of them race.
Result<ContentId> find_match(Database& db, EvictionJob& job, const std::vector<HeldContent>& held) {
  for (const HeldContent& one : held) {
    if (one.size != job.plan.content.size) continue;
    if (one.content == job.match) return one.content;
    if (job.has_seen(one.content)) continue;
    if (job.plan.content.staged != 0) {
      job.compare_again = true;
      job.held = held;
      return fail(Code::busy, "an equal content may have come meanwhile");
    }
    auto equal = equal_bytes(db, one, job.plan.content);
    if (equal && *equal) return one.content;
    if (!equal) job.unread.push_back(one.content);
  }
  return 0;
}

struct Decision {
  uint64_t id = 0;
  SessionId session = 0;
  std::string session_id;
  Ino dir = 0;
  std::string name;
  Ino ino = 0;
  bool has_file = false;  // a file of the store's own, made before: only media
  EvictionOutcome outcome;
};

Decision to_decision(const Statement& row, ArtifactKind kind) {
  Decision found;
  found.id = row.uint64(0);
  found.session = row.uint64(1);
  found.session_id = row.string(2);
  found.dir = row.uint64(3);
  found.name = row.string(4);
  found.ino = row.uint64(5);
  found.outcome.ino = found.ino;
  found.outcome.path = artifact_path(kind, found.session_id, found.name);
  found.outcome.replacement = row.string(6);
  found.outcome.size = row.uint64(7);
  found.outcome.lines = row.uint64(8);
  found.outcome.tokens = row.uint64(9);
  found.outcome.known = true;
  found.outcome.id = found.id;
  return found;
}

// A decision is known when its bytes are proved equal. Once they are gone, or nobody can read them
// and its file was removed, hash and size decide: the file is filled with what came.
Result<std::optional<Decision>> known_decision(Database& db, const EvictionJob& job, SessionId tree,
                                               ContentId match,
                                               const std::vector<HeldContent>& held) {
  const EvictionPlan& plan = job.plan;
  const HashBytes hash(plan.content.hash);
  auto rows = query(db,
                    "SELECT e.id, e.session, s.id, e.dir, e.name, e.ino, e.replacement, e.size, "
                    "e.lines, e.tokens, e.content FROM eviction_keys k "
                    "JOIN evictions e ON e.id = k.eviction JOIN sessions s ON s.serial = e.session "
                    "WHERE k.tree = ? AND k.hash = ? AND k.key = ? AND e.kind = ? "
                    "AND e.call_id = ? AND e.size = ? ORDER BY k.eviction",
                    tree, hash.view(), eviction_key(plan.kind, plan.call_id),
                    static_cast<int>(plan.kind), plan.call_id, plan.content.size);
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::optional<Decision> forgotten;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return forgotten;
    const ContentId content = rows->uint64(10);
    if (content == match && match != 0) return to_decision(*rows, plan.kind);
    const bool gone = std::ranges::find(held, content, &HeldContent::content) == held.end();
    const bool lost = rows->uint64(5) == 0 && job.has(job.unread, content);
    if ((gone || lost) && !forgotten) forgotten = to_decision(*rows, plan.kind);
  }
}

std::string numbered(const EvictionPlan& plan, uint64_t number) {
  if (number == 1) return stem_of(plan) + plan.extension;
  return fmt::format("{}.{}{}", stem_of(plan), number, plan.extension);
}

// The first free name. After many taken ones a free one is found by doubling and halving, so that
// ten thousand results with one id cost no more than a few look-ups each.
Result<std::string> free_name(Database& db, Ino dir, const EvictionPlan& plan) {
  auto taken = [&](uint64_t number) { return name_taken(db, dir, numbered(plan, number)); };
  uint64_t low = 0;  // taken
  uint64_t high = 1;
  while (dir != 0) {
    auto is_taken = taken(high);
    if (!is_taken) return std::unexpected(std::move(is_taken.error()));
    if (!*is_taken) break;
    low = high;
    high = high < kNamesInOrder ? high + 1 : high * 2;
  }
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    auto is_taken = taken(middle);
    if (!is_taken) return std::unexpected(std::move(is_taken.error()));
    (*is_taken ? low : high) = middle;
  }
  std::string name = numbered(plan, high);
  if (name.size() > limits::kNameBytes) {
    return fail(Code::name_too_long, fmt::format("a name has at most {} bytes, this one {}",
                                                 limits::kNameBytes, name.size()));
  }
  return name;
}

std::string join(const std::vector<std::string>& parts, std::string_view name) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += name;
    text += parts[i];
  }
  return text;
}

// The content of job.plan, held once; `fresh` is the number of a new one that was not staged.
Result<ContentId> keep_content(Database& db, const EvictionJob& job, SessionId tree,
                               ContentId match, ContentId fresh, UsageDelta& usage) {
  const ContentRef& content = job.plan.content;
  Result<void> done;
  ContentId stored = match;
  if (match != 0) {
    done = share_content(db, content.hash, match);
    if (done && content.staged != 0) done = drop_staged(db, content.staged);
  } else {
    stored = content.staged != 0 ? content.staged : fresh;
    done = content.staged != 0 ? unstage(db, content.staged)
                               : insert_chunks(db, stored, 0, content.bytes, job.sums);
    if (done) done = add_content(db, tree, content.hash, stored, content.size);
    usage.content_bytes = static_cast<int64_t>(content.size);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  return stored;
}

struct Owner {
  uint32_t uid = 0;
  uint32_t gid = 0;
  SessionId session = 0;
  SessionId tree = 0;
};

// Media are everybody's: owned as their folder is.
Result<Owner> owner_of(Database& db, const EvictionPlan& plan, SessionId tree,
                       const Decision& decision) {
  if (plan.kind != ArtifactKind::media) {
    return Owner{.uid = plan.uid, .gid = plan.gid, .session = decision.session, .tree = tree};
  }
  auto folder = node_attr(db, decision.dir);
  if (!folder) return std::unexpected(std::move(folder.error()));
  return Owner{.uid = folder->uid, .gid = folder->gid, .session = 0, .tree = 0};
}

// The file of a decision, with its content and its place in the counters. Returns the content.
Result<ContentId> make_file(Database& db, const EvictionJob& job, SessionId tree,
                            const Decision& decision, ContentId match, int64_t now_ns,
                            ChangeSet& changes) {
  const EvictionPlan& plan = job.plan;
  auto owner = owner_of(db, plan, tree, decision);
  if (!owner) return std::unexpected(std::move(owner.error()));
  UsageDelta usage{.files = 1, .logical_bytes = static_cast<int64_t>(plan.content.size)};
  auto content = keep_content(db, job, owner->tree, match, decision.ino, usage);
  if (!content) return content;
  uint32_t flags = kNodeProtected | kNodeImmutable;
  if (plan.kind != ArtifactKind::human && plan.kind != ArtifactKind::media) flags |= kNodeRemovable;
  auto node = make_node(db, decision.dir, decision.name,
                        {.ino = decision.ino,
                         .mode = 0400,
                         .uid = owner->uid,
                         .gid = owner->gid,
                         .flags = flags,
                         .size = plan.content.size,
                         .content = *content,
                         .hash = plan.content.hash,
                         .eviction = decision.id,
                         .session = owner->session},
                        now_ns, changes);
  if (!node) return node;
  if (auto counted = add_usage(db, owner->tree, usage); !counted) {
    return std::unexpected(std::move(counted.error()));
  }
  return content;
}

Result<void> add_key(Database& db, SessionId tree, Hash128 hash, uint64_t key, uint64_t eviction) {
  return execute(db, "INSERT INTO eviction_keys(tree, hash, key, eviction) VALUES(?, ?, ?, ?)",
                 tree, HashBytes(hash).view(), key, eviction);
}

// A known decision: its file is filled again where it has been removed.
Result<EvictionOutcome> repeat(Database& db, const EvictionJob& job, SessionId tree,
                               Decision decision, ContentId match, int64_t now_ns,
                               ChangeSet& changes) {
  if (decision.ino != 0) {
    if (job.plan.content.staged != 0) {
      auto dropped = drop_staged(db, job.plan.content.staged);
      if (!dropped) return std::unexpected(std::move(dropped.error()));
    }
    return decision.outcome;
  }
  auto ino = next_id(db);
  if (!ino) return std::unexpected(std::move(ino.error()));
  decision.ino = decision.outcome.ino = *ino;
  auto content = make_file(db, job, tree, decision, match, now_ns, changes);
  if (!content) return std::unexpected(std::move(content.error()));
  auto kept = execute(db, "UPDATE evictions SET ino = ?, content = ? WHERE id = ?", *ino, *content,
                      decision.id);
  if (kept) kept = add_key(db, tree, job.plan.content.hash, kLiveFileKey, decision.id);
  if (!kept) return std::unexpected(std::move(kept.error()));
  return decision.outcome;
}

Result<void> insert_decision(Database& db, const EvictionPlan& plan, SessionId tree,
                             const Decision& decision, ContentId content, int64_t now_ns) {
  const HashBytes hash(plan.content.hash);
  const HashBytes replacement(xxh3_128(decision.outcome.replacement));
  auto done = execute(
      db,
      "INSERT INTO evictions(id, tree, session, kind, call_id, tool, uid, hash, size, content, "
      "dir, name, ino, replacement, replacement_hash, characters, lines, tokens, tokens_after, "
      "created_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      decision.id, tree, decision.session, static_cast<int>(plan.kind), plan.call_id, plan.tool,
      plan.uid, hash.view(), plan.content.size, content, decision.dir, decision.name, decision.ino,
      decision.outcome.replacement, replacement.view(), plan.characters, plan.lines, plan.tokens,
      plan.tokens_after, now_ns);
  if (!done) return done;
  done = execute(db,
                 "INSERT INTO eviction_keys(tree, hash, key, eviction) "
                 "VALUES(?1, ?2, ?3, ?7), (?1, ?2, ?4, ?7), (?1, ?5, ?6, ?7)",
                 tree, hash.view(), eviction_key(plan.kind, plan.call_id), kLiveFileKey,
                 replacement.view(), kReplacementKey, decision.id);
  if (!done || plan.path_prefix.empty()) return done;
  return execute(db, "INSERT OR IGNORE INTO path_aliases(prefix, subtree) VALUES(?, ?)",
                 plan.path_prefix, plan.path_subtree);
}

// Path of the first file of this tree that has the content.
Result<std::string> same_bytes_path(Database& db, SessionId tree, Hash128 hash, ContentId content) {
  const HashBytes key(hash);
  auto row = query(db,
                   "SELECT e.kind, s.id, e.name FROM eviction_keys k "
                   "JOIN evictions e ON e.id = k.eviction JOIN sessions s ON s.serial = e.session "
                   "WHERE k.tree = ? AND k.hash = ? AND k.key = ? AND e.content = ? "
                   "ORDER BY k.eviction LIMIT 1",
                   tree, key.view(), kLiveFileKey, content);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = row->step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::string();
  return artifact_path(static_cast<ArtifactKind>(row->int64(0)), row->bytes(1), row->bytes(2));
}

// Where the file of a new decision goes: the session's folder, or that of its human messages. The
// latter is made once the name is known to be good.
Result<void> choose_place(Database& db, const EvictionPlan& plan, const Session& session,
                          int64_t now_ns, Decision& decision, ChangeSet& changes) {
  decision.dir = session.folder;
  const bool human = plan.kind == ArtifactKind::human;
  if (human) {
    auto folder = find_messages_folder(db, session.serial);
    if (!folder) return std::unexpected(std::move(folder.error()));
    decision.dir = *folder;
    if (*folder == 0) {
      auto taken = name_exists(db, kHistoriesIno, session.id);
      if (!taken) return std::unexpected(std::move(taken.error()));
      if (*taken) {
        return fail(
            Code::conflict,
            fmt::format("the name of the folder for messages of session {} is taken", session.id));
      }
    }
  }
  auto name = free_name(db, decision.dir, plan);
  if (!name) return std::unexpected(std::move(name.error()));
  decision.name = std::move(*name);
  if (human) {
    auto folder = messages_folder(db, session, plan.uid, plan.gid, now_ns, changes);
    if (!folder) return std::unexpected(std::move(folder.error()));
    decision.dir = *folder;
  }
  return {};
}

// The one file of these bytes, or a name for it.
Result<void> choose_media(Database& db, const EvictionPlan& plan, ContentId match, int64_t now_ns,
                          Decision& decision, ChangeSet& changes) {
  auto folder = find_media_folder(db);
  if (!folder) return std::unexpected(std::move(folder.error()));
  decision.dir = *folder ? (*folder)->ino : 0;
  if (*folder && match != 0) {
    auto file = find_media(db, decision.dir, plan.content.hash, match);
    if (!file) return std::unexpected(std::move(file.error()));
    if (*file) {
      decision.ino = (*file)->ino;
      decision.name = std::move((*file)->name);
      decision.has_file = true;
      return {};
    }
  }
  auto name = free_name(db, decision.dir, plan);
  if (!name) return std::unexpected(std::move(name.error()));
  decision.name = std::move(*name);
  if (*folder) return {};
  auto made = make_media_folder(db, now_ns, changes);
  if (!made) return std::unexpected(std::move(made.error()));
  decision.dir = made->ino;
  return {};
}

Result<EvictionOutcome> decide(Database& db, const EvictionJob& job, const Session& session,
                               ContentId match, int64_t now_ns, ChangeSet& changes) {
  const EvictionPlan& plan = job.plan;
  Decision decision;
  decision.session = session.serial;
  decision.session_id = session.id;
  const bool media = plan.kind == ArtifactKind::media;
  if (auto placed = media ? choose_media(db, plan, match, now_ns, decision, changes)
                          : choose_place(db, plan, session, now_ns, decision, changes);
      !placed) {
    return std::unexpected(std::move(placed.error()));
  }
  auto id = next_id(db);
  if (!id) return std::unexpected(std::move(id.error()));
  // One draw for the decision, its first node and, when it is a new one, the content.
  decision.id = *id;
  if (!decision.has_file) decision.ino = *id;
  decision.outcome = {.ino = decision.ino,
                      .path = artifact_path(plan.kind, session.id, decision.name),
                      .replacement = join(plan.replacement_parts, decision.name),
                      .size = plan.content.size,
                      .lines = plan.lines,
                      .tokens = plan.tokens,
                      .known = false,
                      .same_as = "",
                      .id = decision.id};
  if (match != 0) {
    auto same = same_bytes_path(db, session.tree, plan.content.hash, match);
    if (!same) return std::unexpected(std::move(same.error()));
    decision.outcome.same_as = std::move(*same);
  }
  Result<ContentId> content = match;
  if (!decision.has_file) {
    content = make_file(db, job, session.tree, decision, match, now_ns, changes);
  } else if (auto dropped = drop_staged(db, plan.content.staged); !dropped) {
    content = std::unexpected(std::move(dropped.error()));
  }
  if (!content) return std::unexpected(std::move(content.error()));
  auto kept = insert_decision(db, plan, session.tree, decision, *content, now_ns);
  if (kept) kept = add_usage(db, session.tree, {.evictions = 1});
  if (!kept) return std::unexpected(std::move(kept.error()));
  return decision.outcome;
}

}  // namespace

uint64_t eviction_key(ArtifactKind kind, std::string_view call_id) {
  std::string text(1, static_cast<char>('0' + static_cast<int>(kind)));
  text += call_id;
  return xxh3_64(text) | 2;
}

Result<EvictionOutcome> commit_job(Database& db, EvictionJob& job, int64_t now_ns,
                                   ChangeSet& changes) {
  auto session = session_brief(db, job.plan.session);
  if (!session) return std::unexpected(std::move(session.error()));
  if (auto good = check_content(db, job.plan.content); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (auto good = check_name(job.plan); !good) return std::unexpected(std::move(good.error()));
  auto held = contents_of_hash(db, job.plan.content.hash);
  if (!held) return std::unexpected(std::move(held.error()));
  auto match = find_match(db, job, *held);
  if (!match) return std::unexpected(std::move(match.error()));
  auto known = known_decision(db, job, session->tree, *match, *held);
  if (!known) return std::unexpected(std::move(known.error()));
  changes.tree = session->tree;
  changes.session = session->serial;
  if (*known) return repeat(db, job, session->tree, std::move(**known), *match, now_ns, changes);
  return decide(db, job, *session, *match, now_ns, changes);
}

}  // namespace ebla::sqlite
