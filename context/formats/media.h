// Images, documents and sounds as the formats write them, recognised by their fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "context/formats/json_tree.h"

namespace ebla::context {

struct Media {
  PartKind kind = PartKind::image;  // or document
  std::string media_type;
  JsonValue data;          // string token of base64 or of a data URL; absent: a link
  JsonValue link;          // URL or file id
  JsonValue text;          // of a document that is plain text
  bool immovable = false;  // no block of text is taken where it stands
};
// nullopt: the block is something else.
std::optional<Media> media_of(const JsonValue& block);

// Behind "data:…;base64," where that is what it begins with.
std::string_view base64_payload(std::string_view data);
// The media type that a data URL names; "" for anything else.
std::string_view data_url_type(std::string_view data);
// Up to `limit` decoded bytes; line ends are passed over, both alphabets are read. nullopt: not
// base64.
std::optional<std::string> decode_base64(std::string_view text, size_t limit = std::string::npos);

}  // namespace ebla::context
