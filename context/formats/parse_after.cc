// Reading a body again that begins like one read before.
#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "context/formats/pairs.h"
#include "context/formats/table.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";

void move_span(Span& span, size_t by) {
  if (span.empty()) return;
  span.begin += by;
  span.end += by;
}

void move_message(Message& message, size_t by) {
  move_span(message.span, by);
  for (Part& part : message.parts) {
    move_span(part.span, by);
    move_span(part.arguments, by);
    move_span(part.content, by);
    move_span(part.data, by);
    for (Span& text : part.texts) move_span(text, by);
  }
}

// Where the message behind these ones begins, or the list ends; npos: neither stands there.
size_t resume_at(std::string_view body, size_t end_of_kept) {
  const size_t next = body.find_first_not_of(kWhiteSpace, end_of_kept);
  if (next == std::string_view::npos || body[next] == ']') return next;
  if (body[next] != ',') return std::string_view::npos;
  const size_t message = body.find_first_not_of(kWhiteSpace, next + 1);
  const bool found = message != std::string_view::npos && body[message] == '{';
  return found ? message : std::string_view::npos;
}

// What a body without its known messages says; nullopt: the full body has to be read.
using ReadRest = std::function<std::optional<Conversation>(std::string_view rest, size_t kept)>;

std::optional<Conversation> read_after(std::string_view body, size_t same, Conversation& earlier,
                                       const ReadRest& read_rest) {
  const auto behind = std::ranges::partition_point(
      earlier.messages, [same](const Message& message) { return message.span.end <= same; });
  const auto kept = static_cast<size_t>(behind - earlier.messages.begin());
  if (kept == 0 || body[earlier.list.begin] != '[' || body.size() > limits::kBodyBytes) return {};
  const size_t resume = resume_at(body, earlier.messages[kept - 1].span.end);
  if (resume == std::string_view::npos) return {};

  const size_t list_begin = earlier.list.begin;
  std::string rest(body.substr(0, list_begin + 1));
  rest.append(body.substr(resume));
  const size_t by = resume - list_begin - 1;
  std::optional<Conversation> read = read_rest(rest, kept);
  // A fault is told by the full reading, with its right place. A list that stands elsewhere is read
  // in full too, and one that may be partial for what is in its known messages.
  if (!read || (earlier.partial && !read->partial) || read->list.begin != list_begin ||
      read->whole_request != earlier.whole_request ||
      read->messages.size() + kept > limits::kMessages) {
    return {};
  }
  for (Message& message : read->messages) move_message(message, by);
  read->list.end += by;
  std::vector<Message> messages = std::move(earlier.messages);
  messages.erase(messages.begin() + static_cast<ptrdiff_t>(kept), messages.end());
  std::ranges::move(read->messages, std::back_inserter(messages));
  read->messages = std::move(messages);
  read->shape = earlier.shape;
  pair_results(*read);
  return read;
}

std::optional<Conversation> value_of(Result<Conversation> read) {
  if (!read) return {};
  return *std::move(read);
}

}  // namespace

size_t common_prefix(std::string_view a, std::string_view b) {
  constexpr size_t kBlock = 4096;  // compared at once
  const size_t most = std::min(a.size(), b.size());
  size_t same = 0;
  while (same + kBlock <= most && std::memcmp(&a[same], &b[same], kBlock) == 0) same += kBlock;
  while (same < most && a[same] == b[same]) ++same;
  return same;
}

Result<Conversation> parse_after(const Format& format, std::string_view body, size_t same,
                                 Conversation earlier) {
  if (earlier.format != format.id()) return format.parse(body);
  auto read = read_after(body, same, earlier, [&](std::string_view rest, size_t) {
    return value_of(format.parse(rest));
  });
  if (!read) return format.parse(body);
  return *std::move(read);
}

Result<Conversation> parse_any_after(std::string_view body, size_t same, Conversation earlier) {
  const auto read_rest = [&](std::string_view rest, size_t kept) -> std::optional<Conversation> {
    const auto tree = JsonTree::read(rest);
    if (!tree) return {};
    std::vector<ElementTraits> each;
    Traits traits = traits_of(*tree, each);
    for (size_t i = 0; i < kept; ++i) {
      if (earlier.messages[i].traits == 0) return {};
      traits.elements |= earlier.messages[i].traits;
    }
    const auto format = best_fit(traits);
    if (!format || (*format)->id() != earlier.format) return {};
    return value_of(read_as(**format, *tree, each));
  };
  auto read = read_after(body, same, earlier, read_rest);
  if (!read) return parse_any(body);
  return *std::move(read);
}

}  // namespace ebla::context
