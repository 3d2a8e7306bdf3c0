// Sections of a session's history, as they are written next: only what it does not hold yet.
#pragma once

#include <cstdint>
#include <vector>

#include "context/history.h"
#include "context/working_list.h"
#include "schema/store.h"

namespace ebla::daemon {

// What a message is known by in a history: its own id and what it says where it has an id, else
// everything up to it.
Hash128 history_key(const context::WorkingMessage& message);

struct NewSection {
  context::Section section;
  std::vector<Hash128> keys;            // of the messages in it
  std::vector<uint64_t> message_lines;  // of each message given; 0: the history held it before
  uint64_t history_bytes = 0;           // length that it is written for
};
// `input` without messages, ordinal, first_message, rewind_to and lines_before. `rewound`: an
// earlier section holds messages that are not in front of these.
Result<NewSection> new_section(Store& store, SessionId session,
                               std::span<const context::WorkingMessage* const> messages,
                               context::SectionInput input, bool rewound);

}  // namespace ebla::daemon
