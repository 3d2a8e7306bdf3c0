#include "fs/growing.h"

#include <gtest/gtest.h>

namespace ebla::fs {
namespace {

constexpr Ino kFile = 7;

class GrowingTest : public ::testing::Test {
 protected:
  bool open(MountId mount = 1) { return growing_.open(mount, kFile, now_); }
  void close(MountId mount = 1) { growing_.close(mount, kFile); }
  bool grow() { return growing_.begin(kFile, now_).has_value(); }
  void look(MountId mount = 1) { growing_.shown(mount, kFile, growing_.before_read()); }

  Growing growing_;
  Growing::Clock::time_point now_;
};

TEST_F(GrowingTest, AFileThatIsOpenForWritingDoesNotGrow) {
  EXPECT_TRUE(open(1));
  EXPECT_TRUE(open(2));
  close(1);
  const auto refused = growing_.begin(kFile, now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::busy);
  close(2);
  EXPECT_TRUE(grow());
}

TEST_F(GrowingTest, AKernelLooksAgainBeforeItOpensWhatHasGrown) {
  EXPECT_TRUE(grow());
  EXPECT_FALSE(open());
  look();
  EXPECT_TRUE(open());
  EXPECT_FALSE(open(2));
  close();
  EXPECT_TRUE(open());
}

TEST_F(GrowingTest, AReadFromBeforeDoesNotCount) {
  EXPECT_TRUE(grow());
  const uint64_t before = growing_.before_read();
  EXPECT_TRUE(grow());
  growing_.shown(1, kFile, before);
  EXPECT_FALSE(open());
}

TEST_F(GrowingTest, WhoIsSentToLookAgainIsWaitedForAWhile) {
  EXPECT_TRUE(grow());
  EXPECT_FALSE(open());
  EXPECT_FALSE(grow());
  look();
  EXPECT_TRUE(open());
  close();
  now_ += Growing::kPromise;
  EXPECT_TRUE(grow());
}

TEST_F(GrowingTest, NothingOpensWhileItGrows) {
  auto token = growing_.begin(kFile, now_);
  ASSERT_TRUE(token);
  look();
  EXPECT_FALSE(open());
  token->reset();
  EXPECT_FALSE(open());
  look();
  EXPECT_TRUE(open());
}

TEST_F(GrowingTest, AMountThatIsGoneHoldsNothing) {
  EXPECT_TRUE(open());
  growing_.forget(1);
  EXPECT_TRUE(grow());
  growing_.released(kFile);
  EXPECT_TRUE(open());
}

}  // namespace
}  // namespace ebla::fs
