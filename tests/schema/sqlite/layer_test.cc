// A layer against a plain string that the same calls change.
#include "schema/sqlite/layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "schema/base/limits.h"

namespace ebla::sqlite {
namespace {

using limits::kChunkBytes;

// What lies below reads as dots; `held` is what it should be.
class LayerTest : public testing::Test {
 protected:
  static constexpr size_t kSize = 3 * kChunkBytes;

  void write(uint64_t offset, const std::string& bytes) {
    layer_.write(offset, bytes);
    held_.replace(offset, bytes.size(), bytes);
  }
  void zero(uint64_t offset, uint64_t end) {
    layer_.zero(offset, end);
    if (end > offset) held_.replace(offset, end - offset, end - offset, '\0');
  }
  void cut(uint64_t at) {
    layer_.cut(at);
    std::fill(held_.begin() + static_cast<ptrdiff_t>(at), held_.end(), '\0');
  }

  void check() const {
    std::string seen(kSize, '.');
    layer_.lay_over(0, seen);
    ASSERT_TRUE(seen == held_) << "at " << std::ranges::mismatch(seen, held_).in1 - seen.begin();
    size_t bytes = 0;
    uint64_t last = 0;
    for (const auto& [offset, extent] : layer_.extents()) {
      ASSERT_GE(offset, last) << "overlap";
      ASSERT_GT(extent.length(), 0u);
      last = offset + extent.length();
      bytes += extent.bytes.size();
      if (extent.zeros != 0) continue;
      ASSERT_EQ(offset / kChunkBytes, (last - 1) / kChunkBytes) << "crosses a chunk's border";
    }
    ASSERT_GE(layer_.weight(), bytes);
    ASSERT_LE(layer_.weight(), bytes + 256 * layer_.extents().size());
  }

  Layer layer_;
  std::string held_ = std::string(kSize, '.');
};

TEST_F(LayerTest, SequentialBytesBecomeOneExtentAChunk) {
  for (size_t at = 0; at < 2 * kChunkBytes; at += 4096) write(at, std::string(4096, 'w'));
  check();
  EXPECT_EQ(layer_.extents().size(), 2u);
}

TEST_F(LayerTest, PartsAreReadWherever) {
  write(kChunkBytes - 3, "abcdef");
  zero(10, 20);
  std::string part(4, '.');
  layer_.lay_over(kChunkBytes - 1, part);
  EXPECT_EQ(part, "cdef");
  part = "....";
  layer_.lay_over(18, part);
  EXPECT_EQ(part, std::string("\0\0..", 4));
  part = "....";
  layer_.lay_over(kChunkBytes + 3, part);
  EXPECT_EQ(part, "....");
}

TEST_F(LayerTest, BytesAfterACutAreNotCut) {
  write(100, "old");
  cut(50);
  write(200, "new");
  check();
  EXPECT_EQ(layer_.cut_at(), 50u);
  cut(300);
  EXPECT_EQ(layer_.cut_at(), 50u);
  check();
}

TEST_F(LayerTest, TwoInOneAreOneOnTheOther) {
  write(0, std::string(9000, 'a'));
  zero(4000, 5000);
  cut(8000);
  Layer newer;
  newer.write(4500, "bbb");
  newer.zero(100, 200);
  newer.cut(6000);
  newer.write(7000, "c");
  newer.size = 7001;
  newer.changes = 4;
  layer_.changes = 3;
  newer.lay_over(0, held_);
  layer_.absorb(newer);
  check();
  EXPECT_EQ(layer_.cut_at(), 6000u);
  EXPECT_EQ(layer_.size, 7001u);
  EXPECT_EQ(layer_.changes, 7u);
}

TEST_F(LayerTest, AnyCallsInAnyOrder) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    layer_ = {};
    held_.assign(kSize, '.');
    std::mt19937 random(seed);
    for (int i = 0; i < 60; ++i) {
      const uint64_t offset = random() % kSize;
      const uint64_t end =
          std::min<uint64_t>(offset + random() % (random() % 2 == 0 ? 90'000 : 90), kSize);
      switch (random() % 8) {
        case 0:
          cut(std::max<uint64_t>(offset, kSize / 2));
          break;
        case 1:
        case 2:
          zero(offset, end);
          break;
        default:
          write(offset, std::string(end - offset, static_cast<char>('a' + random() % 26)));
      }
      check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", call " << i;
    }
  }
}

}  // namespace
}  // namespace ebla::sqlite
