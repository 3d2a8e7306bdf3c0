#include "daemon/prepare/list_draft.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ebla::daemon {

ListDraft::ListDraft(size_t messages) : entries_(messages), sent_(messages) {
  for (size_t i = 0; i < messages; ++i) entries_[i].origin = i;
}

void ListDraft::apply(std::span<const context::Splice> splices) {
  if (splices.empty()) return;
  std::vector<Entry> next;
  size_t at = 0;
  const auto keep_to = [&](size_t end) {
    std::move(entries_.begin() + static_cast<ptrdiff_t>(at),
              entries_.begin() + static_cast<ptrdiff_t>(end), std::back_inserter(next));
  };
  for (const context::Splice& splice : splices) {
    keep_to(splice.index);
    for (const std::string& text : splice.insert) next.push_back({std::nullopt, text});
    at = splice.index + splice.remove;
  }
  keep_to(entries_.size());
  entries_ = std::move(next);
}

size_t ListDraft::origin(size_t index) const {
  for (; index < entries_.size(); ++index) {
    if (entries_[index].origin) return *entries_[index].origin;
  }
  return sent_;
}

std::optional<size_t> ListDraft::place(size_t origin) const {
  const auto found = std::ranges::find(entries_, std::optional(origin), &Entry::origin);
  if (found == entries_.end()) return std::nullopt;
  return static_cast<size_t>(found - entries_.begin());
}

std::vector<context::Splice> ListDraft::splices() const {
  std::vector<context::Splice> all;
  size_t next = 0;  // of the sent list
  std::vector<std::string> insert;
  const auto close = [&](size_t origin) {
    if (origin > next || !insert.empty()) {
      all.push_back({next, origin - next, std::exchange(insert, {})});
    }
    next = origin + 1;
  };
  for (const Entry& entry : entries_) {
    if (entry.origin) {
      close(*entry.origin);
    } else {
      insert.push_back(entry.text);
    }
  }
  close(sent_);
  return all;
}

}  // namespace ebla::daemon
