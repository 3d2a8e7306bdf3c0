// Bytes of a put-away file by its path in the tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/store.h"

namespace ebla::daemon {

// At most `bytes` of its start. file_not_found when it was removed.
Result<std::string> stored_text(Store& store, std::string_view path, uint64_t bytes);

}  // namespace ebla::daemon
