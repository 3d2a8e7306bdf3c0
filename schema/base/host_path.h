// Paths of the host. Those of the tree are schema/path.h's.
#pragma once

#include <string>
#include <string_view>

namespace ebla {

// The folder that holds the last element: "/" for "/x", "." for "x". The path does not end in '/'.
std::string folder_of(std::string_view path);

}  // namespace ebla
