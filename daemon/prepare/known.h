// Known decisions: asked of the store, applied to the list. First repaired, so that what is found
// does not depend on whether the client keeps our repairs.
#pragma once

#include "daemon/prepare/work.h"

namespace ebla::daemon {

// Fills `current`, `draft` and `list`; takes `sent` and `format`. invalid_params: pins that are out
// of range. A store that cannot be read degrades the work; the list is then the client's own.
Result<void> apply_known(Work& work);

// A call with arguments replaced, counted as it will be when the client sends it back: two clients
// of which one keeps its list and one replaces it count the same.
void recount_call(const Work& work, context::WorkingMessage& message, size_t part);

}  // namespace ebla::daemon
