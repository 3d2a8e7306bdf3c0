#include "daemon/prepare/history_section.h"

#include <string>
#include <utility>

namespace ebla::daemon {

Hash128 history_key(const context::WorkingMessage& message) {
  const std::string& id = message.message->id;
  if (id.empty()) return message.chain;
  std::string text = "message id " + id + " ";
  return xxh3_128(text + message.identity.hex());
}

Result<NewSection> new_section(Store& store, SessionId session,
                               std::span<const context::WorkingMessage* const> messages,
                               context::SectionInput input, bool rewound) {
  auto state = store.history_state(session);
  if (!state) return std::unexpected(state.error());
  std::vector<Hash128> keys;
  keys.reserve(messages.size());
  for (const context::WorkingMessage* message : messages) keys.push_back(history_key(*message));
  auto held = store.history_holds(session, keys);
  if (!held) return std::unexpected(held.error());

  NewSection out;
  out.history_bytes = state->bytes;
  for (size_t i = 0; i < messages.size(); ++i) {
    if ((*held)[i]) continue;
    input.messages.push_back(messages[i]);
    out.keys.push_back(keys[i]);
  }
  if (!messages.empty()) {
    const context::WorkingMessage& first =
        input.messages.empty() ? *messages.front() : *input.messages.front();
    input.first_message = first.place + 1;
    if (rewound) input.rewind_to = first.place;
  }
  input.ordinal = state->sections + 1;
  input.lines_before = state->lines;
  out.section = context::render_section(input);
  size_t next = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    out.message_lines.push_back((*held)[i] ? 0 : out.section.message_lines[next++]);
  }
  return out;
}

}  // namespace ebla::daemon
