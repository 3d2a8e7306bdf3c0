#include "daemon/wait_for.h"

#include <fmt/format.h>

namespace ebla::daemon {

Error silent_store() {
  return {Code::unavailable,
          fmt::format("the store has not answered for {} s: see whether its disk still works",
                      limits::kStoreWaitMs / 1'000)};
}

void tell_mounts(Services& services, const std::vector<ChangeSet>& changes,
                 const std::shared_ptr<void>& held) {
  std::vector<std::future<void>> told;
  for (const ChangeSet& change : changes) {
    auto done = std::make_shared<std::promise<void>>();
    told.push_back(done->get_future());
    deliver_then(services, change, [done](bool) { done->set_value(); }, held);
  }
  for (std::future<void>& one : told) one.get();
}

void tell_late_changes(Services& services) {
  std::vector<ChangeSet> changes;
  {
    const std::scoped_lock lock(services.late_changes->mutex);
    changes.swap(services.late_changes->changes);
  }
  tell_mounts(services, changes);
}

}  // namespace ebla::daemon
