// A list of messages under change: several rounds of splices, each of the list as it then stands,
// become splices of the list that was sent.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "context/formats/format.h"

namespace ebla::daemon {

class ListDraft {
 public:
  explicit ListDraft(size_t messages);

  void apply(std::span<const context::Splice> splices);
  // Index in the list that was sent; of a message that came in: of what it stands in front of.
  size_t origin(size_t index) const;
  // Index now of a message that was sent; nullopt when it is gone.
  std::optional<size_t> place(size_t origin) const;
  std::vector<context::Splice> splices() const;

 private:
  struct Entry {
    std::optional<size_t> origin;  // none: `text`
    std::string text;
  };
  std::vector<Entry> entries_;
  size_t sent_;
};

}  // namespace ebla::daemon
