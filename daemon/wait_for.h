// For threads of the blocking pool, which may wait: changes of the store begun together and waited
// for together, and then told to the mounts, so that whoever is answered can open the files.
#pragma once

#include <future>
#include <utility>
#include <vector>

#include "daemon/services.h"

namespace ebla::daemon {

// One change under way.
template <class T>
class Change {
 public:
  // The completion for a method of the store. Once.
  Completion<T> completion() {
    auto done = std::make_shared<std::promise<std::pair<Result<T>, ChangeSet>>>();
    future_ = done->get_future();
    return [done = std::move(done)](Result<T> result, const ChangeSet& changes) {
      done->set_value({std::move(result), changes});
    };
  }
  // What became of it; its changes go to `changes`.
  Result<T> wait(std::vector<ChangeSet>& changes) {
    auto [result, change] = future_.get();
    if (!change.empty()) changes.push_back(std::move(change));
    return std::move(result);
  }

 private:
  std::future<std::pair<Result<T>, ChangeSet>> future_;
};

// Returns when the mounts know, or after kDeliveryWaitMs.
void tell_mounts(Services& services, const std::vector<ChangeSet>& changes);

// Begins one change with `start(Completion<T>)`, waits for it, tells the mounts.
template <class T, class Start>
Result<T> wait_for(Services& services, Start start) {
  Change<T> change;
  start(change.completion());
  std::vector<ChangeSet> changes;
  Result<T> result = change.wait(changes);
  tell_mounts(services, changes);
  return result;
}

}  // namespace ebla::daemon
