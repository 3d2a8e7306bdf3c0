// A configuration file: `key = value` lines, `#` begins a comment line. Values go to the end of the
// line, white space around them removed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"

namespace ebla::daemon {

struct ConfigLine {
  int number = 0;   // from 1
  std::string key;  // '_' as it is written; empty never
  std::string value;
};

// bad_configuration with the number of the line, prefixed by `name`.
Result<std::vector<ConfigLine>> parse_config(std::string_view text, std::string_view name);

}  // namespace ebla::daemon
