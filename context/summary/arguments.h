// The arguments of a call on one line, as a summary shows them, and what of such a line tells one
// call from another.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/base/json.h"

namespace ebla::context {

// "url=x, timeout=5": those that say what the call is about come first.
std::string arguments_line(const Json& arguments, size_t characters);
// Whether it is such a line.
bool begins_argument(std::string_view line);
// Of such a line, cut or not, the arguments that say what the call is about, whatever their order;
// all of them where none does.
std::string main_arguments(std::string_view line);

}  // namespace ebla::context
