#include "daemon/prepare/summary_desk.h"

#include <algorithm>

namespace ebla::daemon {

bool SummaryDesk::begin(const SummaryKey& key) {
  const std::scoped_lock lock(mutex_);
  return entries_.try_emplace(key).second;
}

void SummaryDesk::drop_oldest() {
  const auto finished = [](const auto& entry) { return entry.second.result.has_value(); };
  if (std::ranges::count_if(entries_, finished) <= static_cast<ptrdiff_t>(kKept)) return;
  auto oldest = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (!finished(*at)) continue;
    if (oldest == entries_.end() || at->second.order < oldest->second.order) oldest = at;
  }
  entries_.erase(oldest);
}

void SummaryDesk::finish(const SummaryKey& key, Result<std::string> text) {
  std::vector<Ready> waiting;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_[key];
    entry.result = std::move(text);
    entry.order = ++last_order_;
    waiting.swap(entry.waiting);
    drop_oldest();
  }
  for (Ready& ready : waiting) ready();
}

bool SummaryDesk::running(const SummaryKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(key);
  return at != entries_.end() && !at->second.result;
}

std::optional<Result<std::string>> SummaryDesk::result(const SummaryKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(key);
  return at == entries_.end() ? std::nullopt : at->second.result;
}

void SummaryDesk::forget(const SummaryKey& key) {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(key);
  if (at != entries_.end() && at->second.result) entries_.erase(at);
}

void SummaryDesk::when_finished(const SummaryKey& key, Ready ready) {
  {
    const std::scoped_lock lock(mutex_);
    const auto at = entries_.find(key);
    if (at != entries_.end() && !at->second.result) {
      at->second.waiting.push_back(std::move(ready));
      return;
    }
  }
  ready();
}

std::vector<std::string> SummaryDesk::ids(SessionId tree) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> ids;
  for (auto at = entries_.lower_bound({tree, {}}); at != entries_.end() && at->first.tree == tree;
       ++at) {
    ids.push_back(at->first.id);
  }
  return ids;
}

}  // namespace ebla::daemon
