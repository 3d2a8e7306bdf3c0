// Frames of answers.
#pragma once

#include <string>
#include <string_view>

#include "daemon/control/control_target.h"
#include "schema/base/result.h"

namespace ebla::daemon {

// `id`: JSON text. The frame with its newline and blobs.
std::string encode_result(std::string_view id, const Reply& reply);
// Own codes and those of JSON-RPC alike carry data {name, retry}.
std::string encode_error(std::string_view id, const Error& error);

}  // namespace ebla::daemon
