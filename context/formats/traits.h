// What a body shows of its format, gathered once for all formats to judge.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "context/formats/json_tree.h"

namespace ebla::context {

// Of one element of the list; a set of these is one of several.
enum ElementTrait : uint16_t {
  kRole = 1 << 0,
  kNoRole = 1 << 1,
  kToolRole = 1 << 2,    // role tool or function
  kSystemRole = 1 << 3,  // role system or developer
  kToolCalls = 1 << 4,   // tool_calls or function_call of chat completions
  kChainType = 1 << 5,   // type human, ai, … or a serialised class
  kItemType = 1 << 6,    // type function_call, reasoning, …
  kToolBlock = 1 << 7,   // blocks tool_use, tool_result, thinking, or a medium with its source
  kItemBlock = 1 << 8,   // blocks input_text, output_text, …
  kUrlBlock = 1 << 9,    // blocks image_url, input_audio, file
};
using ElementTraits = uint16_t;  // every element has kRole or kNoRole

struct Traits {
  bool whole = false;     // an object that holds the list
  bool messages = false;  // the list is its member "messages" (or is the body itself)
  bool input = false;     // the list, or one string, is its member "input" (or the body itself)
  bool max_tokens = false;
  bool system = false;  // a system prompt beside the messages
  std::string model;

  ElementTraits elements = 0;  // what at least one has; 0: there is none
  bool has(int any) const { return (elements & any) != 0; }

  // Of the tool definitions beside the messages.
  bool schema_tools = false;    // input_schema
  bool function_tools = false;  // function: {…}
};
// `each`: of each element, in order.
Traits traits_of(const JsonTree& body, std::vector<ElementTraits>& each);

}  // namespace ebla::context
