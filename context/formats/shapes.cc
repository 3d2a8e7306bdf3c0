#include "context/formats/shapes.h"

#include "context/formats/media.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

std::string list_of_blocks(const FormatBase& format, bool of_model, const JsonValue& list) {
  std::string out;
  char separator = '[';
  for (const JsonValue& item : list) {
    out.push_back(separator);
    separator = ',';
    if (item.is_object()) {
      out += item.raw();
    } else {
      out += format.text_block(of_model, item.is_string() ? item.raw() : json_string(item.raw()));
    }
  }
  return out + "]";
}

}  // namespace

ContentShape shape_of_content(const JsonValue& content) {
  switch (content.kind()) {
    case JsonKind::absent:
      return ContentShape::absent;
    case JsonKind::null:
      return ContentShape::null;
    case JsonKind::string:
      return ContentShape::text;
    case JsonKind::object:
      return ContentShape::object;
    case JsonKind::array: {
      ContentShape shape = ContentShape::blocks;
      for (const JsonValue& item : content) {
        if (item.is_string()) shape = ContentShape::strings;
        if (!item.is_string() && !item.is_object()) return ContentShape::mixed;
      }
      return shape;
    }
    default:
      return ContentShape::other;
  }
}

std::string legal_content(const FormatBase& format, const Message* message, std::string_view raw) {
  if (raw.empty() || raw == "null") return json_string(message == nullptr ? texts::kEmpty : "");
  const Result<JsonTree> tree = JsonTree::read(raw);
  if (!tree) return json_string(raw);  // a number, true or false
  const JsonValue content = tree->root();
  if (content.is_list()) {
    return list_of_blocks(format, message != nullptr && is_model(*message), content);
  }
  const bool typed = message != nullptr && content["type"].is_string();
  const bool is_block = content.is_object() && (typed || text_token(content) || media_of(content));
  return is_block ? "[" + std::string(raw) + "]" : json_string(raw);
}

}  // namespace ebla::context
