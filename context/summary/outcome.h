// How a tool's result reads to the eye: whether it failed, and its one line that says most.
#pragma once

#include <string>
#include <string_view>

namespace ebla::context {

struct Outcome {
  std::string telling;  // clean, one line; "" when there is none
  bool failed = false;  // it tells of an exit status other than 0
  bool error = false;   // no status, but a line that is an error
};

// `text`: the result, or the notice with the preview that stands for it.
Outcome outcome_of(std::string_view text);

}  // namespace ebla::context
