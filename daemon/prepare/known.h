// Known decisions: asked of the store, applied to the list.
#pragma once

#include <span>
#include <vector>

#include "daemon/prepare/work.h"

namespace ebla::daemon {

// Fills `list`; takes what `repair` leaves. A store that cannot be read degrades the work; the list
// is then the client's own.
Result<void> apply_known(Work& work);
// One answer each; empty ones where the session is not stored, so that nothing was decided in it.
Result<std::vector<ItemAnswer>> find_items(const Work& work, std::span<const ItemQuery> queries);

// A call with arguments replaced, counted as it will be when the client sends it back: two clients
// of which one keeps its list and one replaces it count the same.
void recount_call(const Work& work, context::WorkingMessage& message, size_t part);

}  // namespace ebla::daemon
