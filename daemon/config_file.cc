#include "daemon/config_file.h"

#include <fmt/format.h>

#include "schema/base/json.h"

namespace ebla::daemon {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

Result<std::vector<ConfigLine>> parse_config(std::string_view text, std::string_view name) {
  std::vector<ConfigLine> lines;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const size_t equals = line.find('=');
    const std::string_view key =
        equals == std::string_view::npos ? std::string_view() : trimmed(line.substr(0, equals));
    if (key.empty()) {
      return fail(Code::bad_configuration,
                  fmt::format("{}:{}: \"{}\" is not of the form key = value", name, number,
                              printable(line)));
    }
    lines.push_back({number, std::string(key), std::string(trimmed(line.substr(equals + 1)))});
  }
  return lines;
}

}  // namespace ebla::daemon
