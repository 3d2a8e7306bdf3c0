// A Store's changes as plain calls that wait for their completion, and plans as tests want them.
#pragma once

#include <future>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/store.h"

namespace ebla::kit {

template <class T>
struct Ended {
  Result<T> result;
  ChangeSet changes;

  bool ok() const { return result.has_value(); }
  // internal_error when it succeeded: no store answers that.
  Code code() const { return result ? Code::internal_error : result.error().code; }
  const T& operator*() const { return *result; }
  const T* operator->() const { return &*result; }
};

template <>
struct Ended<void> {
  Result<void> result;
  ChangeSet changes;

  bool ok() const { return result.has_value(); }
  Code code() const { return result ? Code::internal_error : result.error().code; }
};

// Calls `start(completion)` and waits. A completion that never runs ends the wait with
// std::future_error, and one that runs twice throws on the store's thread.
template <class T, class F>
Ended<T> wait_for(F start) {
  std::promise<Ended<T>> promise;
  auto future = promise.get_future();
  start(Completion<T>(
      [promise = std::move(promise)](Result<T> result, const ChangeSet& changes) mutable {
        promise.set_value(Ended<T>{std::move(result), changes});
      }));
  return future.get();
}

Ended<void> remove(Store& store, RemovePlan plan, ChangeOptions options = {});
Ended<void> reap(Store& store, std::vector<Ino> inos, ChangeOptions options = {});
Ended<void> sync(Store& store, ChangeOptions options = {});
Ended<SessionOutcome> open_session(Store& store, SessionPlan plan, ChangeOptions options = {});
Ended<ContentId> stage(Store& store, ContentId content, uint64_t offset, std::string bytes,
                       ChangeOptions options = {});
Ended<void> discard(Store& store, ContentId content, ChangeOptions options = {});
Ended<EvictionOutcome> commit_eviction(Store& store, EvictionPlan plan, ChangeOptions options = {});
Ended<Pass> commit_pass(Store& store, PassPlan plan, ChangeOptions options = {});
Ended<HistoryState> append_history(Store& store, HistoryPlan plan, ChangeOptions options = {});
Ended<void> close_session(Store& store, SessionId serial, ChangeOptions options = {});
Ended<void> set_fact(Store& store, std::string name, std::optional<std::string> value,
                     ChangeOptions options = {});

// A session with one id candidate; key empty for none.
SessionPlan session_plan(std::string_view id, std::string_view key = "", SessionId parent = 0);
// Opens it; the test fails when that fails.
Session make_session(Store& store, std::string_view id, std::string_view key = "",
                     SessionId parent = 0);

// Content given in the plan; the stem is the call id unless given. The replacement is
// "stored at NAME, N bytes".
EvictionPlan eviction_plan(const Session& session, std::string_view call_id, std::string bytes,
                           std::string_view stem = "");
// Stages `bytes` in slices of the size due and returns the reference; the test fails when that
// fails.
ContentRef stage_all(Store& store, std::string_view bytes);

// Text for a history: `bytes` long, lines that say `number` and how long they are.
std::string section_text(uint64_t number, size_t bytes);
// At the history's end as it is now, with one key that follows from `number`.
HistoryPlan history_plan(Store& store, const Session& session, std::string section,
                         uint64_t number);
// A pass over `messages` messages whose prefix follows from that number.
PassPlan pass_plan(Store& store, const Session& session, std::string section, uint64_t messages);
Hash128 message_key(uint64_t number);

// The whole file, read `slice` bytes at a time.
std::string read_file(Store& store, Ino ino, size_t slice = 65'536);
std::vector<DirEntry> list(Store& store, Ino dir, size_t page = 1000);
std::vector<std::string> names(Store& store, Ino dir);
std::string xattr(Store& store, Ino ino, std::string_view name);  // "(none)" when absent

}  // namespace ebla::kit
