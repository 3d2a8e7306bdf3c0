// "Did you mean": the nearest name to a mistyped one.
#pragma once

#include <span>
#include <string_view>

namespace ebla {

// The nearest candidate, if it is near enough to be what was meant; else empty.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace ebla
