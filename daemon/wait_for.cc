#include "daemon/wait_for.h"

namespace ebla::daemon {

void tell_mounts(Services& services, const std::vector<ChangeSet>& changes) {
  std::vector<std::future<void>> told;
  for (const ChangeSet& change : changes) {
    auto done = std::make_shared<std::promise<void>>();
    told.push_back(done->get_future());
    deliver_then(services, change, [done](bool) { done->set_value(); });
  }
  for (std::future<void>& one : told) one.get();
}

}  // namespace ebla::daemon
