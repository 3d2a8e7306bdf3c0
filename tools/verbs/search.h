// What grep and glob share.
#pragma once

#include <string>

#include "schema/base/json.h"
#include "schema/base/result.h"
#include "tools/verb.h"

namespace ebla::tools {

// The members pattern, path and session, from the operands PATTERN [PATH] and --session.
Result<void> add_search(JsonWriter& params, const Call& call);
// What the search could not do.
std::string search_notes(const Json& reply);
// 0 for something found, 1 for nothing as grep has it, kExitRetry for nothing in the time there
// was.
int search_status(const Json& reply, bool found);

}  // namespace ebla::tools
