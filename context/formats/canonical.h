// JSON values without white space and with their keys in order.
#pragma once

#include <string>
#include <string_view>

#include "context/formats/json_tree.h"

namespace ebla::context {

// What clients move from block to block: no part of what a block says.
inline constexpr std::string_view kCacheMark = "cache_control";

// Strings decoded and escaped in one way, number text as it stands, of equal keys the last.
// Members named `without` are left out at the top.
void append_canonical(std::string& out, const JsonValue& value, std::string_view without = {});

// Of a call's arguments as a string holds them: no text at all stands for no arguments.
std::string canonical_arguments(std::string_view text);

}  // namespace ebla::context
