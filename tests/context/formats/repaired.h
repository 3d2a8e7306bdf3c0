// A list as repair leaves it, and what is still wrong with one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "context/formats/format.h"
#include "schema/base/json.h"

namespace ebla::context::test {

inline std::string repaired(const std::string& body, const Format& format) {
  const Conversation c = *format.parse(body);
  const auto repairs = format.repairs(body, c);
  return apply_splices(body, c, format.repair_splices(body, c, repairs));
}

inline std::vector<std::string> breaches(const std::string& body, const Format& format) {
  const auto c = format.parse(body);
  return c ? format.breaches(body, *c) : std::vector{c.error().text};
}

inline std::string canonical(std::string_view json) {
  return to_json(*parse_json(json));
}

}  // namespace ebla::context::test
