#include "fs/growing.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace ebla::fs {
namespace {

constexpr Ino kFile = 7;

class GrowingTest : public ::testing::Test {
 protected:
  // What became of it: "" while it waits, "open", or the error.
  std::shared_ptr<std::string> open(MountId mount = 1) {
    auto outcome = std::make_shared<std::string>();
    growing_.open(mount, kFile, [outcome](const Result<void>& ready) {
      *outcome = ready ? "open" : code_info(ready.error().code).name;
    });
    return outcome;
  }
  void close(MountId mount = 1) { growing_.close(mount, kFile); }
  bool grow() { return growing_.begin(kFile).has_value(); }

  Growing growing_{std::chrono::hours(1)};
};

TEST_F(GrowingTest, AFileThatIsOpenForWritingDoesNotGrow) {
  EXPECT_EQ(*open(1), "open");
  EXPECT_EQ(*open(2), "open");
  close(1);
  const auto refused = growing_.begin(kFile);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::busy);
  close(2);
  EXPECT_TRUE(grow());
}

TEST_F(GrowingTest, WhoOpensAFileThatGrowsWaitsForItsEnd) {
  auto one = growing_.begin(kFile);
  auto other = growing_.begin(kFile);
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(growing_.grows(kFile));
  const auto waits = open();
  const auto also = open(2);
  EXPECT_FALSE(growing_.open_now(1, kFile));
  one->reset();
  EXPECT_EQ(*waits, "") << "the other still grows it";
  other->reset();
  EXPECT_EQ(*waits, "open");
  EXPECT_EQ(*also, "open");
  EXPECT_FALSE(growing_.grows(kFile));
  EXPECT_FALSE(grow());
  close(1);
  EXPECT_FALSE(grow());
  close(2);
  EXPECT_TRUE(grow());
}

TEST_F(GrowingTest, WhoWaitsComesBeforeTheNextThatGrowsIt) {
  auto growth = growing_.begin(kFile);
  const auto waits = open();
  EXPECT_FALSE(grow());
  growth->reset();
  EXPECT_EQ(*waits, "open");
}

TEST_F(GrowingTest, AMountThatIsGoneHoldsNothingAndWaitsForNothing) {
  EXPECT_EQ(*open(1), "open");
  growing_.forget(1);
  auto growth = growing_.begin(kFile);
  ASSERT_TRUE(growth);
  const auto gone = open(1);
  const auto stays = open(2);
  growing_.forget(1);
  EXPECT_EQ(*gone, "unavailable");
  EXPECT_EQ(*stays, "");
  growth->reset();
  EXPECT_EQ(*stays, "open");
  close(2);
  EXPECT_TRUE(grow());
}

TEST_F(GrowingTest, NobodyWaitsForEver) {
  Growing impatient(std::chrono::milliseconds(0));
  auto growth = impatient.begin(kFile);
  std::promise<Code> outcome;
  impatient.open(1, kFile, [&](const Result<void>& ready) {
    outcome.set_value(ready ? Code::internal_error : ready.error().code);
  });
  EXPECT_EQ(outcome.get_future().get(), Code::busy);
  growth->reset();
  EXPECT_TRUE(impatient.begin(kFile)) << "it does not count as open";
}

}  // namespace
}  // namespace ebla::fs
