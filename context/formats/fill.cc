#include "context/formats/fill.h"

#include <utility>
#include <vector>

#include "context/formats/shapes.h"
#include "context/text/blank.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

// The message's JSON with this value for a member of the object `holder`: in the place of `value`,
// or added where that is empty. Both are spans of the JSON.
std::string with_member(std::string json, Span holder, Span value, std::string_view name,
                        std::string_view content) {
  if (!value.empty()) return json.replace(value.begin, value.size(), content);
  const bool first = json.find_first_not_of(kWhiteSpace, holder.begin + 1) == holder.end - 1;
  return json.insert(holder.end - 1, std::string(first ? "" : ",") + "\"" + std::string(name) +
                                         "\":" + std::string(content));
}

std::string with_content(const FormatBase& format, std::string_view raw, std::string_view content) {
  const Result<JsonTree> tree = JsonTree::read(raw);
  if (!tree) return std::string(raw);
  return with_member(std::string(raw), format.fields_of(tree->root()).span(),
                     format.content_of(tree->root()).span(), "content", content);
}

// The content of the message itself.
std::string reshaped(const FormatBase& format, std::string_view body, const Message& message) {
  const std::string_view raw = message.span.of(body);
  if (format.takes(message.shape, body, nullptr)) return std::string(raw);
  const Result<JsonTree> tree = JsonTree::read(raw);
  const std::string_view now = tree ? format.content_of(tree->root()).raw() : std::string_view();
  return with_content(format, raw, legal_content(format, &message, now));
}

// The contents of its results, from the last to the first.
std::string reshaped_results(const FormatBase& format, std::string_view body,
                             const Message& message) {
  std::string json(message.span.of(body));
  const Result<JsonTree> tree = JsonTree::read(message.span.of(body));
  if (!tree) return json;
  const size_t by = message.span.begin;
  const bool blocks = format.result_place() == ResultPlace::blocks;
  for (size_t p = message.parts.size(); p-- > 0;) {
    const Part& part = message.parts[p];
    if (part.kind != PartKind::tool_result || part.provider_side) continue;
    if (format.takes(part.shape, body, &part)) continue;
    const Span block{part.span.begin - by, part.span.end - by};
    const Span holder = blocks ? block : format.fields_of(tree->root()).span();
    Span value = part.content;
    if (!value.empty()) value = {value.begin - by, value.end - by};
    json = with_member(std::move(json), holder, value, format.result_member(),
                       legal_content(format, nullptr, part.content.of(body)));
  }
  return json;
}

std::string filled(const FormatBase& format, std::string_view body, const Message& message,
                   std::span<const size_t> empty) {
  std::vector<PartEdit> edits;
  for (size_t p : empty) {
    if (p >= message.parts.size()) continue;
    std::string text = text_of(body, message.parts[p]);
    if (is_blank(text)) text = texts::kEmpty;
    edits.push_back({.part = p, .what = PartEdit::What::content, .argument = {}, .text = text});
  }
  return format.edit(body, message, edits);
}

}  // namespace

std::string placeholder_message(const FormatBase& format, std::string_view body,
                                const Message& message) {
  return with_content(format, message.span.of(body), json_string(texts::kEmpty));
}

std::string filled_message(const FormatBase& format, std::string_view body, const Message& message,
                           std::span<const size_t> empty) {
  if (message.parts.empty()) return placeholder_message(format, body, message);
  std::string json(message.span.of(body));
  if (!json.starts_with('{')) return filled(format, body, message, empty);  // one string as input
  // Each step reads the message as the one before left it: its parts stay the same.
  const auto step = [&](const auto& change) {
    const std::string list = "[" + json + "]";
    const Result<Conversation> now = format.parse(list);
    if (now && now->messages.size() == 1) json = change(list, now->messages.front());
  };
  step([&](std::string_view list, const Message& now) { return reshaped(format, list, now); });
  step([&](std::string_view list, const Message& now) {
    return reshaped_results(format, list, now);
  });
  step([&](std::string_view list, const Message& now) { return filled(format, list, now, empty); });
  return json;
}

}  // namespace ebla::context
