#include "daemon/methods/params.h"

#include <fmt/format.h>

namespace ebla::daemon {
namespace {

const Json* given(const Json& params, std::string_view name) {
  const Json* value = params.find(name);
  return value == nullptr || value->is(Json::Kind::null) ? nullptr : value;
}

}  // namespace

Result<int64_t> integer_param(const Json& params, std::string_view name, int64_t fallback,
                              int64_t low, int64_t high) {
  const Json* value = given(params, name);
  if (value == nullptr) return fallback;
  const auto number = value->as_int64();
  if (number && *number >= low && *number <= high) return *number;
  return fail(Code::invalid_params, fmt::format("{}: {} is not an integer from {} to {}", name,
                                                printable(value->text), low, high));
}

Result<std::string> text_param(const Json& params, std::string_view name, size_t limit_bytes) {
  const Json* value = given(params, name);
  if (value == nullptr) return std::string();
  if (!value->is(Json::Kind::string)) {
    return fail(Code::invalid_params, fmt::format("{}: a string is needed", name));
  }
  if (value->text.size() <= limit_bytes) return value->text;
  return fail(Code::invalid_params, fmt::format("{}: {} bytes, at most {} are taken", name,
                                                value->text.size(), limit_bytes));
}

bool flag_param(const Json& params, std::string_view name) {
  const Json* value = given(params, name);
  return value != nullptr && value->boolean;
}

}  // namespace ebla::daemon
