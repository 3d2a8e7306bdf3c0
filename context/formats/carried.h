// Results that answer no call of the list. No provider takes them where they stand: what they say
// goes on as words of the user.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "context/formats/table.h"

namespace ebla::context {

// One text that holds all that the result says. `answered`: the call of its id, which has its
// result already; nullptr: there is none.
std::string carried_text(std::string_view body, const Part& result, const Part* answered);
// The same as blocks of a user's message, the media of the result behind it.
std::vector<std::string> carried_blocks(const FormatBase& format, std::string_view body,
                                        const Message& message, size_t result,
                                        const Part* answered);

// Whether a text is one that a repair put there: nobody said it.
bool is_stand_in(std::string_view text);

}  // namespace ebla::context
