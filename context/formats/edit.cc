// Writing a message again with parts replaced: bytes that no edit touches are copied.
#include <algorithm>

#include "context/formats/media.h"
#include "context/formats/table.h"
#include "schema/base/json.h"
#include "schema/base/json_text.h"

namespace ebla::context {
namespace {

struct Replace {
  Span span;  // of the body
  std::string with;
};

std::string replaced(std::string_view body, Span whole, std::vector<Replace> replaces) {
  std::ranges::sort(replaces, {},
                    [](const Replace& r) { return std::pair(r.span.begin, r.span.end); });
  std::string out;
  size_t at = whole.begin;
  for (const Replace& replace : replaces) {
    if (replace.span.begin < at || replace.span.end > whole.end) continue;
    out.append(body.substr(at, replace.span.begin - at));
    out += replace.with;
    at = replace.span.end;
  }
  out.append(body.substr(at, whole.end - at));
  return out;
}

Span moved(Span span, size_t by) {
  return {span.begin + by, span.end + by};
}

// The content of a result as a list: the new text stands where the first text was, the other texts
// go, media stay.
void edit_blocks(std::string_view body, Span content, std::string_view token,
                 std::string_view new_block, std::vector<Replace>& out) {
  const Result<JsonTree> tree = JsonTree::read(content.of(body));
  if (!tree) return;
  const JsonValue list = tree->root();
  bool written = false;
  Span before;
  for (const JsonValue& item : list) {
    const Span span = moved(item.span(), content.begin);
    const Span previous = std::exchange(before, span);
    if (media_of(item)) continue;
    if (written) {
      out.push_back({{previous.end, span.end}, ""});  // the comma too
      continue;
    }
    written = true;
    const auto texts = result_texts(item);
    if (!texts) {
      out.push_back({span, std::string(new_block)});
      continue;
    }
    // What a shell wrote is two texts: the other one is empty then.
    const std::string_view nothing = R"("")";
    const JsonValue first = texts->empty() ? item["stdout"] : texts->front();
    out.push_back({moved(first.span(), content.begin), std::string(token)});
    for (size_t i = 1; i < texts->size(); ++i) {
      out.push_back({moved((*texts)[i].span(), content.begin), std::string(nothing)});
    }
  }
  if (written) return;
  const std::string comma = list.first() ? "," : "";
  out.push_back({{content.begin + 1, content.begin + 1}, std::string(new_block) + comma});
}

// Position of the value of the last member of this name in an object's text.
Span member_value(std::string_view object, std::string_view name) {
  const Result<JsonTree> tree = JsonTree::read(object);
  return tree ? tree->root()[name].span() : Span{};
}

void edit_argument(std::string_view body, const Part& call, const PartEdit& edit,
                   std::vector<Replace>& out) {
  const std::string token = json_string(edit.text);
  const Span arguments = call.arguments;
  if (call.free_form) {
    out.push_back({arguments, token});
    return;
  }
  const std::string_view raw = arguments.of(body);
  if (!raw.starts_with('"')) {
    const Span value = member_value(raw, edit.argument);
    if (!value.empty()) out.push_back({moved(value, arguments.begin), token});
    return;
  }
  const std::string_view inside = raw.substr(1, raw.size() - 2);
  std::string decoded;
  json_text::append_decoded(inside, decoded);
  const Span value = member_value(decoded, edit.argument);
  if (value.empty()) return;
  const Span source{json_text::source_offset(inside, value.begin),
                    json_text::source_offset(inside, value.end)};
  const std::string escaped = json_string(token);
  out.push_back({moved(source, arguments.begin + 1), escaped.substr(1, escaped.size() - 2)});
}

}  // namespace

std::string json_string(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return out.take();
}

std::string json_object(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  std::string out;
  char separator = '{';
  for (const auto& [name, value] : members) {
    out.push_back(separator);
    out.append("\"").append(name).append("\":").append(value);
    separator = ',';
  }
  return out + "}";
}

bool FormatBase::takes(ContentShape shape, std::string_view, const Part* result) const {
  switch (shape) {
    case ContentShape::text:
    case ContentShape::blocks:
      return true;
    case ContentShape::null:
    case ContentShape::absent:
      return result == nullptr;
    default:
      return false;
  }
}

std::string FormatBase::plain_content(std::string_view text) const {
  return json_string(text);
}

std::string FormatBase::text_block(bool, std::string_view token) const {
  return json_object({{"type", R"("text")"}, {"text", token}});
}

std::string FormatBase::edit(std::string_view body, const Message& message,
                             std::span<const PartEdit> edits) const {
  std::vector<Replace> replaces;
  for (const PartEdit& edit : edits) {
    if (edit.part >= message.parts.size()) continue;
    const Part& part = message.parts[edit.part];
    if (part.provider_side) continue;
    const std::string token = json_string(edit.text);
    switch (part.kind) {
      case PartKind::text:
        replaces.push_back({part.texts.front(), token});
        break;
      case PartKind::tool_call:
        if (edit.what == PartEdit::What::argument) edit_argument(body, part, edit, replaces);
        break;
      case PartKind::tool_result:
        if (part.content.of(body).starts_with('[')) {
          edit_blocks(body, part.content, token, text_block(is_model(message), token), replaces);
        } else if (!part.content.empty()) {
          replaces.push_back({part.content, token});
        }
        break;
      case PartKind::image:
      case PartKind::document:
      case PartKind::unknown:
        // An item of its own has no block that could stand in its place.
        if (part.span != message.span && !part.immovable)
          replaces.push_back({part.span, text_block(is_model(message), token)});
        break;
      case PartKind::reasoning:
        break;
    }
  }
  return replaced(body, message.span, std::move(replaces));
}

std::string FormatBase::merged_user(std::string_view body, const Message& message,
                                    std::string_view text) const {
  const std::string_view raw = message.span.of(body);
  const std::string block = text_block(is_model(message), json_string(text));
  if (raw.starts_with('"')) {  // the whole input as one string
    return json_object({{"role", R"("user")"},
                        {"content", "[" + block + "," + text_block(is_model(message), raw) + "]"}});
  }
  const Result<JsonTree> tree = JsonTree::read(raw);
  const JsonValue content = tree ? content_of(tree->root()) : JsonValue();
  if (content.is_list()) {
    size_t at = content.span().begin + 1;
    bool first = true;
    for (const JsonValue& item : content) {
      if (!item["type"].equals("tool_result")) break;
      at = item.span().end;
      first = false;
    }
    const std::string before = first ? "" : ",";
    const std::string after = first && content.first() ? "," : "";
    return replaced(raw, {0, raw.size()}, {{{at, at}, before + block + after}});
  }
  std::string list = "[" + block;
  if (content.is_string() && !content.equals(""))
    list += "," + text_block(is_model(message), content.raw());
  return replaced(raw, {0, raw.size()}, {{content.span(), list + "]"}});
}

namespace {

// Elements of the list that comes out. `kept` is the index of a message that stays.
struct Element {
  size_t kept = SIZE_MAX;
  std::string_view json;
};

std::vector<Element> elements(std::string_view body, const Conversation& conversation,
                              std::span<const Splice> splices) {
  std::vector<Element> out;
  size_t index = 0;
  const auto keep_until = [&](size_t end) {
    for (; index < end && index < conversation.messages.size(); ++index) {
      out.push_back({index, conversation.messages[index].span.of(body)});
    }
  };
  for (const Splice& splice : splices) {
    keep_until(splice.index);
    index += splice.remove;
    for (const std::string& json : splice.insert) out.push_back({SIZE_MAX, json});
  }
  keep_until(conversation.messages.size());
  return out;
}

}  // namespace

std::vector<std::string> spliced_messages(std::string_view body, const Conversation& conversation,
                                          std::span<const Splice> splices) {
  std::vector<std::string> out;
  for (const Element& element : elements(body, conversation, splices)) {
    out.emplace_back(element.json);
  }
  return out;
}

std::string apply_splices(std::string_view body, const Conversation& conversation,
                          std::span<const Splice> splices) {
  const std::vector<Message>& messages = conversation.messages;
  const Span list = conversation.list;
  const std::vector<Element> all = elements(body, conversation, splices);
  std::string out(body.substr(0, list.begin));
  out.reserve(body.size());
  const bool bare = body[list.begin] == '"';  // the input is one string
  if (bare && all.size() == 1 && all.front().json.starts_with('"')) {
    out += all.front().json;
    return out.append(body.substr(list.end));
  }
  const bool spaced = !bare && !messages.empty();
  out += '[';
  if (spaced) out.append(body.substr(list.begin + 1, messages.front().span.begin - list.begin - 1));
  size_t last = SIZE_MAX;  // message that stands right before, when it was kept
  bool first = true;
  for (const Element& element : all) {
    if (!first && last != SIZE_MAX && element.kept == last + 1) {
      const size_t end = messages[last].span.end;
      out.append(body.substr(end, messages[last + 1].span.begin - end));
    } else if (!first) {
      out += ',';
    }
    first = false;
    last = element.kept;
    if (element.json.starts_with('"')) {
      out += json_object({{"role", R"("user")"}, {"content", element.json}});
    } else {
      out += element.json;
    }
  }
  if (spaced)
    out.append(body.substr(messages.back().span.end, list.end - 1 - messages.back().span.end));
  out += ']';
  return out.append(body.substr(list.end));
}

}  // namespace ebla::context
