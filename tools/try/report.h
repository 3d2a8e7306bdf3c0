// What `ebla try` shows.
#pragma once

#include <string>

#include "tools/try/bill.h"
#include "tools/try/replay.h"
#include "tools/try/transcript.h"

namespace ebla::tools {

// Tables of at most 80 columns: the calls (unless `brief`), the files, the totals, and what the
// numbers do not know.
std::string report_text(const Transcript& transcript, const Replay& replay, const Bill& bill,
                        const Prices& prices, bool brief);
// One JSON object in one line.
std::string report_json(const Transcript& transcript, const Replay& replay, const Bill& bill,
                        const Prices& prices);
// What was left out of the list, a line each; "" for nothing.
std::string left_out(const Transcript& transcript);

}  // namespace ebla::tools
