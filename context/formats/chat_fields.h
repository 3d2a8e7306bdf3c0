// Fields of chat completions that other formats carry along.
#pragma once

#include "context/formats/reading.h"

namespace ebla::context {

// tool_calls and function_call of `holder`.
void read_chat_calls(PartReader& reader, Message& message, const JsonValue& holder);
// Reasoning that stands beside the content.
void read_reasoning_fields(PartReader& reader, Message& message, const JsonValue& holder);

// This member of each element of a list.
std::vector<JsonValue> ids_within(const JsonValue& list, std::string_view name = "id");

}  // namespace ebla::context
