// Parameters of a call by name. Types were checked against the method table by the control socket;
// here come the ranges. A missing parameter gives the fallback.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/services.h"

namespace ebla::daemon {

// invalid_params: "NAME: … (LOW to HIGH)".
Result<int64_t> integer_param(const Json& params, std::string_view name, int64_t fallback,
                              int64_t low, int64_t high);
// The text; invalid_params above `limit_bytes`.
Result<std::string> text_param(const Json& params, std::string_view name, size_t limit_bytes);
bool flag_param(const Json& params, std::string_view name);

inline Result<int64_t> integer_param(const MethodCall& call, std::string_view name,
                                     int64_t fallback, int64_t low, int64_t high) {
  return integer_param(call.params(), name, fallback, low, high);
}
inline Result<std::string> text_param(const MethodCall& call, std::string_view name,
                                      size_t limit_bytes) {
  return text_param(call.params(), name, limit_bytes);
}
inline bool flag_param(const MethodCall& call, std::string_view name) {
  return flag_param(call.params(), name);
}

}  // namespace ebla::daemon
