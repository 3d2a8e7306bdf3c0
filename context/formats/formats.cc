#include <algorithm>
#include <array>
#include <unordered_map>

#include "context/formats/canonical.h"
#include "context/formats/media.h"
#include "context/formats/table.h"
#include "schema/base/json_text.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// Ties of fitness go to the first.
const std::array<const Format*, 4>& table() {
  static const std::array<const Format*, 4> kTable = {&anthropic_format(), &openai_format(),
                                                      &responses_format(), &langchain_format()};
  return kTable;
}

}  // namespace

Result<const Format*> best_fit(const Traits& traits) {
  const Format* best = nullptr;
  int best_fit = 0;
  for (const Format* format : table()) {
    const int fit = format->fitness(traits);
    if (fit > best_fit) {
      best = format;
      best_fit = fit;
    }
  }
  if (best != nullptr) return best;
  return fail(
      Code::invalid_params,
      "request: no format is recognised (anthropic, openai, responses, langchain): send the "
      "whole request body, or name the format");
}

Result<Conversation> read_as(const Format& format, const JsonTree& body,
                             std::span<const ElementTraits> each) {
  auto conversation = format.read(body);
  if (!conversation || conversation->messages.size() != each.size()) return conversation;
  for (size_t i = 0; i < each.size(); ++i) conversation->messages[i].traits = each[i];
  return conversation;
}

namespace {

// Appends a text's decoded bytes: of a string token what it says, of other JSON its canonical text.
void append_text(std::string& out, std::string_view raw, size_t limit) {
  if (raw.size() >= 2 && raw.front() == '"') {
    out += json_text::decoded_start(raw.substr(1, raw.size() - 2), limit);
  } else {
    std::string text(raw);  // a number is no tree
    if (const auto tree = JsonTree::read(raw)) {
      text.clear();
      append_canonical(text, tree->root(), kCacheMark);
    }
    out.append(text, 0, utf8::floor_boundary(text, std::min(limit, text.size())));
  }
}

}  // namespace

std::string_view format_name(FormatId format) {
  switch (format) {
    case FormatId::anthropic:
      return "anthropic";
    case FormatId::openai:
      return "openai";
    case FormatId::responses:
      return "responses";
    case FormatId::langchain:
      return "langchain";
  }
  return "";
}

std::span<const Format* const> formats() {
  return table();
}

const Format& format_of(FormatId id) {
  return **std::ranges::find(table(), id, &Format::id);
}

const Format* find_format(std::string_view name) {
  for (const Format* format : table()) {
    if (format_name(format->id()) == name) return format;
  }
  return nullptr;
}

Result<const Format*> detect_format(std::string_view body) {
  const auto tree = JsonTree::read(body);
  if (!tree) return std::unexpected(tree.error());
  std::vector<ElementTraits> each;
  return best_fit(traits_of(*tree, each));
}

Result<Conversation> Format::parse(std::string_view body, size_t behind) const {
  const auto tree = JsonTree::read(body, behind);
  if (!tree) return std::unexpected(tree.error());
  return read(*tree);
}

Result<Conversation> parse_any(std::string_view body, size_t behind) {
  const auto tree = JsonTree::read(body, behind);
  if (!tree) return std::unexpected(tree.error());
  std::vector<ElementTraits> each;
  const auto format = best_fit(traits_of(*tree, each));
  if (!format) return std::unexpected(format.error());
  return read_as(**format, *tree, each);
}

std::string text_of(std::string_view body, const Part& part) {
  return text_start(body, part, std::string::npos);
}

std::string text_start(std::string_view body, const Part& part, size_t bytes) {
  std::string out;
  if (part.kind == PartKind::tool_call) {
    const std::string_view raw = part.arguments.of(body);
    if (raw.starts_with('"')) append_text(out, raw, std::string::npos);
    if (!part.free_form) out = canonical_arguments(raw.starts_with('"') ? out : raw);
    if (out.size() > bytes) out.resize(utf8::floor_boundary(out, bytes));
    return out;
  }
  if (part.kind == PartKind::unknown) {
    append_text(out, part.span.of(body), bytes);
    return out;
  }
  // One character more than may stay, so that no text is taken for whole when it is not.
  constexpr size_t kLongestCharacter = 4;
  const size_t limit = bytes < SIZE_MAX - kLongestCharacter ? bytes + kLongestCharacter : bytes;
  for (size_t i = 0; i < part.texts.size() && out.size() < bytes; ++i) {
    if (i > 0) out.push_back('\n');
    append_text(out, part.texts[i].of(body), limit - out.size());
  }
  if (out.size() > bytes) out.resize(utf8::floor_boundary(out, bytes));
  return out;
}

std::vector<StringArgument> string_arguments(std::string_view body, const Part& call) {
  std::string decoded;
  std::string_view object = call.arguments.of(body);
  if (object.starts_with('"')) {
    append_text(decoded, object, std::string::npos);
    if (call.free_form) return {{"input", decoded}};
    object = decoded;
  }
  const auto tree = JsonTree::read(object);
  if (!tree || !tree->root().is_object()) return {};
  // Of equal names the last one counts.
  std::unordered_map<std::string, JsonValue> last;
  for (const JsonValue& member : tree->root()) last[member.key()] = member;
  std::vector<StringArgument> out;
  for (const JsonValue& member : tree->root()) {
    std::string name = member.key();
    if (member.is_string() && last[name].span() == member.span()) {
      out.push_back({std::move(name), member.text()});
    }
  }
  return out;
}

Result<std::string> media_bytes(std::string_view body, const Part& part) {
  std::string text;
  append_text(text, part.data.of(body), std::string::npos);
  std::optional<std::string> bytes = decode_base64(base64_payload(text));
  if (part.data.empty() || !bytes) {
    return fail(Code::invalid_params, "the data of this image or document is not base64");
  }
  return std::move(*bytes);
}

}  // namespace ebla::context
