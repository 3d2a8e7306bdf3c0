// The order of the steps of `prepare`.
#pragma once

#include <memory>

#include "daemon/prepare/conversation_cache.h"
#include "daemon/prepare/work.h"

namespace ebla::daemon {

// All steps on `work`, whose list has been read into `sent` and `format`. Blocks for the store.
// Afterwards either work.waits_for names a summary, and all is to be done again when it is there,
// or the work is done. Errors: bad requests.
Result<void> run_steps(Work& work);

}  // namespace ebla::daemon
