// What happens at the trigger, on overflow, and when the caller asks to compact; and the budget of
// the turn, which goes by what that leaves of the rest.
#pragma once

#include "daemon/prepare/work.h"

namespace ebla::daemon {

void late_pass(Work& work);

}  // namespace ebla::daemon
