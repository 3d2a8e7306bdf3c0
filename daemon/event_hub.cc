#include "daemon/event_hub.h"

#include <iterator>
#include <utility>

#include "schema/base/limits.h"

namespace ebla::daemon {

bool EventHub::wait(Look& look) {
  const std::scoped_lock lock(mutex_);
  if (stopped_ || count_ >= limits::kEventWaiters) return false;
  waiting_.push_back(std::move(look));
  ++count_;
  return true;
}

void EventHub::look_all(bool last) {
  const std::scoped_lock round(looking_);
  std::vector<Look> looks;
  {
    const std::scoped_lock lock(mutex_);
    looks.swap(waiting_);
  }
  count_ -= std::erase_if(looks, [last](Look& look) { return look(last); });
  const std::scoped_lock lock(mutex_);
  waiting_.insert(waiting_.end(), std::move_iterator(looks.begin()),
                  std::move_iterator(looks.end()));
}

void EventHub::poke() {
  look_all(false);
}

void EventHub::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  look_all(true);
}

}  // namespace ebla::daemon
