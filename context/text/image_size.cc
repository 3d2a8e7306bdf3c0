// Pixels of an image from the start of its file, for the count of tokens.
#include <algorithm>
#include <optional>

#include "context/text/tokens.h"
#include "schema/base/limits.h"

namespace ebla::context {
namespace {

// Providers scale an image down to this edge, then count this many pixels a token.
constexpr uint64_t kLongEdge = 1568;
constexpr uint64_t kPixelsPerToken = 750;

struct Pixels {
  uint64_t width = 0;
  uint64_t height = 0;
};

uint64_t byte_at(std::string_view data, size_t at) {
  return static_cast<uint8_t>(data[at]);
}
uint64_t big(std::string_view data, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | byte_at(data, at + i);
  return value;
}
uint64_t little(std::string_view data, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | byte_at(data, at + i);
  return value;
}

std::optional<Pixels> png(std::string_view data) {
  if (!data.starts_with("\x89PNG\r\n\x1a\n") || data.size() < 24) return std::nullopt;
  return Pixels{big(data, 16, 4), big(data, 20, 4)};
}

std::optional<Pixels> gif(std::string_view data) {
  if (!(data.starts_with("GIF87a") || data.starts_with("GIF89a")) || data.size() < 10) {
    return std::nullopt;
  }
  return Pixels{little(data, 6, 2), little(data, 8, 2)};
}

std::optional<Pixels> webp(std::string_view data) {
  if (data.size() < 30 || !data.starts_with("RIFF") || data.substr(8, 4) != "WEBP") {
    return std::nullopt;
  }
  const std::string_view chunk = data.substr(12, 4);
  if (chunk == "VP8X") return Pixels{little(data, 24, 3) + 1, little(data, 27, 3) + 1};
  if (chunk == "VP8 ") return Pixels{little(data, 26, 2) & 0x3FFF, little(data, 28, 2) & 0x3FFF};
  if (chunk != "VP8L") return std::nullopt;
  const uint64_t bits = little(data, 21, 4);
  return Pixels{(bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1};
}

// Segments up to the one that begins the frame.
std::optional<Pixels> jpeg(std::string_view data) {
  if (!data.starts_with("\xFF\xD8")) return std::nullopt;
  size_t at = 2;
  while (at + 9 <= data.size()) {
    if (byte_at(data, at) != 0xFF) return std::nullopt;
    const uint64_t marker = byte_at(data, at + 1);
    if (marker == 0xFF) {  // filling
      ++at;
      continue;
    }
    const bool frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (frame) return Pixels{big(data, at + 7, 2), big(data, at + 5, 2)};
    at += 2 + big(data, at + 2, 2);
  }
  return std::nullopt;
}

}  // namespace

uint64_t image_tokens(std::string_view decoded_start) {
  std::optional<Pixels> pixels;
  for (auto* read : {png, jpeg, gif, webp}) {
    if (!pixels) pixels = read(decoded_start);
  }
  if (!pixels || pixels->width == 0 || pixels->height == 0) return limits::kImageTokens;
  uint64_t width = pixels->width;
  uint64_t height = pixels->height;
  if (const uint64_t edge = std::max(width, height); edge > kLongEdge) {
    width = std::max<uint64_t>(1, width * kLongEdge / edge);
    height = std::max<uint64_t>(1, height * kLongEdge / edge);
  }
  return std::min(limits::kImageTokens, (width * height + kPixelsPerToken - 1) / kPixelsPerToken);
}

}  // namespace ebla::context
