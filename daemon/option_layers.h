// What the sources of options say, in their own words: one layer each, the one that counts most
// first. options.cc makes values of them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/options.h"
#include "schema/base/result.h"

namespace ebla::daemon {

// What one source says of an option or a setting.
struct Said {
  std::vector<std::string> values;  // one at least
  std::string origin;               // for status
  std::string where;                // for errors: "--store", "EBLA_STORE", "/etc/ebla/ebla.conf:3"
};
// By name of the option, or "set NAME" for a setting.
using Layer = std::map<std::string, Said, std::less<>>;
inline constexpr std::string_view kSettingPrefix = "set ";

// usage: unknown option, a missing value, stray words.
Result<Layer> read_arguments(const std::vector<std::string>& arguments);
// Variables that nobody reads become warnings.
Layer read_environment(const OptionSources& sources, std::vector<std::string>& warnings);
// The file that was named, or the default ones. bad_configuration: file and line.
Result<std::vector<Layer>> read_configs(const OptionSources& sources, const Layer& arguments,
                                        const Layer& environment);

// Parts between separators, empty ones left out.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace ebla::daemon
