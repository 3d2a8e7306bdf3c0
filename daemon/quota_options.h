// The options that limit what a store may hold, as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/options.h"
#include "schema/base/result.h"
#include "schema/sqlite/quota.h"

namespace ebla::daemon {

// Bytes, or so many times 1024, 1024 · 1024 and so on: "500M". bad_configuration: what a size is.
Result<uint64_t> parse_size(std::string_view text);

// Of options that read_options() has accepted. 0 where nothing is said.
sqlite::Quotas quotas_of(const Options& options);

}  // namespace ebla::daemon
