// Checks a call's parameters against the method table.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "schema/base/json.h"
#include "schema/base/result.h"
#include "schema/rpc.h"

namespace ebla::daemon {

// An error, invalid_params, names the first parameter that is unknown, missing, given twice or of
// another type, and what the method takes. `blob_count`: how many {"$blob":i} may name.
// `fds_needed` becomes one more than the largest {"$fd":i}.
std::optional<Error> check_params(const rpc::Method& method, const Json& params, size_t blob_count,
                                  size_t& fds_needed);

// {"$blob":i}, {"$fd":i} or {"$path":"/abs"} in place of a body.
bool is_reference(const Json& value);

// method_not_found, with the nearest name when one is near.
Error unknown_method(std::string_view name);

// Foreign text as a message may quote it: printable, in quotes, at most some dozens of bytes.
std::string quoted(std::string_view text);

}  // namespace ebla::daemon
