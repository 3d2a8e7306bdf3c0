// A pass: from now on one message stands for the beginning of the list, which the history holds.
#pragma once

#include <cstddef>

#include "daemon/prepare/summaries.h"
#include "daemon/prepare/work.h"

namespace ebla::daemon {

// History section, pass and keys in one transaction, then the list. False, and the list as it was:
// the store failed and the work is degraded, or the summary would not make the list smaller. In a
// dry run only the list changes.
bool make_pass(Work& work, size_t cut, const MadeSummary& summary);

}  // namespace ebla::daemon
