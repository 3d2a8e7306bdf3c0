// The window count against the same rules written one character at a time.
#include "context/text/tokens.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "context/item/scan.h"
#include "context/text/byte_masks.h"
#include "schema/base/utf8.h"
#include "tests/kit/real_texts.h"

namespace ebla::context {
namespace {

// In 1/1400 of a token, so that each weight is whole.
class Reference {
 public:
  static uint64_t tokens(std::string_view text) {
    Reference r;
    while (!text.empty()) {
      const utf8::Decoded d = utf8::decode(text);
      r.add(d.code_point);
      text.remove_prefix(d.length);
    }
    r.end_word();
    return (r.total_ + 1399) / 1400;
  }

 private:
  static int class_of(char32_t c) {
    if (c >= 'a' && c <= 'z') return 1;
    if (c >= 'A' && c <= 'Z') return 2;
    return c >= '0' && c <= '9' ? 3 : 0;
  }
  void end_part() {
    if (size_ > 0) parts_ += class_ == 3 ? (size_ + 2) / 3 * 1400 : size_ <= 7 ? 1400 : size_ * 200;
    size_ = 0;
  }
  void end_word() {
    if (length_ == 0) return;
    end_part();
    const bool mixed = (digit_ && changes_ >= 2 && 100 * changes_ > 18 * length_) ||
                       (length_ >= 12 && 10 * changes_ > 3 * length_);
    total_ += mixed ? std::max<uint64_t>(1400, length_ * 875) : parts_;
    length_ = changes_ = parts_ = 0;
    class_ = 0;
    digit_ = false;
  }
  void add(char32_t c) {
    if (c == ' ' || c == '\t') {
      end_word();
      ++spaces_;
      before_ = c;
      return;
    }
    if (spaces_ > 1) total_ += 700;
    spaces_ = 0;
    const int k = class_of(c);
    if (k == 0) {
      end_word();
      total_ += mark(c);
      before_ = c;
      return;
    }
    if (k == 3) digit_ = true;
    if (class_ != 0 && k != class_) {
      if (!(class_ == 2 && k == 1 && size_ == 1)) {
        end_part();
        ++changes_;
      }
    }
    class_ = k;
    ++size_;
    ++length_;
    before_ = c;
  }
  uint64_t mark(char32_t c) const {
    if (c == '\n') return before_ >= '0' && before_ <= '9' ? 1400 : 700;
    if (c < 128) return c == before_ ? 420 : 868;
    if ((c >= 0x2E80 && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7AF) ||
        (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFFEF) ||
        (c >= 0x20000 && c <= 0x3FFFF)) {
      return 1050;
    }
    return c < 0x2000 ? 560 : c >= 0x1F000 ? 2800 : 840;
  }

  uint64_t total_ = 0;
  uint64_t length_ = 0;
  uint64_t changes_ = 0;
  uint64_t parts_ = 0;
  uint64_t size_ = 0;
  uint64_t spaces_ = 0;
  int class_ = 0;
  bool digit_ = false;
  char32_t before_ = 0xFFFFFF;
};

TEST(Tokens, KnownWords) {
  EXPECT_EQ(estimate_tokens(""), 0u);
  EXPECT_EQ(estimate_tokens("word"), 1u);
  EXPECT_EQ(estimate_tokens("two words"), 2u);
  EXPECT_EQ(estimate_tokens("internationalization"), 3u);  // 20 letters, 1 per 7
  EXPECT_EQ(estimate_tokens("1234567"), 3u);
  EXPECT_EQ(estimate_tokens("getValue"), 2u);
  EXPECT_EQ(estimate_tokens("HTTPServer"), 2u);
  EXPECT_EQ(estimate_tokens("d41d8cd98f00b204e9800998ecf8427e"), 20u);  // 32 / 1.6
  EXPECT_EQ(estimate_tokens("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87"), 3u);
  EXPECT_EQ(estimate_tokens("\xf0\x9f\x9a\x80"), 2u);
  EXPECT_EQ(estimate_tokens("-----"), 2u);  // 0.62 and four of 0.3
}

TEST(Tokens, AsTheRulesSay) {
  for (const kit::NamedText& shape : kit::all_shapes()) {
    const std::string_view text = std::string_view(shape.text).substr(0, 300'000);
    EXPECT_EQ(estimate_tokens(text), Reference::tokens(text)) << shape.name;
  }
}

TEST(Tokens, AsTheRulesSayForRandomTexts) {
  constexpr std::string_view kPieces[] = {"a",
                                          "B",
                                          "7",
                                          " ",
                                          "\t",
                                          "\n",
                                          "_",
                                          "--",
                                          "Ab",
                                          "xY",
                                          "word",
                                          "WORD",
                                          "123",
                                          "é",
                                          "中",
                                          "🚀",
                                          "\xff",
                                          "\xed\xa0\x80",
                                          std::string_view("\0", 1)};
  for (uint32_t seed = 0; seed < 3'000; ++seed) {
    std::mt19937 random(seed);
    const size_t most = 1 + random() % std::size(kPieces);  // few kinds make long words
    std::string text;
    for (size_t n = random() % 300; n > 0; --n) text += kPieces[random() % most];
    ASSERT_EQ(estimate_tokens(text), Reference::tokens(text)) << "seed " << seed;
  }
}

TEST(Tokens, FactsAreThoseOfTheSizeRule) {
  for (const kit::NamedText& shape : kit::all_shapes()) {
    const PartFacts facts = measure_part(shape.text);
    const SizeSums sums = measure(shape.text);
    EXPECT_EQ(facts.bytes, sums.bytes) << shape.name;
    EXPECT_EQ(facts.characters, sums.characters) << shape.name;
    EXPECT_EQ(facts.lines, sums.lines) << shape.name;
    EXPECT_EQ(facts.class_sum, sums.class_sum) << shape.name;
    EXPECT_EQ(facts.hash, xxh3_128(shape.text)) << shape.name;
    EXPECT_EQ(facts.tokens, estimate_tokens(shape.text)) << shape.name;
  }
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (int value : values) out.push_back(static_cast<char>(value));
  return out;
}

TEST(ImageTokens, FromTheHeader) {
  const std::string png = "\x89PNG\r\n\x1a\n" + bytes({0, 0, 0, 13, 'I', 'H', 'D', 'R', 0, 0, 3,
                                                       0xE8, 0, 0, 1, 0xF4});  // 1000 x 500
  EXPECT_EQ(image_tokens(png), 667u);
  EXPECT_EQ(image_tokens("GIF89a" + bytes({100, 0, 75, 0})), 10u);
  const std::string jpeg =
      bytes({0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 1, 0xFF, 0xC2, 0, 17, 8, 1, 0xF4, 3, 0xE8, 3, 0});
  EXPECT_EQ(image_tokens(jpeg), 667u);
  const std::string webp = "RIFF" + bytes({0, 0, 0, 0}) + "WEBPVP8X" +
                           bytes({10, 0, 0, 0, 0, 0, 0, 0, 0xE7, 3, 0, 0xF3, 1, 0});
  EXPECT_EQ(image_tokens(webp), 667u);
  // Scaled to its longest edge, never over the fixed count.
  const std::string huge =
      "\x89PNG\r\n\x1a\n" + bytes({0, 0, 0, 13, 'I', 'H', 'D', 'R', 0, 1, 0, 0, 0, 1, 0, 0});
  EXPECT_EQ(image_tokens(huge), 1'600u);
  EXPECT_EQ(image_tokens("no image"), 1'600u);
  EXPECT_EQ(image_tokens(png.substr(0, 20)), 1'600u);
}

}  // namespace
// Byte by byte, as the header says it.
ByteMasks masks_told(std::string_view block, char before) {
  ByteMasks masks;
  for (size_t i = 0; i < block.size(); ++i) {
    const char c = block[i];
    const auto bit = [i](bool holds) { return uint64_t{holds} << i; };
    masks.lower |= bit(c >= 'a' && c <= 'z');
    masks.upper |= bit(c >= 'A' && c <= 'Z');
    masks.digit |= bit(c >= '0' && c <= '9');
    masks.space |= bit(c == ' ' || c == '\t');
    masks.newline |= bit(c == '\n');
    masks.high |= bit(static_cast<uint8_t>(c) >= 0x80);
    masks.repeat |= bit(c == (i == 0 ? before : block[i - 1]));
  }
  return masks;
}

// Every byte at every place, and runs of one byte.
std::vector<std::string> mask_blocks() {
  std::vector<std::string> blocks;
  for (size_t c = 0; c < 256; ++c) {
    blocks.emplace_back(kMaskBytes, static_cast<char>(c));
    std::string each;
    for (size_t i = 0; i < kMaskBytes; ++i) each.push_back(static_cast<char>(c + 7 * i));
    blocks.push_back(std::move(each));
  }
  std::mt19937 random(20);
  for (int round = 0; round < 2000; ++round) {
    std::string block;
    while (block.size() < kMaskBytes) {
      block.append(1 + random() % 3, static_cast<char>(random() % 256));
    }
    block.resize(kMaskBytes);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

TEST(ByteMasks, OfABlockAreWhatItsBytesAre) {
  for (const std::string& block : mask_blocks()) {
    for (const char before : {block[0], 'x', '\0'}) {
      EXPECT_EQ(masks_of_block(block.data(), before), masks_told(block, before));
    }
  }
}

TEST(ByteMasks, OfRecentProcessorsAreTheSame) {
#ifdef __x86_64__
  if (!is_recent_processor()) GTEST_SKIP() << "this processor has no wide registers";
  for (const std::string& block : mask_blocks()) {
    for (const char before : {block[0], 'x', '\0'}) {
      EXPECT_EQ(masks_of_block_recent(block.data(), before), masks_told(block, before));
    }
  }
#else
  GTEST_SKIP() << "one way is built for this processor";
#endif
}

TEST(ByteMasks, OfARestAreThoseOfItsBytes) {
  for (const std::string& block : mask_blocks()) {
    for (const size_t size : {0u, 1u, 31u, 63u}) {
      ByteMasks rest = masks_of_rest<masks_of_block>(block.data(), size, 'x');
      rest.repeat &= (uint64_t{1} << size) - 1;  // the bytes that are not there are alike
      EXPECT_EQ(rest, masks_told(std::string_view(block).substr(0, size), 'x'));
    }
  }
}

}  // namespace ebla::context
