// Contents: staging, sharing, and the counters over them.
#include <array>

#include "tests/kit/real_texts.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using kit::commit_eviction;
using kit::discard;
using kit::eviction_plan;
using kit::make_session;
using kit::stage;
using kit::stage_all;

constexpr size_t kSlice = limits::kStageSliceBytes;

EvictionPlan staged_plan(const Session& session, std::string_view id, const ContentRef& ref) {
  EvictionPlan plan = eviction_plan(session, id, "");
  plan.content = ref;
  return plan;
}

TEST_P(StoreContract, LongContentsArriveInSlices) {
  const Session session = make_session(store(), "s-aaaaa");
  for (const size_t size :
       {size_t{0}, size_t{1}, kSlice, kSlice + 1, 2 * kSlice, 3 * kSlice + 12'345}) {
    SCOPED_TRACE(size);
    const std::string text = kit::random_bytes(size, size);
    const ContentRef ref = stage_all(store(), text);
    ASSERT_NE(ref.staged, 0u);
    const auto ended =
        commit_eviction(store(), staged_plan(session, "call_" + std::to_string(size), ref));
    ASSERT_TRUE(ended.ok()) << ended.result.error().text;
    expect_file(*ended, text);
    EXPECT_EQ(kit::read_file(store(), ended->ino, 4099), text);
  }
}

TEST_P(StoreContract, StagedContentIsInvisible) {
  const Session session = make_session(store(), "s-aaaaa");
  const Usage before = store().usage();
  const ContentRef ref = stage_all(store(), kit::random_bytes(2 * kSlice, 1));
  const Usage after = store().usage();
  EXPECT_EQ(after.files, before.files);
  EXPECT_EQ(after.logical_bytes, before.logical_bytes);
  EXPECT_EQ(after.content_bytes, before.content_bytes);
  EXPECT_FALSE(
      store()
          .find_eviction(session.tree, ArtifactKind::tool_result, "call_1", ref.hash, ref.size)
          ->has_value());
  const auto ended = stage(store(), 0, 0, "x");
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended.changes.empty());
}

TEST_P(StoreContract, SlicesOutOfOrderAreRefused) {
  const std::string full(kSlice, 'a');
  EXPECT_EQ(stage(store(), 0, kSlice, "x").code(), Code::out_of_range);
  EXPECT_EQ(stage(store(), 999'999, 0, "x").code(), Code::file_not_found);
  EXPECT_EQ(stage(store(), 0, 0, full + "a").code(), Code::too_large);
  const ContentId content = *stage(store(), 0, 0, full);
  EXPECT_EQ(stage(store(), content, 0, full).code(), Code::out_of_range) << "twice";
  EXPECT_EQ(stage(store(), content, 2 * kSlice, full).code(), Code::out_of_range) << "a gap";
  EXPECT_EQ(stage(store(), content, kSlice - 1, "x").code(), Code::out_of_range);
  EXPECT_EQ(*stage(store(), content, kSlice, "short"), content);
  EXPECT_EQ(stage(store(), content, kSlice + 5, "x").code(), Code::out_of_range)
      << "a short slice is the last";
  // What was refused has changed nothing.
  const Session session = make_session(store(), "s-aaaaa");
  ContentRef ref;
  ref.staged = content;
  ref.size = kSlice + 5;
  ref.hash = xxh3_128(full + "short");
  const auto ended = commit_eviction(store(), staged_plan(session, "call_1", ref));
  ASSERT_TRUE(ended.ok()) << ended.result.error().text;
  expect_file(*ended, full + "short");
}

TEST_P(StoreContract, DiscardedContentIsGone) {
  const Session session = make_session(store(), "s-aaaaa");
  const ContentRef ref = stage_all(store(), kit::random_bytes(kSlice + 1, 5));
  ASSERT_TRUE(discard(store(), ref.staged).ok());
  EXPECT_EQ(commit_eviction(store(), staged_plan(session, "call_1", ref)).code(),
            Code::file_not_found);
  EXPECT_EQ(stage(store(), ref.staged, 0, "x").code(), Code::file_not_found);
  ASSERT_TRUE(discard(store(), ref.staged).ok()) << "again: nothing is left to do";
  ASSERT_TRUE(discard(store(), 0).ok());
  ASSERT_TRUE(discard(store(), 999'999).ok());
}

TEST_P(StoreContract, LinkedContentIsNoLongerStaged) {
  const Session session = make_session(store(), "s-aaaaa");
  const std::string text = kit::random_bytes(kSlice + 7, 6);
  const ContentRef ref = stage_all(store(), text);
  const auto file = commit_eviction(store(), staged_plan(session, "call_1", ref));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(discard(store(), ref.staged).ok()) << "too late to matter";
  expect_file(*file, text);
  EXPECT_EQ(stage(store(), ref.staged, 2 * kSlice, "x").code(), Code::file_not_found);
  EXPECT_EQ(commit_eviction(store(), staged_plan(session, "call_2", ref)).code(),
            Code::file_not_found);
}

TEST_P(StoreContract, KnownDecisionsTakeNoStagedContent) {
  const Session session = make_session(store(), "s-aaaaa");
  const std::string text = kit::random_bytes(kSlice + 7, 6);
  const ContentRef first = stage_all(store(), text);
  const ContentRef second = stage_all(store(), text);
  const auto file = commit_eviction(store(), staged_plan(session, "call_1", first));
  ASSERT_TRUE(file.ok());
  const auto again = commit_eviction(store(), staged_plan(session, "call_1", second));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->known);
  EXPECT_EQ(again->ino, file->ino);
  EXPECT_EQ(store().usage().content_bytes, text.size());
  EXPECT_EQ(commit_eviction(store(), staged_plan(session, "call_2", second)).code(),
            Code::file_not_found)
      << "it was dropped";
  expect_file(*again, text);
}

TEST_P(StoreContract, ThePlanMustSayTheTruthAboutItsContent) {
  const Session session = make_session(store(), "s-aaaaa");
  auto plan = eviction_plan(session, "call_1", "four");
  plan.content.size = 5;
  EXPECT_EQ(commit_eviction(store(), plan).code(), Code::invalid_params);
  ContentRef ref = stage_all(store(), "four");
  ref.size = 3;
  EXPECT_EQ(commit_eviction(store(), staged_plan(session, "call_1", ref)).code(),
            Code::invalid_params);
  // Failed with nothing changed: it is still there.
  ref.size = 4;
  EXPECT_TRUE(commit_eviction(store(), staged_plan(session, "call_1", ref)).ok());
  EXPECT_EQ(
      commit_eviction(store(), eviction_plan(session, "call_2",
                                             std::string(limits::kInlineContentBytes + 1, 'x')))
          .code(),
      Code::too_large);
  put(session, "call_3", std::string(limits::kInlineContentBytes, 'x'));
}

TEST_P(StoreContract, EqualBytesAreHeldOnce) {
  const Session session = make_session(store(), "s-aaaaa");
  const Session other = make_session(store(), "t-aaaaa");
  const std::string body = kit::prose(80'001);
  const EvictionOutcome first = put(session, "call_0", body);
  for (int i = 1; i < 10; ++i) {
    const EvictionOutcome again = put(session, "call_" + std::to_string(i), body);
    EXPECT_FALSE(again.known);
    EXPECT_EQ(again.same_as, first.path);
    EXPECT_NE(again.path, first.path);
  }
  const EvictionOutcome elsewhere = put(other, "call_0", body);
  EXPECT_EQ(elsewhere.same_as, "");
  // Staged bytes are recognised as well.
  const auto staged =
      commit_eviction(store(), staged_plan(other, "call_1", stage_all(store(), body)));
  ASSERT_TRUE(staged.ok());
  EXPECT_EQ(staged->same_as, elsewhere.path);
  Usage usage = store().usage();
  EXPECT_EQ(usage.content_bytes, body.size());
  EXPECT_EQ(usage.logical_bytes, 12 * body.size());
  EXPECT_EQ(usage.evictions, 12u);
  EXPECT_EQ(usage.files, 12u + 2u);

  // Removing one leaves the others whole.
  for (const DirEntry& entry : kit::list(store(), session.folder)) {
    ASSERT_TRUE(
        kit::remove(store(),
                    {.parent = session.folder, .name = entry.name, .uid = 0, .reason = "rm"})
            .ok());
    ASSERT_TRUE(kit::reap(store(), {entry.attr.ino}).ok());
  }
  expect_file(elsewhere, body);
  expect_file(*staged, body);
  usage = store().usage();
  EXPECT_EQ(usage.content_bytes, body.size());
  EXPECT_EQ(usage.logical_bytes, 2 * body.size());
  EXPECT_EQ(put(session, "call_new", body).same_as, "") << "only files that are there are named";
}

TEST_P(StoreContract, CountersFollowRemovalAndReaping) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome file = put(session, "call_1", std::string(1000, 'x'));
  ASSERT_TRUE(
      kit::remove(store(), {.parent = session.folder, .name = "call_1", .uid = 0, .reason = "rm"})
          .ok());
  Usage usage = store().usage();
  EXPECT_EQ(usage.files, 2u) << "it exists until it is reaped";
  EXPECT_EQ(usage.content_bytes, 1000u);
  ASSERT_TRUE(kit::reap(store(), {file.ino}).ok());
  usage = store().usage();
  EXPECT_EQ(usage.files, 1u);
  EXPECT_EQ(usage.logical_bytes, 0u);
  EXPECT_EQ(usage.content_bytes, 0u);
  EXPECT_EQ(usage.evictions, 1u) << "the decision stays";
  EXPECT_EQ(usage.directories, 4u);
}

// The hash finds, bytes decide: whoever can make two texts of one hash gains nothing.
TEST_P(StoreContract, EqualHashesDoNotMakeEqualBytes) {
  const Session session = make_session(store(), "s-aaaaa");
  const auto with_hash = [&](std::string_view id, std::string bytes) {
    auto plan = eviction_plan(session, id, std::move(bytes));
    plan.content.hash = xxh3_128("the hash of something else");
    return commit_eviction(store(), std::move(plan));
  };
  const auto a = with_hash("call_1", "first body!");
  const auto b = with_hash("call_2", "other body!");
  ASSERT_TRUE(a.ok() && b.ok());
  expect_file(*a, "first body!");
  expect_file(*b, "other body!");
  EXPECT_EQ(b->same_as, "");
  // Also under one id, where the keys of both decisions are equal.
  const auto c = with_hash("call_1", "third body!");
  ASSERT_TRUE(c.ok());
  EXPECT_FALSE(c->known);
  EXPECT_EQ(c->path, a->path + ".2");
  expect_file(*c, "third body!");
  expect_file(*a, "first body!");
  EXPECT_EQ(store().usage().content_bytes, 33u);
  // Each is known by its own bytes.
  const auto a2 = with_hash("call_1", "first body!");
  const auto c2 = with_hash("call_1", "third body!");
  ASSERT_TRUE(a2.ok() && c2.ok());
  EXPECT_TRUE(a2->known && c2->known);
  EXPECT_EQ(a2->ino, a->ino);
  EXPECT_EQ(c2->ino, c->ino);
  // Other sizes under one hash.
  const auto d = with_hash("call_1", "longer than the others");
  ASSERT_TRUE(d.ok());
  EXPECT_FALSE(d->known);
  expect_file(*d, "longer than the others");
}

TEST_P(StoreContract, StagedContentOfEqualHashIsComparedWhole) {
  const Session session = make_session(store(), "s-aaaaa");
  std::string text = kit::random_bytes(2 * kSlice + 100, 9);
  const ContentRef first = stage_all(store(), text);
  const auto a = commit_eviction(store(), staged_plan(session, "call_1", first));
  ASSERT_TRUE(a.ok());
  std::string forged = text;
  forged.back() ^= 1;
  ContentRef second = stage_all(store(), forged);
  second.hash = first.hash;
  const auto b = commit_eviction(store(), staged_plan(session, "call_2", second));
  ASSERT_TRUE(b.ok());
  expect_file(*a, text);
  expect_file(*b, forged);
  EXPECT_EQ(store().usage().content_bytes, 2 * text.size());
}

TEST_P(StoreContract, StagedContentIsReclaimedAtTheNextStart) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome kept = put(session, "call_1", "kept");
  const ContentRef ref = stage_all(store(), kit::random_bytes(2 * kSlice, 1));
  reopen();
  if (IsSkipped()) return;
  EXPECT_EQ(stage(store(), ref.staged, 2 * kSlice, "x").code(), Code::file_not_found);
  EXPECT_EQ(commit_eviction(store(), staged_plan(session, "call_2", ref)).code(),
            Code::file_not_found);
  expect_file(kept, "kept");
  EXPECT_EQ(store().usage().content_bytes, 4u);
}

TEST_P(StoreContract, OrphansGoAtTheNextStart) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome file = put(session, "call_1", "body");
  ASSERT_TRUE(
      kit::remove(store(), {.parent = session.folder, .name = "call_1", .uid = 0, .reason = "rm"})
          .ok());
  reopen();
  if (IsSkipped()) return;
  EXPECT_FALSE(store().getattr(file.ino).has_value()) << "no mount can hold it any more";
  EXPECT_EQ(store().usage().content_bytes, 0u);
  EXPECT_EQ(store().usage().files, 1u);
  const EvictionOutcome again = put(session, "call_1", "body");
  EXPECT_TRUE(again.known);
  EXPECT_EQ(again.path, file.path);
  EXPECT_EQ(again.replacement, file.replacement);
}

}  // namespace
}  // namespace ebla
