// From the name of a method to the function that serves it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/control/control_target.h"
#include "daemon/services.h"

namespace ebla::daemon {

struct MethodEntry {
  std::string_view name;
  void (*run)(MethodCall call);
  bool writes;  // refused while the daemon stops
};
std::span<const MethodEntry> method_entries();

class MethodTable final : public ControlTarget {
 public:
  explicit MethodTable(Services& services) : services_(services) {}
  void call(std::shared_ptr<Request> request, Responder respond) override;
  // The session's key, or its id where it has none. One read of the store for a name that was not
  // seen before; none afterwards.
  std::string canonical_session(const Peer& peer, std::string_view session) override;

 private:
  static constexpr size_t kNames = 4096;

  Services& services_;
  std::map<std::pair<uid_t, std::string>, std::string> names_;  // event loop's thread only
};

}  // namespace ebla::daemon
