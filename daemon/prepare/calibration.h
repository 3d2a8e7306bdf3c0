// What reports of providers teach: how many tokens a list really has, and how large a window is.
#pragma once

#include <string>

#include "daemon/prepare/work.h"

namespace ebla::daemon {

// Window and room. An overflow report corrects the window of the session, or of the model where
// only the table told it.
void find_room(Work& work);
// The correction of the list's count. A usage report is learnt from once.
void calibrate(Work& work);
// Counts the list, which was read anew, as the one before it.
void calibrate_again(Work& work, double ratio);

// Names the list as it now stands: what a later usage report and the count of its beginning go by.
std::string revision_of(const Work& work);
// Tokens of the list by our own count alone, unscaled.
uint64_t raw_count(const context::WorkingList& list);

}  // namespace ebla::daemon
