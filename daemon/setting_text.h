// A setting as people write it, to the JSON text that the context engine takes.
#pragma once

#include <string>
#include <string_view>

namespace ebla::daemon {

// Lists may be written a,b,c and choices without quotes. Anything that begins like JSON is left as
// it is; an unknown name too, so that its error comes from the table.
std::string setting_json(std::string_view name, std::string_view text);

}  // namespace ebla::daemon
