#include "schema/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schema/base/json.h"
#include "tests/kit/real_texts.h"

namespace ebla {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kLimit = 4096;

struct Frame {
  std::string line;
  std::vector<std::string> blobs;
  bool operator==(const Frame&) const = default;
};

// Collects frames; learns the sizes from the line's "blobs" member, as the daemon does.
class Collector final : public FrameSink {
 public:
  Result<std::vector<uint64_t>> on_line(std::string_view line) override {
    EXPECT_FALSE(open_) << "a line within a frame";
    open_ = true;
    frame_ = {.line = std::string(line), .blobs = {}};
    if (line == "refuse") return fail(Code::invalid_request, "refused line");
    std::vector<uint64_t> sizes;
    const auto json = parse_json(line);
    const Json* blobs = json ? json->find("blobs") : nullptr;
    for (size_t i = 0; blobs != nullptr && i < blobs->items.size(); ++i) {
      sizes.push_back(*blobs->items[i].as_uint64());
    }
    frame_.blobs.resize(sizes.size());
    next_blob_ = 0;
    return sizes;
  }
  Result<void> on_blob(size_t index, std::string_view piece) override {
    EXPECT_TRUE(open_);
    EXPECT_GE(index, next_blob_) << "blobs come in order";
    EXPECT_FALSE(piece.empty());
    next_blob_ = index;
    largest_piece = std::max(largest_piece, piece.size());
    if (refuse_blobs) return fail(Code::no_space, "refused blob");
    frame_.blobs.at(index) += piece;
    return {};
  }
  Result<void> on_frame() override {
    EXPECT_TRUE(open_);
    open_ = false;
    if (frame_.line == "\"refuse at the end\"") return fail(Code::busy, "refused frame");
    frames.push_back(std::move(frame_));
    return {};
  }

  std::vector<Frame> frames;
  bool refuse_blobs = false;
  size_t largest_piece = 0;

 private:
  Frame frame_;
  bool open_ = false;
  size_t next_blob_ = 0;
};

std::vector<Frame> read_all(std::string_view bytes, size_t slice) {
  Collector sink;
  FrameReader reader(sink, kLimit);
  for (size_t at = 0; at < bytes.size(); at += slice) {
    EXPECT_TRUE(reader.feed(bytes.substr(at, slice)).has_value());
  }
  EXPECT_FALSE(reader.in_frame());
  return sink.frames;
}

std::string conversation(std::vector<Frame>* expected) {
  std::string bytes;
  const auto add = [&](const char* object, std::vector<std::string> blobs) {
    const std::vector<std::string_view> views(blobs.begin(), blobs.end());
    const std::string frame = encode_frame(object, views);
    const std::string line = frame.substr(0, frame.find('\n'));
    bytes += frame;
    expected->push_back({line, std::move(blobs)});
  };
  add(R"({"id":1,"method":"hello"})", {});
  bytes += "\n\r\n  \t\r\n";
  add(R"({"id":2})", {std::string("a\0b\nc\r\n", 7)});
  add("{}", {"", "x", "", "", "{\"id\":9}\n", ""});
  add(R"({"id":3})", {"", ""});
  add(R"({"id":4})", {kit::invalid_utf8(50), kit::emoji(5), kit::with_nul(40)});
  bytes += "{\"id\":5}\r\n";
  expected->push_back({"{\"id\":5}", {}});
  add(R"({"id":6,"text":"\n\r"})", {});
  return bytes;
}

TEST(FrameReader, EverySlicingGivesTheSameFrames) {
  std::vector<Frame> expected;
  const std::string bytes = conversation(&expected);
  for (size_t slice = 1; slice <= bytes.size(); ++slice) {
    ASSERT_EQ(read_all(bytes, slice), expected) << "slices of " << slice;
  }
}

TEST(FrameReader, EveryPairOfCutsGivesTheSameFrames) {
  std::vector<Frame> expected;
  const std::string bytes = conversation(&expected);
  const std::string_view view = bytes;
  for (size_t first = 0; first < bytes.size(); ++first) {
    for (size_t second = first; second < bytes.size(); second += 3) {
      Collector sink;
      FrameReader reader(sink, kLimit);
      ASSERT_TRUE(reader.feed(view.substr(0, first)));
      ASSERT_TRUE(reader.feed(view.substr(first, second - first)));
      ASSERT_TRUE(reader.feed(view.substr(second)));
      ASSERT_EQ(sink.frames, expected) << "cuts at " << first << " and " << second;
    }
  }
}

TEST(FrameReader, KnowsWhenAnEndCutsAFrame) {
  std::vector<Frame> expected;
  const std::string frame = encode_frame(R"({"id":1})", {"12345", "", "678"});
  Collector sink;
  FrameReader reader(sink, kLimit);
  EXPECT_FALSE(reader.in_frame());
  for (size_t i = 0; i + 1 < frame.size(); ++i) {
    ASSERT_TRUE(reader.feed(std::string_view(frame).substr(i, 1)));
    ASSERT_TRUE(reader.in_frame()) << "after byte " << i;
    ASSERT_THAT(sink.frames, IsEmpty());
  }
  ASSERT_TRUE(reader.feed(std::string_view(frame).substr(frame.size() - 1)));
  EXPECT_FALSE(reader.in_frame());
  EXPECT_EQ(sink.frames.size(), 1u);
  // A started blank line loses nothing when the input ends there.
  ASSERT_TRUE(reader.feed(" \r"));
  EXPECT_FALSE(reader.in_frame());
  ASSERT_TRUE(reader.feed("\n{"));
  EXPECT_TRUE(reader.in_frame());
}

TEST(FrameReader, FramesWithZeroSizeBlobsEndAtOnce) {
  Collector sink;
  FrameReader reader(sink, kLimit);
  ASSERT_TRUE(reader.feed("{\"blobs\":[0]}\n"));
  EXPECT_EQ(sink.frames.size(), 1u);
  ASSERT_TRUE(reader.feed("{\"blobs\":[0,0,0]}\n{\"blobs\":[]}\n"));
  ASSERT_EQ(sink.frames.size(), 3u);
  EXPECT_THAT(sink.frames[1].blobs, ElementsAre("", "", ""));
}

TEST(FrameReader, TheLineLimitIsExactInEverySlicing) {
  const std::string fits = "\"" + std::string(kLimit - 2, 'x') + "\"";
  for (const size_t slice : {size_t{1}, size_t{7}, kLimit - 1, kLimit, kLimit + 1, kLimit + 2}) {
    EXPECT_EQ(read_all(fits + "\n", slice).size(), 1u);
    EXPECT_EQ(read_all(fits + "\r\n", slice).size(), 1u);
    for (const char* end : {" \n", "x", "x\r\n", "\r\r\n"}) {
      Collector sink;
      FrameReader reader(sink, kLimit);
      const std::string bytes = fits + end;
      Result<void> result;
      for (size_t at = 0; result && at < bytes.size(); at += slice) {
        result = reader.feed(std::string_view(bytes).substr(at, slice));
      }
      ASSERT_FALSE(result) << slice;
      EXPECT_EQ(result.error().code, Code::too_large);
      EXPECT_THAT(sink.frames, IsEmpty());
    }
  }
}

TEST(FrameReader, ABlobMayBeLongerThanALine) {
  const std::string blob = kit::random_bytes(300'000, 1);
  const std::string bytes = encode_frame(R"({"id":1})", {blob, blob});
  Collector sink;
  FrameReader reader(sink, kLimit);
  constexpr size_t kSlice = 65'536;
  for (size_t at = 0; at < bytes.size(); at += kSlice) {
    ASSERT_TRUE(reader.feed(std::string_view(bytes).substr(at, kSlice)));
  }
  ASSERT_EQ(sink.frames.size(), 1u);
  EXPECT_EQ(sink.frames[0].blobs, (std::vector<std::string>{blob, blob}));
  EXPECT_LE(sink.largest_piece, kSlice) << "pieces are handed on, never gathered";
}

TEST(FrameReader, LineAfterABlobIsFound) {
  Collector sink;
  FrameReader reader(sink, kLimit);
  ASSERT_TRUE(reader.feed("{\"blobs\":[3]}\nab\n{\"id\":2}\n"));
  ASSERT_EQ(sink.frames.size(), 2u);
  EXPECT_THAT(sink.frames[0].blobs, ElementsAre("ab\n"));
  EXPECT_EQ(sink.frames[1].line, "{\"id\":2}");
}

TEST(FrameReader, HandsOnWhatTheSinkRefuses) {
  {
    Collector sink;
    FrameReader reader(sink, kLimit);
    const auto result = reader.feed("{\"id\":1}\nrefuse\n{\"id\":2}\n");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().text, "refused line");
    EXPECT_EQ(sink.frames.size(), 1u);
  }
  {
    Collector sink;
    sink.refuse_blobs = true;
    FrameReader reader(sink, kLimit);
    const auto result = reader.feed("{\"blobs\":[1]}\nx");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::no_space);
  }
  {
    Collector sink;
    FrameReader reader(sink, kLimit);
    const auto result = reader.feed("\"refuse at the end\"\n");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::busy);
  }
}

TEST(EncodeFrame, AddsTheMemberOnlyForBlobs) {
  EXPECT_EQ(encode_frame("{}", {}), "{}\n");
  EXPECT_EQ(encode_frame(R"({"a":{}})", {}), "{\"a\":{}}\n");
  EXPECT_EQ(encode_frame("{}", {"xy"}), "{\"blobs\":[2]}\nxy");
  EXPECT_EQ(encode_frame("{ }", {""}), "{ \"blobs\":[0]}\n");
  EXPECT_EQ(encode_frame(R"({"a":{"b":1}})", {"x", "", "yz"}),
            "{\"a\":{\"b\":1},\"blobs\":[1,0,2]}\nxyz");
  EXPECT_EQ(encode_frame(R"({"a":"}"})", {std::string_view("\0", 1)}),
            std::string("{\"a\":\"}\",\"blobs\":[1]}\n") + '\0');
}

TEST(EncodeFrame, RealOutputsRoundTrip) {
  for (const auto& [name, text] : kit::all_shapes()) {
    const auto frames = read_all(encode_frame(R"({"id":1})", {text, text}), 10'007);
    ASSERT_EQ(frames.size(), 1u) << name;
    EXPECT_EQ(frames[0].blobs, (std::vector<std::string>{text, text})) << name;
  }
}

}  // namespace
}  // namespace ebla
