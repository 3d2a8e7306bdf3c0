// Facts that were written and that the store does not answer yet: whoever reads one meanwhile, to
// write it anew, must not lose what was written a moment ago. Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ebla::daemon {

class FactsUnderWay {
 public:
  using Value = std::optional<std::string>;

  // nullopt: none of this name is under way.
  std::optional<Value> find(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto at = facts_.find(name);
    if (at == facts_.end()) return std::nullopt;
    return std::optional<Value>(std::in_place, at->second.first);
  }
  // Its ticket, for arrived(): a later one of the same name stays.
  uint64_t begin(const std::string& name, Value value) {
    const std::scoped_lock lock(mutex_);
    facts_[name] = {std::move(value), ++tickets_};
    return tickets_;
  }
  void arrived(const std::string& name, uint64_t ticket) {
    const std::scoped_lock lock(mutex_);
    const auto at = facts_.find(name);
    if (at != facts_.end() && at->second.second == ticket) facts_.erase(at);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::pair<Value, uint64_t>, std::less<>> facts_;
  uint64_t tickets_ = 0;
};

}  // namespace ebla::daemon
