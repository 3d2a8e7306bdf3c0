// What happens at the trigger, on overflow, and when the caller asks to compact.
#pragma once

#include "daemon/prepare/work.h"

namespace ebla::daemon {

void late_pass(Work& work);

}  // namespace ebla::daemon
