// Histories: files that grow by whole sections.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "tests/kit/real_texts.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreContract, AHistoryGrowsByWholeSections) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  EXPECT_EQ(*store().history_state(session.serial), HistoryState{});
  const Attr before = *store().getattr(session.history);
  clock_.advance_ns(9);
  const std::string one = kit::chinese(500) + "\n";
  const std::string two = kit::with_nul(700) + kit::invalid_utf8(300) + "\n";
  const auto first = kit::append_history(store(), kit::history_plan(store(), session, one, 1));
  ASSERT_TRUE(first.ok()) << first.result.error().text;
  EXPECT_EQ(first->bytes, one.size());
  EXPECT_EQ(first->sections, 1u);
  EXPECT_EQ(first->messages, 1u);
  const auto second = kit::append_history(store(), kit::history_plan(store(), session, two, 2));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->bytes, one.size() + two.size());
  EXPECT_EQ(second->sections, 2u);
  EXPECT_EQ(second->messages, 2u);
  EXPECT_EQ(*store().history_state(session.serial), *second);
  EXPECT_EQ(kit::read_file(store(), session.history, 100), one + two);
  const Attr after = *store().getattr(session.history);
  EXPECT_EQ(after.size, second->bytes);
  EXPECT_EQ(after.raw_bytes, second->bytes);
  EXPECT_EQ(after.mtime_ns, clock_.wall_ns());
  EXPECT_EQ(after.ctime_ns, clock_.wall_ns());
  EXPECT_EQ(after.atime_ns, before.atime_ns);
  EXPECT_GT(after.change, before.change);
  EXPECT_EQ(after.flags, before.flags);
  EXPECT_EQ(after.mode, before.mode);
  reopen();
  EXPECT_EQ(*store().history_state(session.serial), *second);
  EXPECT_EQ(kit::read_file(store(), session.history), one + two);
}

TEST_P(StoreContract, GrowthIsToldFromTheOldEndOn) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  ASSERT_TRUE(kit::append_history(store(), kit::history_plan(store(), session, "one\n", 1)).ok());
  const auto ended =
      kit::append_history(store(), kit::history_plan(store(), session, "two\n", 2), {.origin = 3});
  ASSERT_TRUE(ended.ok());
  EXPECT_THAT(ended.changes.ranges,
              ElementsAre(RangeChange{.ino = session.history, .offset = 4, .length = 0}));
  EXPECT_THAT(ended.changes.attributes, ElementsAre(session.history));
  EXPECT_THAT(ended.changes.dentries, IsEmpty());
  EXPECT_EQ(ended.changes.tree, session.tree);
  EXPECT_EQ(ended.changes.session, session.serial);
  EXPECT_EQ(ended.changes.origin, 3u);
}

TEST_P(StoreContract, ASectionForAnotherLengthIsRefused) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  auto late = kit::history_plan(store(), session, "late\n", 1);
  ASSERT_TRUE(kit::append_history(store(), kit::history_plan(store(), session, "one\n", 2)).ok());
  EXPECT_EQ(kit::append_history(store(), late).code(), Code::conflict);
  late.section = std::string(limits::kInlineContentBytes + 5, 'x') + "\n";
  EXPECT_EQ(kit::append_history(store(), late).code(), Code::conflict);
  auto ragged = kit::history_plan(store(), session, "no end", 3);
  EXPECT_EQ(kit::append_history(store(), ragged).code(), Code::invalid_params);
  ragged.session = 999'999;
  EXPECT_EQ(kit::append_history(store(), ragged).code(), Code::unknown_session);
  EXPECT_EQ(store().history_state(999'999).error().code, Code::unknown_session);
  EXPECT_EQ(store().history_holds(999'999, {}).error().code, Code::unknown_session);
  EXPECT_EQ(kit::read_file(store(), session.history), "one\n");
  EXPECT_EQ(store().usage().content_bytes, 4u);
}

TEST_P(StoreContract, MessagesThatAreAllKnownAreNotRepeated) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  auto plan = kit::history_plan(store(), session, "one\n", 1);
  plan.keys = {kit::message_key(1), kit::message_key(2), kit::message_key(1)};
  const auto first = kit::append_history(store(), plan);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->messages, 2u);
  const auto again = kit::append_history(store(), plan);  // as after a lost answer
  ASSERT_TRUE(again.ok()) << again.result.error().text;
  EXPECT_EQ(*again, *first);
  EXPECT_TRUE(again.changes.empty());
  plan.keys.push_back(kit::message_key(3));
  EXPECT_EQ(kit::append_history(store(), plan).code(), Code::conflict);
  plan.history_bytes = 4;
  const auto more = kit::append_history(store(), plan);
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->messages, 3u);
  EXPECT_EQ(kit::read_file(store(), session.history), "one\none\n");
  auto bare = kit::history_plan(store(), session, "bare\n", 0);
  bare.keys.clear();
  ASSERT_TRUE(kit::append_history(store(), bare).ok());
  EXPECT_EQ(store().history_state(session.serial)->sections, 3u);
}

TEST_P(StoreContract, KeysBelongToOneSession) {
  const Session one = kit::make_session(store(), "s-aaaaa");
  const Session two = kit::make_session(store(), "s-bbbbb", "", one.serial);
  ASSERT_TRUE(kit::append_history(store(), kit::history_plan(store(), one, "a\n", 1)).ok());
  ASSERT_TRUE(kit::append_history(store(), kit::history_plan(store(), two, "b\n", 1)).ok());
  EXPECT_EQ(kit::read_file(store(), one.history), "a\n");
  EXPECT_EQ(kit::read_file(store(), two.history), "b\n");
  EXPECT_THAT(*store().history_holds(two.serial, std::vector{kit::message_key(2)}),
              ElementsAre(false));
}

// Lengths around every border: chunk, slice, what one unit takes.
TEST_P(StoreContract, SectionsOfEveryLengthReadBackWhole) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  std::string all;
  uint64_t number = 0;
  for (const size_t bytes :
       {size_t{1}, size_t{4'000}, limits::kChunkBytes - 4'001, limits::kChunkBytes,
        limits::kChunkBytes + 1, limits::kInlineContentBytes, size_t{100},
        limits::kInlineContentBytes + 1, 2 * limits::kStageSliceBytes, size_t{50},
        2 * limits::kStageSliceBytes + 77, size_t{60}}) {
    const std::string text = kit::section_text(++number, bytes);
    const auto ended =
        kit::append_history(store(), kit::history_plan(store(), session, text, number));
    ASSERT_TRUE(ended.ok()) << bytes << ": " << ended.result.error().text;
    all += text;
    ASSERT_EQ(ended->bytes, all.size());
  }
  EXPECT_EQ(kit::read_file(store(), session.history), all);
  EXPECT_EQ(kit::read_file(store(), session.history, 1'000'003), all);
  for (const size_t at : {size_t{0}, size_t{1}, size_t{3'999}, limits::kChunkBytes, all.size() - 61,
                          all.size() - 1, all.size()}) {
    std::string part(5'000, '\0');
    const auto count = store().read(session.history, at, part);
    ASSERT_TRUE(count.has_value()) << count.error().text;
    part.resize(*count);
    EXPECT_EQ(part, all.substr(at, 5'000)) << at;
  }
  EXPECT_EQ(store().usage().logical_bytes, all.size());
  EXPECT_EQ(store().usage().content_bytes, all.size());
}

// Readers see growth by whole sections only, however long one is and whatever is done behind.
TEST_P(StoreContract, HalfASectionIsNeverSeen) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  std::atomic<bool> stop = false;
  auto watched = std::async(std::launch::async, [&]() -> std::string {
    std::string seen;
    while (!stop) {
      const auto attr = store().getattr(session.history);
      if (!attr) return attr.error().text;
      if (attr->size < seen.size()) return "the history has shrunk";
      std::string more(attr->size - seen.size(), '\0');
      const auto count = store().read(session.history, seen.size(), more);
      if (!count) return count.error().text;
      if (*count != more.size()) return "fewer bytes than the size says";
      if (!more.empty() && more.back() != '\n') return "half a section";
      seen += more;
    }
    return "";
  });
  std::string all;
  for (uint64_t number = 1; number <= 60; ++number) {
    const size_t bytes = number % 20 == 0 ? 3 * limits::kMiB : number * 700;
    const std::string text = kit::section_text(number, bytes);
    ASSERT_TRUE(kit::append_history(store(), kit::history_plan(store(), session, text, number),
                                    {.durability = Durability::ordered})
                    .ok());
    all += text;
  }
  stop = true;
  EXPECT_EQ(watched.get(), "");
  EXPECT_EQ(kit::read_file(store(), session.history), all);
}

// Sixteen sub-agents at once: sixteen files, every section of each in its order.
TEST_P(StoreContract, ManySessionsGrowAtOnce) {
  constexpr uint64_t kSessions = 16;
  constexpr uint64_t kSections = 30;
  std::vector<Session> sessions;
  for (uint64_t i = 0; i < kSessions; ++i) {
    sessions.push_back(kit::make_session(store(), "s-" + std::to_string(10'000 + i)));
  }
  std::vector<std::future<bool>> writers;
  for (uint64_t i = 0; i < kSessions; ++i) {
    writers.push_back(std::async(std::launch::async, [&, i] {
      bool good = true;
      for (uint64_t n = 0; n < kSections; ++n) {
        const auto text =
            kit::section_text(n, n % 10 == 9 ? limits::kInlineContentBytes + n : 6'000);
        good =
            good && kit::append_history(store(), kit::history_plan(store(), sessions[i], text, n),
                                        {.durability = Durability::ordered})
                        .ok();
      }
      return good;
    }));
  }
  for (auto& writer : writers) EXPECT_TRUE(writer.get());
  for (const Session& session : sessions) {
    std::string all;
    for (uint64_t n = 0; n < kSections; ++n) {
      all += kit::section_text(n, n % 10 == 9 ? limits::kInlineContentBytes + n : 6'000);
    }
    EXPECT_EQ(kit::read_file(store(), session.history), all);
  }
}

// Of many that were written for the same length, one is taken: nothing is lost and nothing doubled.
TEST_P(StoreContract, SectionsThatRaceForOnePlace) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  constexpr uint64_t kWriters = 8;
  std::vector<std::future<Code>> writers;
  for (uint64_t i = 0; i < kWriters; ++i) {
    writers.push_back(std::async(std::launch::async, [&, i] {
      auto plan = kit::history_plan(
          store(), session,
          kit::section_text(i, i % 2 == 0 ? 100 : limits::kInlineContentBytes + 1), i);
      plan.history_bytes = 0;
      return kit::append_history(store(), plan).code();
    }));
  }
  std::vector<Code> codes;
  for (auto& writer : writers) codes.push_back(writer.get());
  EXPECT_EQ(std::ranges::count(codes, Code::internal_error), 1);  // that one was done
  EXPECT_EQ(std::ranges::count(codes, Code::conflict), static_cast<int>(kWriters) - 1);
  EXPECT_EQ(store().history_state(session.serial)->sections, 1u);
}

TEST_P(StoreContract, AHistoryCannotBeRemoved) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  ASSERT_TRUE(kit::append_history(store(), kit::history_plan(store(), session, "one\n", 1)).ok());
  EXPECT_EQ(
      kit::remove(store(), {.parent = histories(), .name = "s-aaaaa.md", .uid = 0, .reason = "rm"})
          .code(),
      Code::operation_not_permitted);
  EXPECT_EQ(kit::xattr(store(), session.history, "user.ebla.kind"), "history");
}

}  // namespace
}  // namespace ebla
