// The outermost members or items of a JSON text, by their bytes: enough to take one out and leave
// every other byte as it came. Values are not checked beyond their strings and brackets; who reads
// the whole does that.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"

namespace ebla::tools {

struct MemberSpan {
  std::string name;        // decoded
  std::string_view whole;  // from the quote of its name to the end of its value
  std::string_view value;
};

// In source order, equal names kept. parse_error where the text is no object from start to end.
Result<std::vector<MemberSpan>> member_spans(std::string_view object);
// The last one of this name; nullptr when absent.
const MemberSpan* find_span(const std::vector<MemberSpan>& members, std::string_view name);
// The items of an array.
Result<std::vector<std::string_view>> item_spans(std::string_view array);

// The object without the members of this name, and without the commas that they leave over.
std::string without_member(std::string_view object, const std::vector<MemberSpan>& members,
                           std::string_view name);

}  // namespace ebla::tools
