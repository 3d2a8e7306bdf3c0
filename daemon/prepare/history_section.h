// Sections of a session's history, as they are written next: only what it does not hold yet.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "context/history.h"
#include "context/list/working_list.h"
#include "daemon/services.h"
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
  uint64_t last_message = 0;            // number of the last one in it, 0: it has none
};
// `input` without messages, their numbers, ordinal, rewind_to and lines_before.
Result<NewSection> new_section(Services& services, SessionId session,
                               std::span<const context::WorkingMessage* const> messages,
                               context::SectionInput input);
// It was written: a later one that begins at an earlier number comes after a rewind.
void note_written(Services& services, SessionId session, const NewSection& section);

}  // namespace ebla::daemon
