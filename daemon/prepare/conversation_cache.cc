#include "daemon/prepare/conversation_cache.h"

#include <utility>

#include "schema/base/limits.h"

namespace ebla::daemon {
namespace {

size_t bytes_of(const SeenList& seen) {
  size_t bytes = seen.list.text->size() + seen.replied.size() * sizeof(uint64_t);
  for (const context::Message& message : seen.list.conversation->messages) {
    bytes += sizeof message + message.parts.size() * sizeof(context::Part);
  }
  return bytes;
}

// Taken over where nobody else has it: the messages of a long list are many small allocations.
context::Conversation earlier_of(const SeenList& seen) {
  std::shared_ptr<const context::Conversation> mine = seen.list.conversation;
  // Letting go of one more share waits for what others did before they let go of theirs.
  std::shared_ptr<const context::Conversation>(mine).reset();
  const long here_and_there = 2;
  if (mine.use_count() > here_and_there) return *mine;
  return std::move(*std::const_pointer_cast<context::Conversation>(mine));
}

// `format` nullptr: what fits best. A first body is detected and read in one go.
Result<context::Conversation> read_conversation(const SeenList* seen, const context::Format* format,
                                                const std::string& body) {
  if (seen == nullptr) {
    const size_t behind = body.capacity() - body.size();
    return format == nullptr ? context::parse_any(body, behind) : format->parse(body, behind);
  }
  if (format == nullptr) {
    return context::parse_any_after(body, *seen->list.text, earlier_of(*seen));
  }
  return context::parse_after(*format, body, *seen->list.text, earlier_of(*seen));
}

}  // namespace

std::shared_ptr<const SeenList> ConversationCache::find(SessionId session) {
  const std::scoped_lock lock(mutex_);
  const auto place = places_.find(session);
  if (place == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->seen;
}

std::shared_ptr<const SeenList> ConversationCache::take(SessionId session) {
  const std::scoped_lock lock(mutex_);
  const auto place = places_.find(session);
  if (place == places_.end()) return nullptr;
  auto seen = std::move(place->second->seen);
  drop(session);
  return seen;
}

void ConversationCache::drop(SessionId session) {
  const auto place = places_.find(session);
  if (place == places_.end()) return;
  bytes_ -= place->second->bytes;
  entries_.erase(place->second);
  places_.erase(place);
}

void ConversationCache::keep(SessionId session, std::shared_ptr<const SeenList> seen) {
  const size_t bytes = bytes_of(*seen);
  const std::scoped_lock lock(mutex_);
  drop(session);
  if (bytes > limits::kSeenListBytes) return;
  entries_.push_front({session, std::move(seen), bytes});
  places_[session] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > limits::kSeenListBytes) drop(entries_.back().session);
}

void ConversationCache::forget(SessionId session) {
  const std::scoped_lock lock(mutex_);
  drop(session);
}

Result<ReadList> read_list(const SeenList* seen, const context::Format* format,
                           std::shared_ptr<const std::string> body) {
  const bool same_format = seen != nullptr && (format == nullptr || format == seen->format);
  if (same_format && *seen->list.text == *body) return ReadList{seen->list, seen->format};
  auto conversation = read_conversation(seen, format, *body);
  if (!conversation) return std::unexpected(conversation.error());
  format = &context::format_of(conversation->format);
  return ReadList{
      {std::move(body), std::make_shared<context::Conversation>(*std::move(conversation))}, format};
}

}  // namespace ebla::daemon
