// The turns of a conversation: what the user asked for, what the model has not read yet.
#pragma once

#include <cstddef>
#include <vector>

#include "context/formats/pairs.h"
#include "context/list/conversation.h"

namespace ebla::context {

// The user speaks, and nothing else stands in the message.
bool is_request(const Message& message);
// The host speaks, neither user nor model.
bool is_system(const Message& message);
// It holds a call or a result.
bool has_tools(const Message& message);

// First message after the last one of the model: what comes from there on is fresh.
size_t first_fresh(const Conversation& conversation);
// First message of the model's turn that the list ends in, with nothing but results behind it;
// messages.size(): the list ends otherwise.
size_t live_turn(const Conversation& conversation);
// No summary covers this message or a later one: the first fresh one that holds a result, or the
// first whose call still waits for one, else the last of the list.
size_t first_needed(const Conversation& conversation);

// Results of a repaired list that the model has not read although a message of it stands behind
// them: in the list that was sent they came after everything that it said, and moved behind their
// calls. Ascending.
std::vector<PartAt> late_results(const Conversation& sent, const Conversation& repaired);

// Results that came when the model had gone on without them, with their calls; by the place of the
// result. Not those for which the client has kept a result of ours that says there is none.
std::vector<Pair> belated_results(const Conversation& conversation);

// The call that this result answers; nullptr: none.
const PartAt* call_of(const Pairing& pairing, PartAt result);

}  // namespace ebla::context
