// Puts content into any store in the way of an eviction, and waits for it.
#pragma once

#include <future>
#include <string>
#include <utility>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/store.h"

namespace ebla::kit {

template <class T>
struct Done {
  Result<T> result;
  ChangeSet changes;
};

// Calls a change of a store and waits for its completion.
template <class T, class F>
Done<T> wait_for(F change) {
  std::promise<Done<T>> promise;
  auto answer = promise.get_future();
  change([&promise](Result<T> result, const ChangeSet& changes) {
    promise.set_value({std::move(result), changes});
  });
  return answer.get();
}

inline Done<SessionOutcome> open_session(Store& store, const std::string& id, uint32_t uid = 0,
                                         uint32_t gid = 0) {
  SessionPlan plan;
  plan.uid = uid;
  plan.gid = gid;
  plan.key = id;
  plan.id_candidates = {id};
  return wait_for<SessionOutcome>(
      [&](Completion<SessionOutcome> done) { store.open_session(plan, {}, std::move(done)); });
}

// In session `id`, which exists, as file `name`.
inline Done<EvictionOutcome> put(Store& store, const std::string& id, const std::string& name,
                                 const std::string& bytes, uint32_t uid = 0, uint32_t gid = 0) {
  const auto session = store.find_session(uid, id);
  if (!session) return {std::unexpected(session.error()), {}};
  EvictionPlan plan;
  plan.session = session->serial;
  plan.call_id = name;
  plan.tool = "test";
  plan.uid = uid;
  plan.gid = gid;
  plan.stem = name;
  plan.replacement_parts = {"put away as ", ""};
  plan.content.size = bytes.size();
  plan.content.hash = xxh3_128(bytes);
  plan.characters = bytes.size();
  if (bytes.size() <= limits::kInlineContentBytes) {
    plan.content.bytes = bytes;
  } else {
    for (size_t at = 0; at < bytes.size(); at += limits::kStageSliceBytes) {
      const auto staged = wait_for<ContentId>([&](Completion<ContentId> done) {
        store.stage(plan.content.staged, at, bytes.substr(at, limits::kStageSliceBytes), {},
                    std::move(done));
      });
      if (!staged.result) return {std::unexpected(staged.result.error()), {}};
      plan.content.staged = *staged.result;
    }
  }
  return wait_for<EvictionOutcome>(
      [&](Completion<EvictionOutcome> done) { store.commit_eviction(plan, {}, std::move(done)); });
}

}  // namespace ebla::kit
