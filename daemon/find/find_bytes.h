// The first place of a needle in a haystack, at the speed of memory for any needle.
#pragma once

#include <cstddef>
#include <string_view>

namespace ebla::daemon {

// npos for none. The needle is not empty.
size_t find_bytes(std::string_view text, std::string_view needle, size_t from);

}  // namespace ebla::daemon
