// Random histories as agents have them, written in each of the formats.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "context/formats/format.h"

namespace ebla::context::test {

enum class Dialect : uint8_t {
  anthropic,
  openai,
  openai_functions,  // function_call and the role function
  responses,
  chain_plain,
  chain_data,
  chain_class,
};
inline constexpr Dialect kDialects[] = {
    Dialect::anthropic,   Dialect::openai,     Dialect::openai_functions, Dialect::responses,
    Dialect::chain_plain, Dialect::chain_data, Dialect::chain_class,
};
FormatId format_id(Dialect dialect);

struct CallStep {
  std::string id;
  std::string name;
  std::string arguments;  // a JSON object
  std::string result;     // text
  bool image = false;     // the result holds one besides
};
struct Step {
  enum class Who : uint8_t { user, model } who = Who::user;
  std::string text;      // "" of the model: none
  std::string thinking;  // "" none
  bool server_tool = false;
  std::vector<CallStep> calls;       // each with its result right behind the step
  std::vector<size_t> result_order;  // in which they came back
};
using History = std::vector<Step>;

struct Wishes {
  size_t steps = 12;
  size_t parallel = 4;  // calls at most
  bool plain_calls =
      false;  // one call a step, no words beside it: a message means the same everywhere
};
History random_history(std::mt19937& random, const Wishes& wishes = {});
// Elements of the list, and the whole request. Without `random` results follow as their order says;
// with it those of Responses come between the calls too.
std::vector<std::string> messages_of(const History& history, Dialect dialect,
                                     std::mt19937* random = nullptr);
std::string request_of(const std::vector<std::string>& messages, Dialect dialect);

// The same JSON written another way: white space, order of keys, escapes, unknown members with odd
// numbers, members named twice (the last one counts).
std::string rewritten(std::string_view json, std::mt19937& random);

size_t below(std::mt19937& random, size_t count);
bool chance(std::mt19937& random, size_t one_in);

}  // namespace ebla::context::test
