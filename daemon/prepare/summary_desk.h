// Summaries that commands are making or have made: handed from the thread that made one to the
// calls that can use it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/base/hash.h"
#include "schema/base/result.h"
#include "schema/model.h"

namespace ebla::daemon {

// A session tree and the id of a summary.
struct SummaryKey {
  SessionId tree = 0;
  std::string id;
  auto operator<=>(const SummaryKey&) const = default;
};

// Thread safe.
class SummaryDesk {
 public:
  using Ready = std::move_only_function<void()>;

  // False: it is being made, or is there.
  bool begin(const SummaryKey& key);
  // Calls everyone who waits, on this thread.
  void finish(const SummaryKey& key, Result<std::string> text);
  bool running(const SummaryKey& key) const;
  // What came of it; nullopt: nothing yet, or never begun.
  std::optional<Result<std::string>> result(const SummaryKey& key) const;
  // It is used up.
  void forget(const SummaryKey& key);
  // Runs `ready` when it is finished: at once where it is already, or was never begun.
  void when_finished(const SummaryKey& key, Ready ready);
  // Ids of this tree that are being made or are there.
  std::vector<std::string> ids(SessionId tree) const;

 private:
  // Results that nobody came for are dropped, oldest first.
  static constexpr size_t kKept = 64;

  struct Entry {
    std::optional<Result<std::string>> result;
    std::vector<Ready> waiting;
    uint64_t order = 0;
  };
  void drop_oldest();

  mutable std::mutex mutex_;
  std::map<SummaryKey, Entry> entries_;
  uint64_t last_order_ = 0;
};

}  // namespace ebla::daemon
