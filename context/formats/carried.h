// Results that answer no call of the list. No provider takes them where they stand: what they say
// goes on as words of the user.
#pragma once

#include <optional>
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

// The result that a text carries on; nullopt: it is no such text, to the byte.
struct CarriedText {
  std::string_view lead;
  std::string_view said;  // by the tool
  std::string_view call_id;
  std::string_view tool;
};
std::optional<CarriedText> read_carried(std::string_view text);
// How a replacement stands in the place of this part: within the words that carry a result on.
std::string standing_form(const Part& part, std::string_view replacement);

// Whether a text is one that a repair put there: nobody said it.
bool is_stand_in(std::string_view text);

}  // namespace ebla::context
