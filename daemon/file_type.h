// Names the format of a file that is no text, from its first bytes.
#pragma once

#include <string_view>

namespace ebla::daemon {

// "PNG image", "gzip data", …; "data" when unknown. 512 bytes are enough.
std::string_view file_type(std::string_view head);

}  // namespace ebla::daemon
