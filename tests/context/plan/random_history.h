// Histories as agents really leave them: parallel calls, results in any order and between other
// messages, calls that never got one, ids used again, reasoning items, tools of the provider.
#pragma once

#include <random>

#include "context/list/conversation.h"

namespace ebla::context {

// `orderly`: no result comes after the model has gone on.
Conversation random_history(std::mt19937& random, size_t steps, bool orderly = false);

}  // namespace ebla::context
