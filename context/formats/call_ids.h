// Ids of calls. Each call of a list has one of its own, or a provider refuses the list or takes one
// call for another; frameworks that count from 1 in every turn, and retries that stand in the list
// twice, use them again. A later call is then told by its number: to the provider it bears another
// id, while decisions, names of files and identities go by the one that the client gave it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "context/formats/pairs.h"
#include "context/formats/table.h"

namespace ebla::context {

struct CallId {
  std::string_view id;  // as the client gave it
  uint32_t number = 0;  // 2 and more: a repair told it from earlier calls of the same id
};
// What a list says, taken apart; written_id() of it is the same again.
CallId read_call_id(std::string_view written);
std::string written_id(std::string_view id, uint32_t number);
inline std::string written_id(const Part& part) {
  return written_id(part.call_id, part.number);
}

// Calls whose id an earlier one bears, but for a higher number: in the same message where results
// stand right behind their calls, else anywhere in the list. In order; those without an id, and
// those that the provider answers itself, are none.
std::vector<PartAt> repeated_calls(ResultPlace place, const Conversation& conversation);
// The numbers that tell these, some of the repeated ones, from all other calls: each the next one
// of its id, so that a list that has lost its beginning goes on counting.
std::vector<uint32_t> new_numbers(ResultPlace place, const Conversation& conversation,
                                  const std::vector<PartAt>& calls);

// One part of a message that bears another number from now on.
struct NewNumber {
  size_t part = 0;
  uint32_t number = 0;
};
// The JSON of this message, whatever was done to its contents, with other ids; ascending by part.
std::string with_new_ids(const FormatBase& format, std::string json, const Message& message,
                         const std::vector<NewNumber>& numbers);

}  // namespace ebla::context
