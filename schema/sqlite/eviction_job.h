// One eviction on its way to the writer. Private to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "schema/sqlite/content.h"
#include "schema/sqlite/database.h"
#include "schema/store.h"

namespace ebla::sqlite {

// Owned by one thread at a time: the caller's, then the comparer's or the writer's.
struct EvictionJob {
  static bool has(const std::vector<ContentId>& contents, ContentId one) {
    return std::ranges::find(contents, one) != contents.end();
  }
  bool has_seen(ContentId content) const {
    return content == match || has(different, content) || has(unread, content);
  }

  EvictionPlan plan;
  ChangeOptions options;
  Completion<EvictionOutcome> done;
  std::vector<uint64_t> sums;        // of the chunks of plan.content.bytes
  std::vector<HeldContent> held;     // contents of its hash, when it was last asked for
  ContentId match = 0;               // a content that was found to have equal bytes
  std::vector<ContentId> different;  // contents with the same hash, but other bytes
  std::vector<ContentId> unread;     // contents with the same hash that could not be compared
  bool compare_again = false;  // the writer has met a content of this hash that nobody compared
};

// What an eviction is found by, beside tree and hash. Never one of the two that are reserved.
inline constexpr uint64_t kReplacementKey = 0;
inline constexpr uint64_t kLiveFileKey = 1;
uint64_t eviction_key(ArtifactKind kind, std::string_view call_id);

// The unit. Fails with job.compare_again set when it cannot decide without a long comparison.
Result<EvictionOutcome> commit_job(Database& db, EvictionJob& job, int64_t now_ns,
                                   ChangeSet& changes);

}  // namespace ebla::sqlite
