// Tags and comments by which hosts and chat templates tell their own words from others'.
#pragma once

#include <string>
#include <string_view>

namespace ebla::context {

// With a backslash before each of them, so that they are text: "<system>", "</summary>",
// "<|im_start|>", "<!--". Those that have one already stay, and so do tags of any other name.
std::string without_frames(std::string_view text);

}  // namespace ebla::context
