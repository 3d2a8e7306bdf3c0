// Where else in a list an item stands. A decision is found by what the item is, not by its place:
// the next call finds it for every one of these, so they all go at once.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "context/plan/plan.h"

namespace ebla::context {

// What decisions about an item are found by; both kinds of a result are one. Points into the list.
struct ItemKey {
  ArtifactKind kind = ArtifactKind::tool_result;
  std::string_view call_id;
  Hash128 hash;
  uint64_t bytes = 0;
  bool operator==(const ItemKey&) const = default;
};
struct ItemKeyHash {
  size_t operator()(const ItemKey& key) const { return key.hash.low; }
};
ItemKey key_of(const WorkingList& list, const ItemPlan& plan);

// The items of a list that stand whole. The list must outlive it, and only replacements may change
// it meanwhile. Reads the list once.
class Equals {
 public:
  explicit Equals(const WorkingList& list);
  // The plan for each place where its item stands, its own among them, in the order of the list.
  std::vector<ItemPlan> of(const ItemPlan& plan) const;

 private:
  struct Place {
    bool pin = false;
    size_t message = 0;
    size_t part = 0;
    std::string_view argument;
  };
  void add(const std::vector<WorkingMessage>& messages, bool pin);
  bool fresh(bool pin, size_t message, size_t part) const;

  const WorkingList& list_;
  std::unordered_map<ItemKey, std::vector<Place>, ItemKeyHash> places_;
};

}  // namespace ebla::context
