#include "daemon/prepare/history_section.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "daemon/prepare/facts.h"

namespace ebla::daemon {
namespace {

// The number of the last message of the last section that has any.
std::string fact_name(SessionId session) {
  return fmt::format("written/{}", session);
}

}  // namespace

Hash128 history_key(const context::WorkingMessage& message) {
  const std::string& id = message.message->id;
  if (id.empty()) return message.chain;
  std::string text = "message id " + id + " ";
  return xxh3_128(text + message.identity.hex());
}

Result<NewSection> new_section(Services& services, SessionId session,
                               std::span<const context::WorkingMessage* const> messages,
                               context::SectionInput input) {
  Store& store = services.store;
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
  // With nothing new it tells of what it summarises.
  const auto& told = input.messages.empty() ? messages : std::span(std::as_const(input.messages));
  if (!told.empty()) {
    input.first_message = told.front()->place + 1;
    input.last_message = told.back()->place + 1;
  }
  if (!input.messages.empty()) {
    const uint64_t before = number_field(read_fact(services, fact_name(session)).value_or(""), 0);
    if (input.first_message <= before) input.rewind_to = input.first_message - 1;
    out.last_message = input.last_message;
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

void note_written(Services& services, SessionId session, const NewSection& section) {
  if (section.last_message == 0) return;
  write_fact(services, fact_name(session), join_numbers({section.last_message}));
}

}  // namespace ebla::daemon
