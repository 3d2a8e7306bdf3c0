// What a part of the working list says: as it stands now, as it was, and what is the user's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "context/list/working_list.h"
#include "schema/base/json.h"

namespace ebla::context {

// Up to `bytes` of a text as it was before it was put away: of a part, or of one string argument of
// a call by its name, "" the part. "" where nobody knows it any more.
using Excerpt = std::function<std::string(const WorkingMessage&, size_t part,
                                          std::string_view argument, size_t bytes)>;

// The text as the list stands: the replacement where there is one. Of a call: its arguments, with
// the marks in them, as whoever keeps the new list sends them back.
std::string standing_text(std::string_view body, const WorkingMessage& message, size_t part);
// A call's arguments as JSON text, decoded once where the format keeps them in a string; a custom
// tool's input as it is.
std::string arguments_text(std::string_view body, const Part& call);
// The same as a value; null when they are no object.
Json arguments_value(std::string_view body, const Part& call);
// What a call was given: an object, or a string where it is none. Marks in it stand for what they
// stood for as far as `excerpt` knows that, for themselves else: whether the client keeps its own
// list or the new one makes no difference.
Json given_arguments(std::string_view body, const WorkingMessage& message, size_t part,
                     const Excerpt& excerpt);

// What of a part was put away: all of it, or one argument of a call.
struct PutAway {
  std::string argument;  // its name; "" the part
  std::string path;      // of the file
  uint64_t tokens = 0;   // that it had, by size rule
};
std::vector<PutAway> put_away_of(const WorkingMessage& message, size_t part);

// Whether it is a message in which the user speaks: not one that only carries results.
bool user_speaks(std::string_view body, const WorkingMessage& message);
// What the user says there, text blocks joined by LF. Notes that a host put between its own tags
// for the model alone are left out.
std::string user_text(std::string_view body, const WorkingMessage& message);

}  // namespace ebla::context
