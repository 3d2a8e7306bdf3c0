// Summaries that the client is asked for. How often it was asked is kept in the store, so that it
// holds over a restart.
#pragma once

#include <string>
#include <vector>

#include "daemon/prepare/work.h"

namespace ebla::daemon {

// False: it was asked limits::kSummaryOffers times and did not answer.
bool may_offer(const Work& work);
// Sets work.offer. Error: the summariser's window has no room for one.
Result<void> make_offer(Work& work, size_t cut, bool must);
// A text was refused: true for the first time.
bool may_retry(Work& work);
void clear_offer(Work& work);
// Id of the offer that is open, and of the summaries that commands make for this session tree.
std::vector<std::string> pending_ids(const Work& work);

}  // namespace ebla::daemon
