// What a message or a result says, by how its JSON is written: text, blocks, or what no provider
// takes.
#pragma once

#include <string>
#include <string_view>

#include "context/formats/table.h"

namespace ebla::context {

ContentShape shape_of_content(const JsonValue& content);
// The same content as text or blocks, no word of it lost; `raw` is its JSON, "" where it is
// absent. `message`: whose own it is; nullptr: of a result, where a placeholder stands for nothing.
std::string legal_content(const FormatBase& format, const Message* message, std::string_view raw);

}  // namespace ebla::context
