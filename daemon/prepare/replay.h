// Lists that were answered before. What is decided later, on another branch or under other limits,
// changes the lists that come then, never these: the same list gives the same bytes.
#pragma once

#include <optional>

#include "daemon/prepare/work.h"

namespace ebla::daemon {

// How this very list was answered; nullopt: it was not, or the caller asks for more than that.
std::optional<Replay> find_replay(const Work& work);
// Whether that still does: the list fits, in a window that has not become smaller.
bool replay_holds(const Work& work);
// Remembers how the list is answered now. Not waited for.
void keep_replay(Work& work);

}  // namespace ebla::daemon
