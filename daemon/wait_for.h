// For threads of the blocking pool, which may wait: changes of the store begun together and waited
// for together, and then told to the mounts, so that whoever is answered can open the files.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/services.h"

namespace ebla::daemon {

// Until when a call that must not fail waits for a store that says nothing.
inline Deadline store_patience() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(limits::kStoreWaitMs);
}
// What it goes on with then: unavailable. The change may still be made.
Error silent_store();

// One change under way.
template <class T>
class Change {
 public:
  // The completion for a method of the store. Once.
  Completion<T> completion(const Services& services) {
    state_ = std::make_shared<State>();
    future_ = state_->done.get_future();
    return
        [state = state_, late = services.late_changes](Result<T> result, const ChangeSet& changes) {
          if (state->over.exchange(true)) {
            const std::scoped_lock lock(late->mutex);
            late->changes.push_back(changes);
          } else {
            state->done.set_value({std::move(result), changes});
          }
        };
  }
  // What became of it; its changes go to `changes`.
  Result<T> wait(std::vector<ChangeSet>& changes) {
    auto [result, change] = future_.get();
    if (!change.empty()) changes.push_back(std::move(change));
    return std::move(result);
  }
  // The same until then; after that silent_store().
  Result<T> wait_until(Deadline patience, std::vector<ChangeSet>& changes) {
    const bool silent = future_.wait_until(patience) == std::future_status::timeout;
    if (silent && !state_->over.exchange(true)) return std::unexpected(silent_store());
    return wait(changes);
  }

 private:
  struct State {
    std::promise<std::pair<Result<T>, ChangeSet>> done;
    std::atomic<bool> over = false;  // it has ended, or nobody waits
  };
  std::shared_ptr<State> state_;
  std::future<std::pair<Result<T>, ChangeSet>> future_;
};

// Returns when the mounts know, or after kDeliveryWaitMs. `held` lives until they know.
void tell_mounts(Services& services, const std::vector<ChangeSet>& changes,
                 const std::shared_ptr<void>& held = nullptr);
// Those that nobody waited for.
void tell_late_changes(Services& services);

// Begins one change with `start(Completion<T>)`, waits for it, tells the mounts.
template <class T, class Start>
Result<T> wait_for(Services& services, Start start) {
  Change<T> change;
  start(change.completion(services));
  std::vector<ChangeSet> changes;
  Result<T> result = change.wait(changes);
  tell_mounts(services, changes);
  return result;
}
// The same, but no longer than store_patience().
template <class T, class Start>
Result<T> wait_briefly(Services& services, Start start) {
  Change<T> change;
  start(change.completion(services));
  std::vector<ChangeSet> changes;
  Result<T> result = change.wait_until(store_patience(), changes);
  tell_mounts(services, changes);
  return result;
}

}  // namespace ebla::daemon
