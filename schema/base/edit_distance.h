// For "did you mean".
#pragma once

#include <cstddef>
#include <string_view>

namespace ebla {

// Insertions, removals, replacements and swaps of neighbours between the two. Time and memory grow
// with the product of their sizes: bound what a stranger wrote first.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace ebla
