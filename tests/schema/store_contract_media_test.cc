// Arguments and old results beside the results; media as one file for all.
#include <fmt/format.h>

#include "schema/path.h"
#include "tests/kit/real_texts.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

EvictionPlan media_plan(const Session& session, std::string bytes, std::string_view call_id = "",
                        std::string extension = ".png") {
  auto plan = kit::eviction_plan(session, call_id, std::move(bytes), "ignored");
  plan.kind = ArtifactKind::media;
  plan.extension = std::move(extension);
  plan.replacement_parts = {fmt::format("[image of session {}: ", session.id), "]"};
  return plan;
}

TEST_P(StoreContract, ArgumentsAndOldResultsLieWithTheResults) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  for (const ArtifactKind kind : {ArtifactKind::argument, ArtifactKind::old_result}) {
    const std::string id(artifact_kind_name(kind));
    auto plan = kit::eviction_plan(session, id, "content of " + id);
    plan.kind = kind;
    const auto ended = kit::commit_eviction(store(), plan);
    ASSERT_TRUE(ended.ok()) << ended.result.error().text;
    EXPECT_EQ(ended->path, "/large_tool_results/s-aaaaa/" + id);
    EXPECT_EQ(store().getattr(ended->ino)->flags, kNodeProtected | kNodeImmutable | kNodeRemovable);
    EXPECT_EQ(kit::xattr(store(), ended->ino, "user.ebla.kind"), id);
    EXPECT_TRUE(
        *store().find_eviction(session.tree, kind, id, plan.content.hash, plan.content.size));
    EXPECT_FALSE(*store().find_eviction(session.tree, ArtifactKind::tool_result, id,
                                        plan.content.hash, plan.content.size));
    const auto gone =
        kit::remove(store(), {.parent = session.folder, .name = id, .uid = 0, .reason = "rm"});
    EXPECT_TRUE(gone.ok()) << gone.result.error().text;
    const auto again = kit::commit_eviction(store(), plan);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->known);
    EXPECT_EQ(again->path, ended->path);
  }
}

TEST_P(StoreContract, MediaAreOneFileForEqualBytes) {
  const std::string bytes = kit::random_bytes(70'000, 3);
  const Session one = kit::make_session(store(), "s-aaaaa");
  const Session two = kit::make_session(store(), "s-bbbbb");
  const auto first = kit::commit_eviction(store(), media_plan(one, bytes, "a"));
  ASSERT_TRUE(first.ok()) << first.result.error().text;
  const std::string name = xxh3_128(bytes).hex() + ".png";
  EXPECT_EQ(first->path, "/conversation_history/media/" + name);
  EXPECT_EQ(first->same_as, "");
  EXPECT_EQ(first->replacement, "[image of session s-aaaaa: " + name + "]");
  EXPECT_EQ(first.changes.tree, one.tree);
  expect_file(*first, bytes);

  const Usage before = store().usage();
  const auto second = kit::commit_eviction(store(), media_plan(two, bytes, "b", ".jpg"));
  ASSERT_TRUE(second.ok()) << second.result.error().text;
  EXPECT_FALSE(second->known);
  EXPECT_EQ(second->ino, first->ino);
  EXPECT_EQ(second->path, first->path);
  EXPECT_EQ(second->replacement, "[image of session s-bbbbb: " + name + "]");
  EXPECT_EQ(second->same_as, "");
  EXPECT_TRUE(second.changes.dentries.empty());
  EXPECT_EQ(store().usage().files, before.files);
  EXPECT_EQ(store().usage().content_bytes, before.content_bytes);
  EXPECT_EQ(store().usage().evictions, before.evictions + 1);

  const auto third = kit::commit_eviction(store(), media_plan(two, bytes, "c"));
  ASSERT_TRUE(third.ok());
  EXPECT_FALSE(third->known);
  EXPECT_EQ(third->same_as, first->path);
  EXPECT_TRUE(kit::commit_eviction(store(), media_plan(two, bytes, "c"))->known);
  EXPECT_EQ(kit::names(store(), resolve_ino("/conversation_history/media")),
            std::vector<std::string>{name});
}

TEST_P(StoreContract, TheFolderOfMediaIsFixedAndItsFilesAreProtected) {
  EXPECT_EQ(resolve_ino("/conversation_history/media"), 0u);
  const Session session = kit::make_session(store(), "s-aaaaa");
  const auto ended = kit::commit_eviction(store(), media_plan(session, "bytes", "secret", ".pdf"));
  ASSERT_TRUE(ended.ok());
  const Attr folder = *resolve(store(), "/conversation_history/media");
  EXPECT_EQ(folder.kind, NodeKind::directory);
  EXPECT_EQ(folder.mode, 0700u);
  EXPECT_EQ(folder.flags, uint32_t{kNodeFixed});
  EXPECT_EQ(folder.uid, kDaemonUid);
  const Attr file = *store().getattr(ended->ino);
  EXPECT_EQ(file.flags, kNodeProtected | kNodeImmutable);
  EXPECT_EQ(file.mode, 0400u);
  EXPECT_EQ(file.uid, kDaemonUid);
  EXPECT_EQ(file.gid, kDaemonGid);
  EXPECT_EQ(kit::remove(store(), {.parent = folder.ino,
                                  .name = xxh3_128("bytes").hex() + ".pdf",
                                  .uid = 0,
                                  .reason = "rm"})
                .code(),
            Code::operation_not_permitted);
  EXPECT_EQ(kit::xattr(store(), ended->ino, "user.ebla.kind"), "media");
  EXPECT_EQ(kit::xattr(store(), ended->ino, "user.ebla.session"), "(none)");
  EXPECT_EQ(kit::xattr(store(), ended->ino, "user.ebla.tool_call_id"), "(none)");
}

TEST_P(StoreContract, MediaShareTheBytesOfAResult) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const std::string bytes = kit::random_bytes(limits::kInlineContentBytes + 10, 4);
  auto result = kit::eviction_plan(session, "call", "");
  result.content = kit::stage_all(store(), bytes);
  const auto put_away = kit::commit_eviction(store(), result);
  ASSERT_TRUE(put_away.ok());
  for (const char* call : {"one", "two"}) {
    auto plan = media_plan(session, "", call);
    plan.content = kit::stage_all(store(), bytes);
    const auto ended = kit::commit_eviction(store(), plan);
    ASSERT_TRUE(ended.ok()) << ended.result.error().text;
    EXPECT_EQ(ended->same_as, put_away->path);
    expect_file(*ended, bytes);
  }
  EXPECT_EQ(store().usage().content_bytes, bytes.size());
  ASSERT_TRUE(
      kit::remove(store(), {.parent = session.folder, .name = "call", .uid = 0, .reason = "rm"})
          .ok());
  ASSERT_TRUE(kit::reap(store(), {put_away->ino}).ok());
  EXPECT_EQ(store().usage().content_bytes, bytes.size());
}

// Equal hashes do not prove equal bytes.
TEST_P(StoreContract, MediaOfOneHashAndOtherBytesGetAnotherName) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  for (const char* bytes : {"first", "other", "first", "other"}) {
    auto plan = media_plan(session, bytes, bytes);
    plan.content.hash = {.high = 1, .low = 2};
    const auto ended = kit::commit_eviction(store(), plan);
    ASSERT_TRUE(ended.ok());
    expect_file(*ended, bytes);
  }
  EXPECT_EQ(kit::names(store(), resolve_ino("/conversation_history/media")).size(), 2u);
}

TEST_P(StoreContract, NoSessionIsCalledMedia) {
  EXPECT_EQ(kit::open_session(store(), kit::session_plan("media")).code(), Code::conflict);
  auto plan = kit::session_plan("media");
  plan.id_candidates.push_back("s-aaaaa");
  const auto ended = kit::open_session(store(), plan);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->session.id, "s-aaaaa");
}

TEST_P(StoreContract, AnExtensionOfMediaIsCheckedAsANameIs) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  EXPECT_EQ(kit::commit_eviction(store(), media_plan(session, "x", "", "/../x")).code(),
            Code::invalid_path);
  EXPECT_EQ(
      kit::commit_eviction(store(), media_plan(session, "x", "", std::string(300, 'e'))).code(),
      Code::name_too_long);
  EXPECT_EQ(resolve_ino("/conversation_history/media"), 0u);
}

}  // namespace
}  // namespace ebla
