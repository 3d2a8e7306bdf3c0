// Reading the list of a request, its messages side by side where it is long.
#include <algorithm>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "context/formats/pairs.h"
#include "context/formats/reading.h"
#include "schema/base/hash.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

// Threads that read one list, at most, and bytes of it that are worth one.
constexpr size_t kMostThreads = 4;
constexpr size_t kThreadBytes = limits::kMiB;

// Messages next to each other, read by one thread.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
  std::string fault;  // of the message before which it stopped
};

// Each about as long as the others, as many as are worth a thread.
std::vector<Stretch> stretches_of(std::span<const JsonValue> items) {
  const size_t bytes = items.empty() ? 0 : items.back().span().end - items.front().span().begin;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  const size_t most = std::min(kMostThreads, processors);
  const size_t count = std::clamp<size_t>(bytes / kThreadBytes, 1, most);
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < items.size(); ++i) {
    const size_t at = items[i].span().begin - items.front().span().begin;
    if (at * count >= stretches.size() * bytes)
      stretches.push_back({.begin = i, .end = i, .fault = {}});
    stretches.back().end = i + 1;
  }
  return stretches;
}

void read_stretch(std::span<const JsonValue> items, const ReadMessage& read,
                  std::span<Message> messages, Stretch& stretch) {
  PartReader reader;
  for (size_t i = stretch.begin; i < stretch.end; ++i) {
    const JsonValue& item = items[i];
    Message& message = messages[i];
    message.span = item.span();
    message.bytes_hash = xxh3_64(item.raw());
    stretch.fault = item.is_object() ? read(reader, item, message) : "must be an object";
    if (!stretch.fault.empty()) {
      stretch.end = i;
      return;
    }
    reader.finish(message);
  }
}

constexpr auto kThreadIfPossible = std::launch::async | std::launch::deferred;

// What one message says hangs on no other.
void read_stretches(std::span<const JsonValue> items, const ReadMessage& read,
                    std::span<Message> messages, std::span<Stretch> stretches) {
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < stretches.size(); ++i) {
    others.push_back(std::async(kThreadIfPossible,
                                [&, i] { read_stretch(items, read, messages, stretches[i]); }));
  }
  if (!stretches.empty()) read_stretch(items, read, messages, stretches.front());
  for (std::future<void>& other : others) other.get();
}

}  // namespace

std::unexpected<Error> bad_place(std::string_view place, std::string_view fault) {
  return fail(Code::invalid_params, std::string(place) + ": " + std::string(fault));
}

std::string place_of(std::string_view list, size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

Result<ListFound> find_list(const JsonTree& body, std::string_view member) {
  const JsonValue root = body.root();
  if (root.is_list()) return ListFound{root, {}};
  if (!root.is_object()) {
    return bad_place("the request", "neither a list of messages nor an object that holds one");
  }
  const JsonValue list = root[member];
  if (!list) return bad_place(member, "missing: a request has its messages there");
  return ListFound{list, root};
}

Result<Conversation> read_list(const ListFound& found, std::string_view name,
                               const ReadMessage& read) {
  if (!found.request) name = "messages";  // the list alone, whatever a request would call it
  Conversation conversation;
  conversation.list = found.list.span();
  conversation.whole_request = static_cast<bool>(found.request);
  if (!found.list.is_list()) return bad_place(name, "must be a list of messages");
  std::vector<JsonValue> items;
  for (const JsonValue& item : found.list) {
    if (items.size() == limits::kMessages) {
      return fail(Code::too_large, std::string(name) + ": more than " +
                                       std::to_string(limits::kMessages) + " messages");
    }
    items.push_back(item);
  }
  conversation.messages.resize(items.size());
  std::vector<Stretch> stretches = stretches_of(items);
  read_stretches(items, read, conversation.messages, stretches);
  for (const Stretch& stretch : stretches) {
    if (!stretch.fault.empty()) return bad_place(place_of(name, stretch.end), stretch.fault);
  }
  pair_results(conversation);
  conversation.model = found.request["model"].text();
  return conversation;
}

}  // namespace ebla::context
