// What one would search for: addresses, paths, ids, digests, names of code, long numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "context/summary/summary.h"

namespace ebla::context {

// Collects terms from texts, newest text last. Deterministic; bounded by what it keeps of each text
// and by the number of terms.
class Terms {
 public:
  // `weight`: how much a mention there says; the user's own counts most.
  void add(std::string_view text, uint32_t weight);
  // The same of one whole value, which may be a path with spaces; `path`: it is named so.
  void add_value(std::string_view text, uint32_t weight, bool path);
  // At most so many, best first.
  std::vector<std::string> best(size_t count) const;

 private:
  struct Entry {
    uint64_t score = 0;
    uint64_t order = 0;   // of the last mention
    bool spoken = false;  // the user named it
  };
  void word(std::string_view word, uint32_t telling, uint32_t weight);

  std::unordered_map<std::string, Entry> entries_;
  uint64_t order_ = 0;
};

// Of the removed messages: what the user named counts most, what tools printed least.
Terms terms_of(const SummaryInput& input);

}  // namespace ebla::context
