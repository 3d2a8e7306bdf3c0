// Quotation marks and backticks of one line that was cut.
#pragma once

#include <string>
#include <string_view>

namespace ebla::context {

// Marks that `start` opens and `whole`, which begins with it, closes behind it: what closes them,
// innermost first. An opening mark that nothing follows goes from the end of `start`, and so does
// half an escape. A mark that `whole` never closes, as in 5", is none.
std::string closing_marks(std::string_view whole, std::string_view& start);

}  // namespace ebla::context
