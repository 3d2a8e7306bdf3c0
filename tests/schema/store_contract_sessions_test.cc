// Sessions: found by key and uid, trees, ids, settings, listing.
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using kit::make_session;
using kit::open_session;
using kit::session_plan;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> ids(const std::vector<Session>& sessions) {
  std::vector<std::string> out;
  for (const Session& session : sessions) out.push_back(session.id);
  return out;
}

TEST_P(StoreContract, OpeningCreatesFolderAndHistory) {
  SessionPlan plan = session_plan("build-aaaaa", "the build");
  plan.label = "../../large_tool_results/x";
  plan.project = "/home/u/project";
  plan.model = "claude";
  plan.window = 200'000;
  plan.settings = {{"keep", "0.2"}, {"trigger", "null"}};
  plan.capabilities = R"({"shell":true})";
  plan.mount_prefix = "/mnt/ebla";
  const auto ended = open_session(store(), plan);
  ASSERT_TRUE(ended.ok()) << ended.result.error().text;
  EXPECT_TRUE(ended->created);
  const Session& session = ended->session;
  EXPECT_NE(session.serial, 0u);
  EXPECT_EQ(session.id, "build-aaaaa");
  EXPECT_EQ(session.key, "the build");
  EXPECT_EQ(session.label, "../../large_tool_results/x");
  EXPECT_EQ(session.uid, 1000u);
  EXPECT_EQ(session.parent, 0u);
  EXPECT_EQ(session.tree, session.serial);
  EXPECT_EQ(session.project, "/home/u/project");
  EXPECT_EQ(session.model, "claude");
  EXPECT_EQ(session.window, 200'000u);
  EXPECT_EQ(session.settings, (std::map<std::string, std::string>{{"keep", "0.2"}}));
  EXPECT_EQ(session.capabilities, R"({"shell":true})");
  EXPECT_EQ(session.mount_prefix, "/mnt/ebla");
  EXPECT_EQ(session.created_ns, clock_.wall_ns());
  EXPECT_EQ(*store().session(session.serial), session);

  const auto folder = store().lookup(results(), "build-aaaaa");
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(folder->ino, session.folder);
  EXPECT_EQ(folder->kind, NodeKind::directory);
  EXPECT_EQ(folder->mode, 0700u);
  EXPECT_EQ(folder->uid, 1000u);
  EXPECT_EQ(folder->gid, 1001u);
  EXPECT_EQ(folder->flags, kNodeFixed);
  EXPECT_EQ(folder->nlink, 2u);
  EXPECT_EQ(store().getattr(results())->nlink, 3u);

  const auto history = store().lookup(histories(), "build-aaaaa.md");
  ASSERT_TRUE(history.has_value());
  EXPECT_EQ(history->ino, session.history);
  EXPECT_EQ(history->kind, NodeKind::file);
  EXPECT_EQ(history->mode, 0400u);
  EXPECT_EQ(history->uid, 1000u);
  EXPECT_EQ(history->size, 0u);
  EXPECT_EQ(history->nlink, 1u);
  EXPECT_EQ(history->flags, kNodeProtected) << "it grows: not immutable, never removable";
  EXPECT_EQ(kit::xattr(store(), session.history, "user.ebla.session"), "build-aaaaa");
  EXPECT_EQ(kit::xattr(store(), session.folder, "user.ebla.session"), "build-aaaaa");

  const Usage usage = store().usage();
  EXPECT_EQ(usage.sessions, 1u);
  EXPECT_EQ(usage.directories, 4u);
  EXPECT_EQ(usage.files, 1u);
}

TEST_P(StoreContract, TheDefaultSessionLivesAtTheTop) {
  const Session session = make_session(store(), "default", "default");
  EXPECT_EQ(session.folder, results());
  EXPECT_EQ(*store().path_of(session.history), "/conversation_history/default.md");
  EXPECT_THAT(kit::names(store(), results()), IsEmpty());
  EXPECT_EQ(put(session, "call_1", "x").path, "/large_tool_results/call_1");
}

TEST_P(StoreContract, AKeyResumesItsSession) {
  SessionPlan plan = session_plan("a-aaaaa", "key");
  plan.label = "first";
  plan.model = "m1";
  plan.settings = {{"a", "1"}, {"b", "2"}};
  plan.capabilities = "{}";
  const Session first = open_session(store(), plan)->session;

  // Absent fields keep their value; nothing new is made.
  const auto again = open_session(store(), session_plan("other-bbbbb", "key"));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->session, first);
  EXPECT_TRUE(again.changes.empty());

  plan = session_plan("other-bbbbb", "key");
  plan.label = "";
  plan.window = 9;
  plan.project = "p";
  plan.mount_prefix = "/m";
  plan.settings = {{"a", "null"}, {"b", "3"}, {"c", "\"x\""}, {"d", "null"}};
  const Session changed = open_session(store(), plan)->session;
  Session expected = first;
  expected.label = "";
  expected.window = 9;
  expected.project = "p";
  expected.mount_prefix = "/m";
  expected.settings = {{"b", "3"}, {"c", "\"x\""}};
  EXPECT_EQ(changed, expected);
  EXPECT_EQ(*store().session(first.serial), expected);
  EXPECT_EQ(store().usage().sessions, 1u);
}

TEST_P(StoreContract, KeysBelongToTheirUid) {
  SessionPlan plan = session_plan("a-aaaaa", "key");
  plan.uid = 1000;
  const Session mine = open_session(store(), plan)->session;
  plan = session_plan("b-bbbbb", "key");
  plan.uid = 1001;
  const auto theirs = open_session(store(), plan);
  ASSERT_TRUE(theirs.ok());
  EXPECT_TRUE(theirs->created);
  EXPECT_NE(theirs->session.serial, mine.serial);
  EXPECT_EQ(store().find_session(1000, "key")->serial, mine.serial);
  EXPECT_EQ(store().find_session(1001, "key")->serial, theirs->session.serial);
  EXPECT_EQ(store().find_session(1002, "key").error().code, Code::unknown_session);
}

TEST_P(StoreContract, SessionsAreFoundByIdElseByKey) {
  const Session a = make_session(store(), "a-aaaaa", "b-bbbbb");
  const Session b = make_session(store(), "b-bbbbb", "kéy\n\x01");
  EXPECT_EQ(store().find_session(1000, "b-bbbbb")->serial, b.serial) << "the id wins";
  EXPECT_EQ(store().find_session(1000, "a-aaaaa")->serial, a.serial);
  EXPECT_EQ(store().find_session(1000, "kéy\n\x01")->serial, b.serial);
  const Session c = make_session(store(), "c-ccccc");
  EXPECT_EQ(c.key, "");
  for (const char* name : {"", "a-aaaa", "A-AAAAA", "a-aaaaa ", "key"}) {
    const auto none = store().find_session(1000, name);
    ASSERT_FALSE(none.has_value()) << name;
    EXPECT_EQ(none.error().code, Code::unknown_session);
  }
  EXPECT_EQ(store().session(0).error().code, Code::unknown_session);
  EXPECT_EQ(store().session(999'999).error().code, Code::unknown_session);
}

TEST_P(StoreContract, AnEmptyKeyIsAlwaysANewSession) {
  const Session a = make_session(store(), "a-aaaaa");
  const Session b = make_session(store(), "b-bbbbb");
  EXPECT_NE(a.serial, b.serial);
  EXPECT_EQ(store().usage().sessions, 2u);
}

TEST_P(StoreContract, TheFirstFreeCandidateBecomesTheId) {
  make_session(store(), "a-aaaaa");
  SessionPlan plan = session_plan("");
  plan.id_candidates = {"a-aaaaa", "a-bbbbb", "a-ccccc"};
  EXPECT_EQ(open_session(store(), plan)->session.id, "a-bbbbb");
  EXPECT_EQ(open_session(store(), plan)->session.id, "a-ccccc");
  const auto full = open_session(store(), plan);
  EXPECT_EQ(full.code(), Code::conflict);
  EXPECT_TRUE(full.changes.empty());
  plan.id_candidates.clear();
  EXPECT_EQ(open_session(store(), plan).code(), Code::conflict);
  EXPECT_EQ(store().usage().sessions, 3u);
}

// Sixteen clients that give the same label have a history each.
TEST_P(StoreContract, EqualLabelsMakeDifferentSessions) {
  SessionPlan plan = session_plan("");
  plan.label = "same";
  for (char c = 'a'; c < 'a' + 16; ++c) plan.id_candidates.push_back(std::string("same-") + c);
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(open_session(store(), plan).ok());
  EXPECT_EQ(*store().entry_count(histories()), 16u);
  EXPECT_EQ(*store().entry_count(results()), 16u);
}

TEST_P(StoreContract, AnIdNeverTakesTheNameOfAFile) {
  const Session top = make_session(store(), "default");
  put(top, "s-aaaaa", "x");
  put(top, "s-bbbbb", "y");
  ASSERT_TRUE(
      kit::remove(store(), {.parent = results(), .name = "s-bbbbb", .uid = 0, .reason = "rm"})
          .ok());
  SessionPlan plan = session_plan("");
  plan.id_candidates = {"s-aaaaa", "s-bbbbb", "s-ccccc"};
  EXPECT_EQ(open_session(store(), plan)->session.id, "s-ccccc")
      << "names of removed files stay taken";
  // And the other way: an id of a call that equals a session's folder.
  EXPECT_EQ(put(top, "s-ccccc", "z").path, "/large_tool_results/s-ccccc.2");
}

TEST_P(StoreContract, SubAgentsBelongToTheTreeOfTheirRoot) {
  const Session root = make_session(store(), "root-aaaaa", "root");
  const Session child = make_session(store(), "child-aaaaa", "child", root.serial);
  const Session grandchild = make_session(store(), "grand-aaaaa", "grand", child.serial);
  EXPECT_EQ(child.parent, root.serial);
  EXPECT_EQ(child.tree, root.serial);
  EXPECT_EQ(grandchild.parent, child.serial);
  EXPECT_EQ(grandchild.tree, root.serial);
  EXPECT_EQ(*store().path_of(grandchild.folder), "/large_tool_results/grand-aaaaa");

  EXPECT_EQ(make_session(store(), "x", "child", root.serial), child);
  EXPECT_EQ(make_session(store(), "x", "child"), child) << "no parent given: it keeps its own";
  const Session other = make_session(store(), "other-aaaaa", "other");
  EXPECT_EQ(open_session(store(), session_plan("x", "child", other.serial)).code(), Code::conflict);
  EXPECT_EQ(open_session(store(), session_plan("x", "root", other.serial)).code(), Code::conflict);
  EXPECT_EQ(open_session(store(), session_plan("x", "root", root.serial)).code(), Code::conflict);
  EXPECT_EQ(open_session(store(), session_plan("x", "new", 999'999)).code(), Code::unknown_session);
  EXPECT_EQ(store().usage().sessions, 4u);
}

TEST_P(StoreContract, TreesHaveALimitedDepth) {
  Session at = make_session(store(), "level-0");
  for (size_t depth = 1; depth <= limits::kSessionDepth; ++depth) {
    at = make_session(store(), "level-" + std::to_string(depth), "", at.serial);
    ASSERT_NE(at.serial, 0u);
  }
  const auto deeper = open_session(store(), session_plan("too-deep", "", at.serial));
  EXPECT_EQ(deeper.code(), Code::out_of_range);
  EXPECT_EQ(store().find_session(1000, "too-deep").error().code, Code::unknown_session);
  EXPECT_EQ(ino_of("/large_tool_results", "too-deep"), 0u);
}

TEST_P(StoreContract, ListsPageById) {
  EXPECT_THAT(*store().list_sessions("", "", 10), IsEmpty());
  for (const char* id : {"d", "b", "e", "a", "c"}) {
    SessionPlan plan = session_plan(id);
    plan.project = *id == 'b' || *id == 'e' ? "/p" : "/q";
    ASSERT_TRUE(open_session(store(), plan).ok());
  }
  make_session(store(), "f");
  EXPECT_THAT(ids(*store().list_sessions("", "", 10)), ElementsAre("a", "b", "c", "d", "e", "f"));
  EXPECT_THAT(ids(*store().list_sessions("", "", 2)), ElementsAre("a", "b"));
  EXPECT_THAT(ids(*store().list_sessions("", "b", 2)), ElementsAre("c", "d"));
  EXPECT_THAT(ids(*store().list_sessions("", "bb", 2)), ElementsAre("c", "d"));
  EXPECT_THAT(ids(*store().list_sessions("", "f", 2)), IsEmpty());
  EXPECT_THAT(ids(*store().list_sessions("", "", 0)), IsEmpty());
  EXPECT_THAT(ids(*store().list_sessions("/p", "", 10)), ElementsAre("b", "e"));
  EXPECT_THAT(ids(*store().list_sessions("/p", "b", 10)), ElementsAre("e"));
  EXPECT_THAT(*store().list_sessions("/none", "", 10), IsEmpty());
  const auto all = *store().list_sessions("", "", 10);
  for (const Session& session : all) {
    EXPECT_EQ(*store().session(session.serial), session);
  }
}

TEST_P(StoreContract, SessionsOutliveTheDaemon) {
  SessionPlan plan = session_plan("a-aaaaa", std::string("k\0y", 3));
  plan.settings = {{"x", "1"}};
  const Session a = open_session(store(), plan)->session;
  const Session b = make_session(store(), "b-bbbbb", "child", a.serial);
  const EvictionOutcome file = put(b, "call_1", "kept");
  reopen();
  if (IsSkipped()) return;
  EXPECT_EQ(*store().session(a.serial), a);
  EXPECT_EQ(*store().find_session(1000, "child"), b);
  expect_file(file, "kept");
  EXPECT_EQ(make_session(store(), "x", std::string("k\0y", 3)), a);
}

}  // namespace
}  // namespace ebla
