// A file of a client's written as a whole.
#include "schema/base/limits.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using kit::make_file;
using kit::make_folder;
using testing::ElementsAre;
using testing::IsEmpty;

class StoreReplace : public StoreContract {
 protected:
  Ino root() { return store().root(); }
  Attr attr(Ino ino) { return store().getattr(ino).value_or(Attr{}); }
  std::string text(Ino ino) { return kit::read_file(store(), ino); }
  kit::Ended<Attr> replace(std::string_view name, std::string bytes, Ino expected = 0) {
    ReplacePlan plan = plan_for(name, expected);
    plan.content.bytes = std::move(bytes);
    return kit::replace(store(), std::move(plan));
  }
  ReplacePlan plan_for(std::string_view name, Ino expected = 0) {
    return {.parent = root(),
            .name = std::string(name),
            .expected = expected,
            .mode = 0640,
            .uid = 1000,
            .gid = 1001};
  }
};

TEST_P(StoreReplace, MakesAFileThatIsNew) {
  clock_.advance_ns(9);
  const Usage before = store().usage();
  const auto made = replace("new", "hello");
  ASSERT_TRUE(made.ok()) << made.result.error().text;
  EXPECT_EQ(made->mode, 0640u);
  EXPECT_EQ(made->uid, 1000u);
  EXPECT_EQ(made->gid, 1001u);
  EXPECT_EQ(made->nlink, 1u);
  EXPECT_EQ(made->size, 5u);
  EXPECT_EQ(made->mtime_ns, clock_.wall_ns());
  EXPECT_EQ(text(made->ino), "hello");
  EXPECT_EQ(store().lookup(root(), "new")->ino, made->ino);
  EXPECT_THAT(made.changes.dentries,
              ElementsAre(DentryChange{root(), "new", made->ino, DentryChange::Kind::added}));
  EXPECT_THAT(made.changes.orphaned, IsEmpty());
  EXPECT_EQ(store().usage().files, before.files + 1);
  EXPECT_EQ(store().usage().logical_bytes, before.logical_bytes + 5);
  reopen();
  EXPECT_EQ(text(ino_of("/", "new")), "hello");
}

TEST_P(StoreReplace, TakesTheNameAndLeavesTheOldNodeToItsReaders) {
  const Usage before = store().usage();
  const Ino old = make_file(store(), root(), "f", "old bytes");
  ASSERT_TRUE(kit::setattr(store(), {.ino = old, .mode = 0604, .uid = 7, .gid = 8}).ok());
  ASSERT_TRUE(
      kit::set_xattr(store(), {.ino = old, .name = "user.tag", .value = std::string("a\0b", 3)})
          .ok());
  const uint64_t cookie = kit::list(store(), root()).back().cookie;
  const int64_t atime = attr(old).atime_ns;
  clock_.advance_ns(1'000);
  const auto made = replace("f", "new", old);
  ASSERT_TRUE(made.ok()) << made.result.error().text;
  EXPECT_NE(made->ino, old);
  EXPECT_EQ(made->mode, 0604u);
  EXPECT_EQ(made->uid, 7u);
  EXPECT_EQ(made->gid, 8u);
  EXPECT_EQ(made->atime_ns, atime);
  EXPECT_EQ(made->mtime_ns, clock_.wall_ns());
  EXPECT_EQ(made->ctime_ns, clock_.wall_ns());
  EXPECT_EQ(kit::xattr(store(), made->ino, "user.tag"), std::string("a\0b", 3));
  EXPECT_EQ(text(made->ino), "new");
  EXPECT_EQ(kit::list(store(), root()).back().cookie, cookie);
  EXPECT_EQ(text(old), "old bytes");
  EXPECT_EQ(attr(old).nlink, 0u);
  EXPECT_TRUE(kit::write(store(), {.ino = old, .append = true}, "!").ok());
  EXPECT_EQ(text(old), "old bytes!");
  EXPECT_EQ(text(made->ino), "new");
  EXPECT_THAT(made.changes.orphaned, ElementsAre(old));
  EXPECT_THAT(made.changes.dentries,
              ElementsAre(DentryChange{root(), "f", made->ino, DentryChange::Kind::replaced}));
  ASSERT_TRUE(kit::reap(store(), {old}).ok());
  EXPECT_EQ(store().usage().files, before.files + 1);
  EXPECT_EQ(store().usage().logical_bytes, before.logical_bytes + 3);
  EXPECT_EQ(store().path_of(made->ino).value_or(""), "/f");
}

TEST_P(StoreReplace, OtherNamesKeepTheOldContent) {
  const Ino old = make_file(store(), root(), "one", "shared");
  ASSERT_TRUE(kit::link(store(), {.ino = old, .parent = root(), .name = "two"}).ok());
  for (const char* name : {"two", "one"}) {
    const auto made = replace(name, name, old);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(text(ino_of("/", name)), name);
    EXPECT_EQ(made->nlink, 1u);
    if (name == std::string_view("two")) {
      EXPECT_EQ(attr(old).nlink, 1u);
      EXPECT_EQ(text(ino_of("/", "one")), "shared");
      EXPECT_EQ(store().path_of(old).value_or(""), "/one");
    }
  }
}

TEST_P(StoreReplace, WhatIsNotExpectedIsAConflictAndStays) {
  const Ino file = make_file(store(), root(), "f", "1");
  const auto conflict = [&](ReplacePlan plan) {
    plan.content.bytes = "x";
    EXPECT_EQ(kit::replace(store(), std::move(plan)).code(), Code::conflict);
  };
  conflict(plan_for("f"));
  conflict(plan_for("f", file + 1));
  conflict(plan_for("gone", file));
  ReplacePlan plan = plan_for("f", file);
  plan.change = attr(file).change;
  // Not committed yet, and a change all the same.
  ASSERT_TRUE(kit::write(store(), {.ino = file, .append = true}, "2").ok());
  conflict(plan);
  plan.change = attr(file).change;
  ASSERT_TRUE(kit::setattr(store(), {.ino = file, .mode = 0600}).ok());
  conflict(plan);
  EXPECT_EQ(text(ino_of("/", "f")), "12");
  ASSERT_TRUE(kit::write(store(), {.ino = file, .append = true}, "3").ok());
  plan.change = attr(file).change;
  plan.content.bytes = "4";
  const auto made = kit::replace(store(), plan);
  ASSERT_TRUE(made.ok()) << made.result.error().text;
  EXPECT_EQ(text(ino_of("/", "f")), "4");
}

TEST_P(StoreReplace, LargeContentsAreStagedBefore) {
  const std::string bytes = kit::numbered_rows(2'500'000);
  ASSERT_GT(bytes.size(), 2 * limits::kStageSliceBytes);
  ReplacePlan plan = plan_for("big");
  plan.content = kit::stage_all(store(), bytes);
  const auto made = kit::replace(store(), plan);
  ASSERT_TRUE(made.ok()) << made.result.error().text;
  EXPECT_EQ(made->size, bytes.size());
  EXPECT_EQ(text(made->ino), bytes);
  // It is an ordinary file's from now on.
  ASSERT_TRUE(kit::write(store(), {.ino = made->ino, .offset = 10}, "written").ok());
  ASSERT_TRUE(kit::setattr(store(), {.ino = made->ino, .size = 1'000'000}).ok());
  std::string expected = bytes.substr(0, 1'000'000);
  expected.replace(10, 7, "written");
  EXPECT_EQ(text(made->ino), expected);
  EXPECT_EQ(kit::replace(store(), plan_for("f")).changes.orphaned, std::vector<Ino>());
  // One that fails leaves it staged; taken once, it is nobody else's.
  plan.name = "second";
  EXPECT_EQ(kit::replace(store(), plan).code(), Code::file_not_found);
  plan.content = kit::stage_all(store(), bytes);
  plan.expected = made->ino;
  EXPECT_EQ(kit::replace(store(), plan).code(), Code::conflict);
  plan.expected = 0;
  EXPECT_TRUE(kit::replace(store(), plan).ok());
  plan = plan_for("third");
  plan.content.bytes.assign(limits::kInlineContentBytes + 1, 'x');
  EXPECT_EQ(kit::replace(store(), plan).code(), Code::too_large);
  reopen();
  EXPECT_EQ(text(ino_of("/", "big")), expected);
  EXPECT_EQ(text(ino_of("/", "second")), bytes);
}

TEST_P(StoreReplace, OnlyFilesOfClientsAreReplaced) {
  const Session session = kit::make_session(store(), "s");
  const EvictionOutcome result = put(session, "call", kit::prose(3'000));
  const auto code = [&](Ino parent, std::string_view name, Ino expected) {
    ReplacePlan plan = plan_for(name, expected);
    plan.parent = parent;
    return kit::replace(store(), std::move(plan)).code();
  };
  EXPECT_EQ(code(session.folder, "call", result.ino), Code::operation_not_permitted);
  EXPECT_EQ(code(histories(), "s.md", session.history), Code::operation_not_permitted);
  EXPECT_EQ(code(root(), "large_tool_results", results()), Code::is_directory);
  EXPECT_EQ(code(root(), "folder", make_folder(store(), root(), "folder")), Code::is_directory);
  const auto made = kit::create(
      store(), {.parent = root(), .name = "link", .kind = NodeKind::symlink, .target = "f"});
  EXPECT_EQ(code(root(), "link", made->ino), Code::invalid_params);
  EXPECT_EQ(code(result.ino, "f", 0), Code::not_directory);
  EXPECT_EQ(code(root(), "a/b", 0), Code::invalid_path);
  EXPECT_EQ(code(root(), std::string(256, 'n'), 0), Code::name_too_long);
  ASSERT_TRUE(kit::remove(store(), {session.folder, "call", 1000, "rm"}).ok());
  EXPECT_EQ(code(session.folder, "call", 0), Code::operation_not_permitted);
}

TEST_P(StoreReplace, ModeAndGroupFollowTheRules) {
  const Ino file = make_file(store(), root(), "f", "x");
  for (const auto& [mode, after] : {std::pair{06755u, 0755u}, std::pair{06745u, 02745u}}) {
    const Ino there = ino_of("/", "f");
    ASSERT_TRUE(kit::setattr(store(), {.ino = there, .mode = mode}).ok());
    EXPECT_EQ(replace("f", "y", there)->mode, mode);
    ReplacePlan plan = plan_for("f", ino_of("/", "f"));
    plan.drop_privileges = true;
    EXPECT_EQ(kit::replace(store(), plan)->mode, after);
  }
  EXPECT_NE(ino_of("/", "f"), file);
  const Ino shared = make_folder(store(), root(), "shared");
  ASSERT_TRUE(kit::setattr(store(), {.ino = shared, .mode = 02775, .gid = 77}).ok());
  ReplacePlan plan = plan_for("g");
  plan.parent = shared;
  EXPECT_EQ(kit::replace(store(), plan)->gid, 77u);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreReplace, testing::ValuesIn(engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace ebla
