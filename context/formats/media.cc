#include "context/formats/media.h"

#include <array>
#include <initializer_list>

namespace ebla::context {
namespace {

constexpr std::string_view kDataUrl = "data:";

// An item by which the provider tells of an image that it made.
constexpr std::string_view kMadeImage = "image_generation_call";

// Type names of blocks that may hold a medium.
bool names_image(std::string_view type) {
  return type == "image" || type == "image_url" || type == "input_image" ||
         type == "computer_screenshot" || type == kMadeImage || type == "output_image";
}
bool names_document(std::string_view type) {
  return type == "document" || type == "file" || type == "input_file" || type == "input_audio" ||
         type == "audio" || type == "video";
}

JsonValue first_string(const JsonValue& object, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    if (const JsonValue member = object[name]; member.is_string()) return member;
  }
  return {};
}

// A string that is a data URL, or else a link.
void take_url(Media& media, const JsonValue& url) {
  std::string scratch;
  const std::string_view text = url.text(scratch);
  if (!text.starts_with(kDataUrl)) {
    media.link = url;
    return;
  }
  media.data = url;
  if (media.media_type.empty()) media.media_type = data_url_type(text);
}

// {"type":"base64","media_type":…,"data":…}, also url, file and text.
void take_source(Media& media, const JsonValue& source) {
  media.media_type = source["media_type"].text();
  const JsonValue data = source["data"];
  if (source["type"].equals("text")) {
    media.text = data;
  } else if (data.is_string()) {
    media.data = data;
  } else if (const JsonValue url = source["url"]; url.is_string()) {
    take_url(media, url);
  } else {
    media.link = source["file_id"];
  }
}

constexpr std::array<int8_t, 256> base64_values() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  values['-'] = 62;
  values['_'] = 63;
  return values;
}
constexpr std::array<int8_t, 256> kBase64 = base64_values();

}  // namespace

std::optional<Media> media_of(const JsonValue& block) {
  std::string scratch;
  const std::string_view type = block["type"].text(scratch);
  const bool image = names_image(type);
  if (!image && !names_document(type)) return std::nullopt;
  Media media;
  media.kind = image ? PartKind::image : PartKind::document;
  media.immovable = type == "computer_screenshot" || type == kMadeImage;
  if (const JsonValue source = block["source"]; source.is_object()) {
    take_source(media, source);
    // A document of blocks is none of these: it counts by what stands in it.
    if (!media.data && !media.link && !media.text) return std::nullopt;
    return media;
  }
  // The object that has the fields: the block itself or one named like its type.
  JsonValue holder = block;
  for (std::string_view name : {"image_url", "input_audio", "file", "audio"}) {
    if (const JsonValue inner = block[name]; inner.is_object()) holder = inner;
  }
  if (const JsonValue mime = first_string(block, {"mime_type", "media_type", "mimeType"})) {
    media.media_type = mime.text();
  }
  if (const JsonValue format = holder["format"]; format.is_string()) {
    media.media_type = "audio/" + format.text();
  }
  if (const JsonValue url = first_string(holder, {"url", "image_url", "file_url", "file_data"})) {
    take_url(media, url);
    // Bare base64 stands there too.
    if (url.key_is("file_data") && !media.data) media.data = std::exchange(media.link, {});
  } else if (const JsonValue data = first_string(holder, {"data", "base64", "result"})) {
    media.data = data;
  } else {
    media.link = first_string(holder, {"file_id", "id"});
  }
  if (!media.data && !media.link) return std::nullopt;
  return media;
}

std::string_view base64_payload(std::string_view data) {
  if (!data.starts_with(kDataUrl)) return data;
  const size_t comma = data.find(',');
  return comma == std::string_view::npos ? std::string_view() : data.substr(comma + 1);
}

std::string_view data_url_type(std::string_view data) {
  if (!data.starts_with(kDataUrl)) return {};
  const std::string_view rest = data.substr(kDataUrl.size());
  return rest.substr(0, rest.find_first_of(";,"));
}

namespace {

// Whole groups of four digits from the start on, as many as there are without anything between.
size_t append_groups(std::string_view text, size_t limit, std::string& out) {
  const size_t most = std::min(text.size() / 4, (limit - out.size()) / 3);
  const size_t before = out.size();
  out.resize(before + most * 3);
  char* to = out.data() + before;
  const auto* from = reinterpret_cast<const uint8_t*>(text.data());
  size_t groups = 0;
  for (; groups < most; ++groups, from += 4, to += 3) {
    const int a = kBase64[from[0]];
    const int b = kBase64[from[1]];
    const int c = kBase64[from[2]];
    const int d = kBase64[from[3]];
    if ((a | b | c | d) < 0) break;
    to[0] = static_cast<char>(a << 2 | b >> 4);
    to[1] = static_cast<char>(b << 4 | c >> 2);
    to[2] = static_cast<char>(c << 6 | d);
  }
  out.resize(before + groups * 3);
  return groups * 4;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text, size_t limit) {
  std::string out;
  out.reserve(std::min(limit, text.size() / 4 * 3 + 3));
  uint32_t bits = 0;
  int held = 0;
  size_t at = 0;
  for (; at < text.size() && text[at] != '=' && out.size() < limit; ++at) {
    if (held == 0) at += append_groups(text.substr(at), limit, out);
    if (at == text.size() || text[at] == '=' || out.size() >= limit) break;
    if (text[at] == '\n' || text[at] == '\r') continue;
    const int8_t value = kBase64[static_cast<uint8_t>(text[at])];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>(bits >> held));
  }
  if (out.size() >= limit) return out;
  const bool padding = text.find_first_not_of("=\r\n", at) == std::string_view::npos;
  return padding && held < 6 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace ebla::context
