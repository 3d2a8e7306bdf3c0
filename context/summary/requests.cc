#include "context/summary/requests.h"

#include <algorithm>
#include <iterator>

#include "context/list/part_text.h"
#include "schema/base/utf8.h"

namespace ebla::context {

Requests requests_of(const SummaryInput& input) {
  const WorkingList& list = *input.list;
  const size_t removed = std::min(input.removed, list.messages.size());
  SummaryParts before = parts_of_summary(list.summary);
  Requests out;
  for (const WorkingMessage& pin : list.pins) out.first_stays |= pin.first_task;
  bool newest = true;
  for (size_t i = list.messages.size(); i-- > 0;) {
    const WorkingMessage& message = list.messages[i];
    if (!user_speaks(input.body, message)) continue;
    out.first_stays |= message.pinned && message.first_task;
    if (i >= removed || message.pinned) {
      out.newer_follows |= newest && i >= removed;
    } else if (newest) {
      out.current = utf8::to_valid(user_text(input.body, message));
    } else {
      out.words.push_back({utf8::to_valid(user_text(input.body, message)), ""});
    }
    newest = false;
  }
  if (!before.current_request.empty()) {
    if (newest) {
      out.current = std::move(before.current_request);
    } else {
      out.words.push_back({std::move(before.current_request), ""});
    }
  }
  std::move(before.words.begin(), before.words.end(), std::back_inserter(out.words));
  return out;
}

}  // namespace ebla::context
