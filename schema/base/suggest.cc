#include "schema/base/suggest.h"

#include <algorithm>

#include "schema/base/edit_distance.h"

namespace ebla {

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  // A long argument is no typing error, and the table grows with its square.
  constexpr size_t kLongestName = 64;
  if (name.empty() || name.size() > kLongestName) {
    return {};
  }
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace ebla
