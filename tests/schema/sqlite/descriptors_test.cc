// A process that may open no more files: an error with advice for whoever needs one, and a store
// that goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

#include "schema/base/limits.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/hoard.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"

namespace ebla::sqlite {
namespace {

using testing::HasSubstr;

class Descriptors : public testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open() {
    OpenOptions options;
    options.path = folder_ / "store";
    options.clock = &clock_;
    return open_store(options);
  }

  SystemClock clock_;
  kit::TempDir folder_{"descriptors"};
};

TEST_F(Descriptors, ReadersAreToldAndTheWriterNeedsNone) {
  auto store = *open();
  const std::string text = kit::random_bytes(100'000, 1);
  {
    const kit::Hoard hoard(0);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(kit::set_fact(*store, "x", std::to_string(i)).ok());
    }
    const auto fact = store->fact("x");
    ASSERT_FALSE(fact.has_value());
    EXPECT_EQ(fact.error().code, Code::unavailable);
    EXPECT_THAT(fact.error().text, HasSubstr("ulimit -n"));
    EXPECT_TRUE(store->health().writable) << store->health().text;
  }
  EXPECT_EQ(store->fact("x").value_or(""), "2");
  kit::make_file(*store, store->root(), "f", text);
  EXPECT_TRUE(kit::sync(*store).ok());
}

// With whatever is left: it opens and works from then on, passes of the checkpoint included, or
// says why not.
TEST_F(Descriptors, AStoreThatOpensHasAllItNeeds) {
  open()->reset();
  size_t refused = 0;
  bool opened = false;
  for (size_t spare = 0; !opened || spare < refused + 3; ++spare) {
    ASSERT_LT(spare, 40u);
    const kit::Hoard hoard(spare);
    auto store = open();
    if (!store) {
      EXPECT_FALSE(opened);
      ++refused;
      EXPECT_EQ(store.error().code, Code::unavailable) << store.error().text;
      EXPECT_THAT(store.error().text, HasSubstr("ulimit -n")) << spare;
      continue;
    }
    opened = true;
    // More than a pass is due for.
    for (int i = 0; i < 24; ++i) {
      const std::string number = std::to_string(i);
      const auto set = kit::set_fact(**store, "x", number);
      EXPECT_TRUE(set.ok()) << spare << ": " << set.result.error().text;
      const auto staged = kit::stage(**store, 0, 0, kit::random_bytes(limits::kStageSliceBytes, 3));
      EXPECT_TRUE(staged.ok()) << spare << ": " << staged.result.error().text;
    }
    EXPECT_TRUE((*store)->health().writable) << spare << ": " << (*store)->health().text;
  }
  EXPECT_GT(refused, 3u);
  EXPECT_THAT(kit::check_store(folder_ / "store"), testing::IsEmpty());
}

}  // namespace
}  // namespace ebla::sqlite
