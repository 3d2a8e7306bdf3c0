// What a body shows of its format, gathered once for all formats to judge.
#pragma once

#include <string>

#include "context/formats/json_tree.h"

namespace ebla::context {

struct Traits {
  bool whole = false;     // an object that holds the list
  bool messages = false;  // the list is its member "messages" (or is the body itself)
  bool input = false;     // the list, or one string, is its member "input" (or the body itself)
  bool max_tokens = false;
  bool system = false;  // a system prompt beside the messages
  std::string model;

  // Of the elements, each when at least one has it.
  bool empty = true;          // there is none
  bool roles = false;         // a role
  bool no_role = false;       // none
  bool tool_roles = false;    // role tool or function
  bool system_roles = false;  // role system or developer
  bool tool_calls = false;    // tool_calls or function_call of chat completions
  bool chains = false;        // type human, ai, … or a serialised class
  bool items = false;         // type function_call, reasoning, …
  bool tool_blocks = false;   // blocks tool_use, tool_result, thinking, or a medium with its source
  bool item_blocks = false;   // blocks input_text, output_text, …
  bool url_blocks = false;    // blocks image_url, input_audio, file

  // Of the tool definitions beside the messages.
  bool schema_tools = false;    // input_schema
  bool function_tools = false;  // function: {…}
};
Traits traits_of(const JsonTree& body);

}  // namespace ebla::context
