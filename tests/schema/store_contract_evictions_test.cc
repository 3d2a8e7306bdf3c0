// Put-aways: names, decisions found by content, refilling, what is told of them.
#include <algorithm>

#include "tests/kit/real_texts.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using kit::commit_eviction;
using kit::eviction_plan;
using kit::make_session;
using kit::remove;
using testing::ElementsAre;
using testing::IsEmpty;

RemovePlan rm(Ino parent, std::string name) {
  return {.parent = parent, .name = std::move(name), .uid = 1000, .reason = "rm"};
}

TEST_P(StoreContract, PuttingAwayMakesAProtectedFile) {
  const Session session = make_session(store(), "s-aaaaa");
  clock_.advance_ns(1'000'000);
  const Attr folder_before = *store().getattr(session.folder);
  auto plan = eviction_plan(session, "call_1", kit::numbered_rows(100'000));
  plan.replacement_parts = {"Kept whole in ", ", read it with sed -n 1,9p ", "."};
  plan.tokens = 25'001;
  plan.lines = 4711;
  const auto ended = commit_eviction(store(), plan);
  ASSERT_TRUE(ended.ok()) << ended.result.error().text;
  EXPECT_FALSE(ended->known);
  EXPECT_EQ(ended->same_as, "");
  EXPECT_EQ(ended->path, "/large_tool_results/s-aaaaa/call_1");
  EXPECT_EQ(ended->replacement, "Kept whole in call_1, read it with sed -n 1,9p call_1.");
  EXPECT_EQ(ended->size, 100'000u);
  EXPECT_EQ(ended->tokens, 25'001u);
  EXPECT_EQ(ended->lines, 4711u);
  expect_file(*ended, plan.content.bytes);

  const Attr attr = *store().getattr(ended->ino);
  EXPECT_EQ(attr.kind, NodeKind::file);
  EXPECT_EQ(attr.mode, 0400u);
  EXPECT_EQ(attr.nlink, 1u);
  EXPECT_EQ(attr.uid, 1000u);
  EXPECT_EQ(attr.gid, 1001u);
  EXPECT_EQ(attr.size, 100'000u);
  EXPECT_GE(attr.raw_bytes, 100'000u);
  EXPECT_EQ(attr.flags, kNodeProtected | kNodeRemovable | kNodeImmutable);
  for (const int64_t time : {attr.atime_ns, attr.mtime_ns, attr.ctime_ns}) {
    EXPECT_EQ(time, clock_.wall_ns());
  }
  const Attr folder = *store().getattr(session.folder);
  EXPECT_EQ(folder.mtime_ns, clock_.wall_ns());
  EXPECT_GT(folder.change, folder_before.change);
  EXPECT_EQ(folder.nlink, 2u);
}

TEST_P(StoreContract, AttributesTellWhatAFileIs) {
  const Session session = make_session(store(), "s-aaaaa");
  const std::string id = "call_x__thought__" + std::string(1'400, 'A') + std::string("\0\n\xFF", 3);
  const EvictionOutcome file = put(session, id, "a body", "call_x__thought__-01234567");
  const auto all = *store().xattrs(file.ino);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Xattr::name));
  EXPECT_EQ(all.size(), 7u);
  EXPECT_EQ(kit::xattr(store(), file.ino, "user.ebla.session"), "s-aaaaa");
  EXPECT_EQ(kit::xattr(store(), file.ino, "user.ebla.kind"), "tool_result");
  EXPECT_EQ(kit::xattr(store(), file.ino, "user.ebla.tool"), "bash");
  EXPECT_EQ(kit::xattr(store(), file.ino, "user.ebla.tool_call_id"), id) << "the whole id";
  EXPECT_EQ(kit::xattr(store(), file.ino, "user.ebla.tokens"), "2");
  EXPECT_EQ(kit::xattr(store(), file.ino, "user.ebla.xxh3"), xxh3_128("a body").hex());
  EXPECT_EQ(kit::xattr(store(), file.ino, "user.ebla.created"), "2023-11-14T22:13:20Z");

  auto bare = eviction_plan(session, "", "another", "result-01234567");
  bare.tool = "";
  const auto ended = commit_eviction(store(), bare);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(kit::xattr(store(), ended->ino, "user.ebla.tool"), "(none)");
  EXPECT_EQ(kit::xattr(store(), ended->ino, "user.ebla.tool_call_id"), "(none)");
  EXPECT_THAT(*store().xattrs(store().root()), IsEmpty());
}

TEST_P(StoreContract, EveryShapeOfTextIsKeptByteForByte) {
  const Session session = make_session(store(), "s-aaaaa");
  size_t n = 0;
  for (const auto& [name, text] : kit::all_shapes()) {
    SCOPED_TRACE(name);
    put(session, "call_" + std::to_string(n++), text.substr(0, limits::kInlineContentBytes));
  }
  // A real NUL and the six characters that JSON writes for it are two texts.
  const EvictionOutcome nul = put(session, "nul", std::string("a\0b", 3));
  const EvictionOutcome escaped = put(session, "escaped", "a\\u0000b");
  EXPECT_EQ(nul.size, 3u);
  EXPECT_EQ(escaped.size, 8u);
  expect_file(nul, std::string_view("a\0b", 3));
}

TEST_P(StoreContract, LongIdsThatDifferAtTheEndAreTwoDecisions) {
  const Session session = make_session(store(), "s-aaaaa");
  const std::string id = "call_x__thought__" + std::string(1'482, 'A');
  const EvictionOutcome a = put(session, id + "a", "body", "call_x__thought__-aaaaaaaa");
  const EvictionOutcome b = put(session, id + "b", "body", "call_x__thought__-aaaaaaaa");
  EXPECT_NE(a.path, b.path) << "even where their stems are equal";
  EXPECT_EQ(b.path, a.path + ".2");
  EXPECT_EQ(kit::xattr(store(), a.ino, "user.ebla.tool_call_id"), id + "a");
  EXPECT_EQ(kit::xattr(store(), b.ino, "user.ebla.tool_call_id"), id + "b");
}

TEST_P(StoreContract, IdsThatAreCleanedAlikeGetTwoNames) {
  const Session session = make_session(store(), "s-aaaaa");
  EXPECT_EQ(put(session, "a/b", "one", "a_b").path, "/large_tool_results/s-aaaaa/a_b");
  EXPECT_EQ(put(session, "a_b", "two", "a_b").path, "/large_tool_results/s-aaaaa/a_b.2");
  EXPECT_EQ(put(session, std::string("a\0b", 3), "three", "a_b").path,
            "/large_tool_results/s-aaaaa/a_b.3");
  EXPECT_EQ(put(session, std::string("a\0c", 3), "three", "a_b").path,
            "/large_tool_results/s-aaaaa/a_b.4");
  EXPECT_EQ(*store().entry_count(session.folder), 4u);
}

TEST_P(StoreContract, ResultsWithoutAnIdAreNeverOverwritten) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome a = put(session, "", "one", "result-01234567");
  const EvictionOutcome b = put(session, "", "two", "result-01234567");
  const EvictionOutcome c = put(session, "", "three", "result-89abcdef");
  EXPECT_NE(a.path, b.path);
  expect_file(a, "one");
  expect_file(b, "two");
  expect_file(c, "three");
}

TEST_P(StoreContract, StemsThatAreNoNamesAreRefused) {
  const Session session = make_session(store(), "s-aaaaa");
  const uint64_t files = store().usage().files;
  for (const std::string& stem :
       {std::string("../../etc/passwd"), std::string("a/b"), std::string("/"),
        std::string("a\0b", 3), std::string("."), std::string("..")}) {
    const auto ended = commit_eviction(store(), eviction_plan(session, "id", "x", stem));
    EXPECT_EQ(ended.code(), Code::invalid_path) << stem;
    EXPECT_TRUE(ended.changes.empty());
  }
  auto plan = eviction_plan(session, "id", "x");
  plan.stem = "";
  EXPECT_EQ(commit_eviction(store(), plan).code(), Code::invalid_path);
  plan.stem = std::string(256, 'n');
  EXPECT_EQ(commit_eviction(store(), plan).code(), Code::name_too_long);
  EXPECT_EQ(store().usage().files, files);
  EXPECT_EQ(store().usage().content_bytes, 0u);
  EXPECT_EQ(*store().entry_count(session.folder), 0u);
}

TEST_P(StoreContract, ADecisionIsMadeOnce) {
  const Session session = make_session(store(), "s-aaaaa");
  const auto plan = eviction_plan(session, "call_1", "the body");
  const auto first = commit_eviction(store(), plan);
  ASSERT_TRUE(first.ok());
  const Usage before = store().usage();
  clock_.advance_ns(1);
  auto again = plan;
  again.stem = "other";
  again.tool = "other";
  again.replacement_parts = {"another text"};
  again.tokens = 1;
  again.lines = 99;
  const auto second = commit_eviction(store(), again);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->known);
  EXPECT_EQ(second->ino, first->ino);
  EXPECT_EQ(second->path, first->path);
  EXPECT_EQ(second->replacement, first->replacement) << "as it was stored";
  EXPECT_EQ(second->size, first->size);
  EXPECT_EQ(second->lines, first->lines);
  EXPECT_EQ(second->tokens, first->tokens);
  EXPECT_EQ(second->same_as, "");
  EXPECT_TRUE(second.changes.empty()) << "nothing changed";
  EXPECT_EQ(*store().entry_count(session.folder), 1u);
  const Usage after = store().usage();
  EXPECT_EQ(after.evictions, before.evictions);
  EXPECT_EQ(after.content_bytes, before.content_bytes);
}

TEST_P(StoreContract, TheSameIdWithOtherContentIsAnotherFile) {
  const Session session = make_session(store(), "s-aaaaa");
  EXPECT_EQ(put(session, "call_1", "one").path, "/large_tool_results/s-aaaaa/call_1");
  EXPECT_EQ(put(session, "call_1", "two").path, "/large_tool_results/s-aaaaa/call_1.2");
  EXPECT_EQ(put(session, "call_1", "three").path, "/large_tool_results/s-aaaaa/call_1.3");
  EXPECT_EQ(put(session, "call_1", "two").path, "/large_tool_results/s-aaaaa/call_1.2");
  // An id that was really called like that.
  EXPECT_EQ(put(session, "call_1.2", "four").path, "/large_tool_results/s-aaaaa/call_1.2.2");
}

TEST_P(StoreContract, DecisionsAreFoundByContent) {
  const Session session = make_session(store(), "s-aaaaa");
  const Session stranger = make_session(store(), "t-aaaaa");
  const auto plan = eviction_plan(session, std::string("id\0x", 4), "the body", "id_x");
  const Hash128 hash = plan.content.hash;
  const auto find = [&](SessionId tree, ArtifactKind kind, std::string_view id, Hash128 h,
                        uint64_t size) {
    return store().find_eviction(tree, kind, id, h, size)->has_value();
  };
  const std::string id("id\0x", 4);
  EXPECT_FALSE(find(session.tree, ArtifactKind::tool_result, id, hash, 8));
  const auto first = commit_eviction(store(), plan);
  ASSERT_TRUE(first.ok());
  const auto found = *store().find_eviction(session.tree, ArtifactKind::tool_result, id, hash, 8);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->known);
  EXPECT_EQ(found->ino, first->ino);
  EXPECT_EQ(found->path, first->path);
  EXPECT_EQ(found->replacement, first->replacement);
  EXPECT_EQ(found->size, first->size);
  EXPECT_EQ(found->tokens, first->tokens);
  EXPECT_EQ(found->lines, first->lines);
  EXPECT_FALSE(find(stranger.tree, ArtifactKind::tool_result, id, hash, 8));
  EXPECT_FALSE(find(session.tree, ArtifactKind::human, id, hash, 8));
  EXPECT_FALSE(find(session.tree, ArtifactKind::tool_result, "id", hash, 8));
  EXPECT_FALSE(find(session.tree, ArtifactKind::tool_result, "", hash, 8));
  EXPECT_FALSE(find(session.tree, ArtifactKind::tool_result, id, xxh3_128("other"), 8));
  EXPECT_FALSE(find(session.tree, ArtifactKind::tool_result, id, hash, 9));
}

TEST_P(StoreContract, DecisionsAreSharedWithinATreeOnly) {
  const Session root = make_session(store(), "root-aaaaa");
  const Session child = make_session(store(), "child-aaaaa", "", root.serial);
  const Session other = make_session(store(), "other-aaaaa");
  const EvictionOutcome first = put(root, "call_1", "body of call_1");
  const EvictionOutcome shared = put(child, "call_1", "body of call_1");
  EXPECT_TRUE(shared.known);
  EXPECT_EQ(shared.path, first.path);
  // Two sessions that both have a call_1 keep their own.
  const EvictionOutcome own = put(other, "call_1", "body of call_1");
  EXPECT_FALSE(own.known);
  EXPECT_EQ(own.path, "/large_tool_results/other-aaaaa/call_1");
  EXPECT_EQ(own.same_as, "") << "another tree is not talked about";
  EXPECT_EQ(put(other, "call_1", "other body").path, "/large_tool_results/other-aaaaa/call_1.2");
  expect_file(first, "body of call_1");
}

TEST_P(StoreContract, ReplacementsAreRecognisedByHash) {
  const Session session = make_session(store(), "s-aaaaa");
  const Session stranger = make_session(store(), "t-aaaaa");
  const EvictionOutcome file = put(session, "call_1", "body");
  EXPECT_TRUE(*store().is_replacement(session.tree, xxh3_128(file.replacement)));
  EXPECT_FALSE(*store().is_replacement(stranger.tree, xxh3_128(file.replacement)));
  EXPECT_FALSE(*store().is_replacement(session.tree, xxh3_128(file.replacement + " ")));
  EXPECT_FALSE(*store().is_replacement(session.tree, xxh3_128("body")));
  EXPECT_FALSE(*store().is_replacement(session.tree, Hash128{}));
}

TEST_P(StoreContract, RemovedFilesAreFilledAgainAtTheSamePath) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome first = put(session, "call_1", "the body");
  ASSERT_TRUE(remove(store(), rm(session.folder, "call_1")).ok());
  // The decision stays; there is no file behind it.
  const auto decision = *store().find_eviction(session.tree, ArtifactKind::tool_result, "call_1",
                                               xxh3_128("the body"), 8);
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->ino, 0u);
  EXPECT_EQ(decision->path, first.path);
  EXPECT_EQ(decision->replacement, first.replacement);
  EXPECT_TRUE(*store().is_replacement(session.tree, xxh3_128(first.replacement)));

  for (const bool reap_before : {false, true}) {
    SCOPED_TRACE(reap_before);
    if (reap_before) {
      ASSERT_TRUE(remove(store(), rm(session.folder, "call_1")).ok());
      ASSERT_TRUE(kit::reap(store(), {first.ino}).ok());
    }
    auto plan = eviction_plan(session, "call_1", "the body");
    plan.replacement_parts = {"another text"};
    const auto again = commit_eviction(store(), plan);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->known);
    EXPECT_EQ(again->path, first.path);
    EXPECT_EQ(again->replacement, first.replacement);
    EXPECT_NE(again->ino, first.ino) << "ids are never reused";
    expect_file(*again, "the body");
    EXPECT_EQ(again.changes.dentries.size(), 1u) << "the name is back";
  }
  EXPECT_EQ(store().usage().evictions, 1u);
}

TEST_P(StoreContract, NamesOfRemovedFilesStayTaken) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome first = put(session, "call_1", "one");
  ASSERT_TRUE(remove(store(), rm(session.folder, "call_1")).ok());
  ASSERT_TRUE(kit::reap(store(), {first.ino}).ok());
  EXPECT_EQ(put(session, "call_1", "two").path, "/large_tool_results/s-aaaaa/call_1.2");
  EXPECT_EQ(put(session, "x", "three", "call_1").path, "/large_tool_results/s-aaaaa/call_1.3");
  EXPECT_EQ(put(session, "call_1", "one").path, first.path);
}

TEST_P(StoreContract, HumanMessagesLieBesideTheHistory) {
  const Session session = make_session(store(), "s-aaaaa");
  auto plan = eviction_plan(session, "", "a very long question", "message-01234567");
  plan.kind = ArtifactKind::human;
  plan.extension = ".md";
  plan.tool = "";
  const auto first = commit_eviction(store(), plan);
  ASSERT_TRUE(first.ok()) << first.result.error().text;
  EXPECT_EQ(first->path, "/conversation_history/s-aaaaa/message-01234567.md");
  EXPECT_EQ(first->replacement, "stored at message-01234567.md, 20 bytes");
  EXPECT_EQ(store().getattr(first->ino)->flags, kNodeProtected | kNodeImmutable);
  EXPECT_EQ(kit::xattr(store(), first->ino, "user.ebla.kind"), "human");
  const Attr folder = *store().getattr(resolve_ino("/conversation_history/s-aaaaa"));
  EXPECT_EQ(folder.mode, 0700u);
  EXPECT_EQ(folder.flags, kNodeFixed);
  EXPECT_EQ(folder.uid, 1000u);

  auto other = eviction_plan(session, "", "another question", "message-01234567");
  other.kind = ArtifactKind::human;
  other.extension = ".md";
  EXPECT_EQ(commit_eviction(store(), other)->path,
            "/conversation_history/s-aaaaa/message-01234567.2.md");
  // The same text as a tool result is a decision of its own, over the same bytes.
  const EvictionOutcome result = put(session, "", "a very long question", "result-01234567");
  EXPECT_FALSE(result.known);
  EXPECT_EQ(result.same_as, first->path);
  EXPECT_EQ(store().usage().content_bytes, 20u + 16u);
  EXPECT_EQ(store().usage().directories, 5u);
}

TEST_P(StoreContract, AnUnknownSessionStoresNothing) {
  Session nobody;
  nobody.serial = 999'999;
  const auto ended = commit_eviction(store(), eviction_plan(nobody, "call_1", "x"));
  EXPECT_EQ(ended.code(), Code::unknown_session);
  EXPECT_EQ(store().usage().content_bytes, 0u);
}

TEST_P(StoreContract, HostPrefixesStayAliases) {
  const Session session = make_session(store(), "s-aaaaa");
  EXPECT_THAT(*store().path_aliases(), IsEmpty());
  auto plan = eviction_plan(session, "call_1", "1");
  ASSERT_TRUE(commit_eviction(store(), plan).ok());
  EXPECT_THAT(*store().path_aliases(), IsEmpty());
  int n = 2;
  const auto use = [&](const char* prefix, const char* subtree) {
    auto next = eviction_plan(session, "call", std::to_string(n++));
    next.path_prefix = prefix;
    next.path_subtree = subtree;
    ASSERT_TRUE(commit_eviction(store(), next).ok());
  };
  use("/home/u/.ebla", "/");
  use("/large_tool_results", "/large_tool_results");
  use("/home/u/.ebla", "/");
  const PathAlias home{.prefix = "/home/u/.ebla", .subtree = "/"};
  const PathAlias results_alias{.prefix = "/large_tool_results", .subtree = "/large_tool_results"};
  EXPECT_THAT(*store().path_aliases(), testing::UnorderedElementsAre(home, results_alias));
}

}  // namespace
}  // namespace ebla
