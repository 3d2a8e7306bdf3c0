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

// Taken over where nobody else has it: the messages of a long list are many small allocations, and
// its text is long.
template <class T>
T taken_over(std::shared_ptr<const T> mine) {
  // Letting go of one more share waits for what others did before they let go of theirs.
  std::shared_ptr<const T>(mine).reset();
  const long here_and_there = 2;
  if (mine.use_count() > here_and_there) return *mine;
  return std::move(*std::const_pointer_cast<T>(mine));
}

// `format` nullptr: what fits best. A first body is detected and read in one go.
Result<context::Conversation> read_conversation(const SeenList* seen, const context::Format* format,
                                                const std::string& body, size_t same) {
  if (seen == nullptr) {
    const size_t behind = body.capacity() - body.size();
    return format == nullptr ? context::parse_any(body, behind) : format->parse(body, behind);
  }
  context::Conversation earlier = taken_over(seen->list.conversation);
  if (format == nullptr) return context::parse_any_after(body, same, std::move(earlier));
  return context::parse_after(*format, body, same, std::move(earlier));
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
                           std::shared_ptr<const std::string> body, std::optional<size_t> same) {
  const bool same_format = seen != nullptr && (format == nullptr || format == seen->format);
  const bool same_text =
      seen != nullptr && (body == seen->list.text || (!same && *body == *seen->list.text));
  if (same_format && same_text) return ReadList{seen->list, seen->format};
  if (seen != nullptr && !same) same = context::common_prefix(*body, *seen->list.text);
  auto conversation = read_conversation(seen, format, *body, same.value_or(0));
  if (!conversation) return std::unexpected(conversation.error());
  format = &context::format_of(conversation->format);
  return ReadList{
      {std::move(body), std::make_shared<context::Conversation>(*std::move(conversation))}, format};
}

std::shared_ptr<const std::string> continued(const SeenList& seen, size_t bytes,
                                             std::string_view rest) {
  if (rest.empty() && bytes == seen.list.text->size()) return seen.list.text;
  std::string text = taken_over(seen.list.text);
  text.resize(bytes);
  text.append(rest);
  return std::make_shared<std::string>(std::move(text));
}

}  // namespace ebla::daemon
