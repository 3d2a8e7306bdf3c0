// Names and attributes of clients' nodes.
#include "schema/base/limits.h"
#include "tests/kit/file_calls.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using kit::make_file;
using kit::make_folder;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

CreatePlan plan_of(Ino parent, std::string_view name, NodeKind kind = NodeKind::file) {
  CreatePlan plan;
  plan.parent = parent;
  plan.name = name;
  plan.kind = kind;
  plan.mode = 0640;
  plan.uid = 7;
  plan.gid = 8;
  return plan;
}

class StoreNames : public StoreContract {
 protected:
  Attr attr(Ino ino) { return store().getattr(ino).value_or(Attr{}); }
  Ino root() { return store().root(); }
  Code rename(Ino from, std::string_view name, Ino to, std::string_view new_name,
              RenamePlan::Mode mode = RenamePlan::Mode::replace) {
    return kit::rename(store(), {.parent = from,
                                 .name = std::string(name),
                                 .new_parent = to,
                                 .new_name = std::string(new_name),
                                 .mode = mode})
        .code();
  }
  Code unlink(Ino parent, std::string_view name) {
    return kit::remove(store(), {.parent = parent, .name = std::string(name), .reason = "rm"})
        .code();
  }
  Code rmdir(Ino parent, std::string_view name) {
    return kit::remove_folder(store(), {.parent = parent, .name = std::string(name)}).code();
  }
  static constexpr Code kDone = Code::internal_error;  // what code() says of a success
};

TEST_P(StoreNames, EveryKindIsMadeAsAsked) {
  clock_.advance_ns(5);
  const auto file = kit::create(store(), plan_of(root(), "f"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->kind, NodeKind::file);
  EXPECT_EQ(file->mode, 0640u);
  EXPECT_EQ(file->nlink, 1u);
  EXPECT_EQ(file->uid, 7u);
  EXPECT_EQ(file->gid, 8u);
  EXPECT_EQ(file->size, 0u);
  EXPECT_EQ(file->flags, 0u);
  EXPECT_EQ(file->mtime_ns, clock_.wall_ns());
  EXPECT_EQ(attr(root()).mtime_ns, clock_.wall_ns());
  EXPECT_THAT(file.changes.dentries,
              ElementsAre(DentryChange{root(), "f", file->ino, DentryChange::Kind::added}));
  EXPECT_THAT(file.changes.attributes, testing::Contains(root()));
  EXPECT_EQ(*store().lookup(root(), "f"), *file);

  const uint32_t links = attr(root()).nlink;
  const auto folder = kit::create(store(), plan_of(root(), "d", NodeKind::directory));
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(folder->nlink, 2u);
  EXPECT_EQ(attr(root()).nlink, links + 1);

  CreatePlan link = plan_of(root(), "l", NodeKind::symlink);
  link.target = std::string("../\xff/x");
  const auto symlink = kit::create(store(), link);
  ASSERT_TRUE(symlink.ok());
  EXPECT_EQ(symlink->size, link.target.size());
  EXPECT_EQ(*store().readlink(symlink->ino), link.target);

  CreatePlan device = plan_of(root(), "b", NodeKind::block_device);
  device.rdev = 0x12345;
  EXPECT_EQ(kit::create(store(), device)->rdev, 0x12345u);
  EXPECT_TRUE(kit::create(store(), plan_of(root(), "p", NodeKind::fifo)).ok());
  EXPECT_TRUE(kit::create(store(), plan_of(root(), "s", NodeKind::socket)).ok());
}

TEST_P(StoreNames, SetgidFoldersGiveTheirGroup) {
  const Ino folder = make_folder(store(), root(), "shared");
  ASSERT_TRUE(kit::setattr(store(), {.ino = folder, .mode = 02775}).ok());
  const auto file = kit::create(store(), plan_of(folder, "f"));
  EXPECT_EQ(file->gid, 1001u);
  EXPECT_EQ(file->mode, 0640u);
  const auto below = kit::create(store(), plan_of(folder, "d", NodeKind::directory));
  EXPECT_EQ(below->gid, 1001u);
  EXPECT_EQ(below->mode, 02640u);
}

TEST_P(StoreNames, CreateNamesItsFailures) {
  const Ino file = make_file(store(), root(), "f");
  const auto code = [&](CreatePlan plan) { return kit::create(store(), std::move(plan)).code(); };
  EXPECT_EQ(code(plan_of(root(), "f")), Code::already_exists);
  EXPECT_EQ(code(plan_of(file, "x")), Code::not_directory);
  EXPECT_EQ(code(plan_of(Ino{1} << 50, "x")), Code::file_not_found);
  EXPECT_EQ(code(plan_of(root(), std::string(256, 'n'))), Code::name_too_long);
  EXPECT_EQ(code(plan_of(root(), std::string(255, 'n'))), kDone);
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string("a/b"), std::string("a\0b", 3)}) {
    EXPECT_EQ(code(plan_of(root(), name)), Code::invalid_path) << name;
  }
  EXPECT_EQ(code(plan_of(root(), "l", NodeKind::symlink)), Code::invalid_params);
  CreatePlan link = plan_of(root(), "l", NodeKind::symlink);
  link.target = std::string(limits::kLinkTargetBytes + 1, 't');
  EXPECT_EQ(code(link), Code::name_too_long);
  link.target.pop_back();
  EXPECT_EQ(code(link), kDone);

  const Ino gone = make_folder(store(), root(), "gone");
  ASSERT_EQ(rmdir(root(), "gone"), kDone);
  EXPECT_EQ(code(plan_of(gone, "x")), Code::file_not_found);
}

TEST_P(StoreNames, FilesWithSeveralNamesLiveUntilTheLastOneGoes) {
  const Ino folder = make_folder(store(), root(), "d");
  const Ino file = make_file(store(), root(), "a", "bytes");
  clock_.advance_ns(3);
  const auto linked = kit::link(store(), {.ino = file, .parent = folder, .name = "b"});
  ASSERT_TRUE(linked.ok());
  EXPECT_EQ(linked->nlink, 2u);
  EXPECT_EQ(linked->ctime_ns, clock_.wall_ns());
  EXPECT_LT(linked->mtime_ns, clock_.wall_ns());
  EXPECT_EQ(store().lookup(folder, "b")->ino, file);
  ASSERT_TRUE(kit::link(store(), {.ino = file, .parent = root(), .name = "c"}).ok());

  const auto first = kit::remove(store(), {.parent = root(), .name = "a"});
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first.changes.orphaned.empty());
  EXPECT_EQ(attr(file).nlink, 2u);
  EXPECT_EQ(*store().path_of(file), "/c");
  EXPECT_EQ(unlink(root(), "c"), kDone);
  EXPECT_EQ(*store().path_of(file), "/d/b");
  const auto last = kit::remove(store(), {.parent = folder, .name = "b"});
  EXPECT_THAT(last.changes.orphaned, ElementsAre(file));
  EXPECT_EQ(attr(file).nlink, 0u);
  EXPECT_EQ(kit::read_file(store(), file), "bytes");
  EXPECT_EQ(kit::link(store(), {.ino = file, .parent = root(), .name = "e"}).code(),
            Code::file_not_found);
  EXPECT_FALSE(store().tombstone(folder, "b")->has_value());
  ASSERT_TRUE(kit::reap(store(), {file}).ok());
  EXPECT_EQ(store().getattr(file).error().code, Code::file_not_found);
}

TEST_P(StoreNames, LinkNamesItsFailures) {
  const Ino folder = make_folder(store(), root(), "d");
  const Ino file = make_file(store(), root(), "f");
  const auto code = [&](Ino ino, Ino parent, std::string name) {
    return kit::link(store(), {.ino = ino, .parent = parent, .name = std::move(name)}).code();
  };
  EXPECT_EQ(code(folder, root(), "x"), Code::operation_not_permitted);
  EXPECT_EQ(code(file, folder, ".."), Code::invalid_path);
  EXPECT_EQ(code(file, file, "x"), Code::not_directory);
  EXPECT_EQ(code(file, root(), "d"), Code::already_exists);
  EXPECT_EQ(code(Ino{1} << 50, root(), "x"), Code::file_not_found);
  EXPECT_EQ(code_info(Code::too_many_links).errno_value, EMLINK);
}

TEST_P(StoreNames, RemovingFoldersNamesItsFailures) {
  const Ino folder = make_folder(store(), root(), "d");
  make_file(store(), folder, "f");
  EXPECT_EQ(rmdir(root(), "d"), Code::not_empty);
  EXPECT_EQ(unlink(root(), "d"), Code::is_directory);
  EXPECT_EQ(rmdir(folder, "f"), Code::not_directory);
  EXPECT_EQ(rmdir(root(), "none"), Code::file_not_found);
  EXPECT_EQ(rmdir(root(), "large_tool_results"), Code::busy);
  EXPECT_EQ(unlink(folder, "f"), kDone);
  const uint32_t links = attr(root()).nlink;
  const Usage before = store().usage();
  const auto ended = kit::remove_folder(store(), {.parent = root(), .name = "d"});
  EXPECT_THAT(ended.changes.orphaned, ElementsAre(folder));
  EXPECT_EQ(attr(root()).nlink, links - 1);
  EXPECT_EQ(attr(folder).nlink, 0u);
  ASSERT_TRUE(kit::reap(store(), {folder}).ok());
  EXPECT_EQ(store().usage().directories, before.directories - 1);
  EXPECT_EQ(store().usage().files, before.files);
}

TEST_P(StoreNames, RenamedNodesKeepTheirPlaceAndTellWhatChanged) {
  const Ino one = make_folder(store(), root(), "one");
  const Ino two = make_folder(store(), root(), "two");
  const Ino file = make_file(store(), one, "a", "A");
  make_file(store(), one, "b", "B");
  const uint64_t cookie = kit::list(store(), one).front().cookie;
  clock_.advance_ns(9);
  ASSERT_EQ(rename(one, "a", one, "z"), kDone);
  EXPECT_THAT(kit::names(store(), one), ElementsAre("z", "b"));
  EXPECT_EQ(kit::list(store(), one).front().cookie, cookie);
  EXPECT_EQ(attr(file).ctime_ns, clock_.wall_ns());
  EXPECT_EQ(attr(one).mtime_ns, clock_.wall_ns());

  // A folder's ".." moves with it.
  const Ino inner = make_folder(store(), one, "inner");
  EXPECT_EQ(attr(one).nlink, 3u);
  const auto moved = kit::rename(
      store(), {.parent = one, .name = "inner", .new_parent = two, .new_name = "moved"});
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(attr(one).nlink, 2u);
  EXPECT_EQ(attr(two).nlink, 3u);
  EXPECT_EQ(*store().path_of(inner), "/two/moved");
  EXPECT_THAT(moved.changes.dentries,
              UnorderedElementsAre(DentryChange{one, "inner", inner, DentryChange::Kind::removed},
                                   DentryChange{two, "moved", inner, DentryChange::Kind::added}));
  EXPECT_THAT(moved.changes.attributes, testing::IsSupersetOf({one, two, inner}));
}

TEST_P(StoreNames, RenamingOverSomethingOrphansIt) {
  const Ino file = make_file(store(), root(), "new", "new text");
  const Ino old = make_file(store(), root(), "old", "old text");
  const auto over = kit::rename(
      store(), {.parent = root(), .name = "new", .new_parent = root(), .new_name = "old"});
  ASSERT_TRUE(over.ok());
  EXPECT_THAT(over.changes.orphaned, ElementsAre(old));
  EXPECT_THAT(over.changes.dentries,
              testing::Contains(DentryChange{root(), "old", file, DentryChange::Kind::replaced}));
  EXPECT_EQ(kit::read_file(store(), old), "old text");
  EXPECT_EQ(store().lookup(root(), "new").error().code, Code::file_not_found);
  EXPECT_EQ(store().lookup(root(), "old")->ino, file);

  const Ino full = make_folder(store(), root(), "full");
  make_file(store(), full, "f");
  const Ino empty = make_folder(store(), root(), "empty");
  EXPECT_EQ(rename(root(), "old", root(), "empty"), Code::is_directory);
  EXPECT_EQ(rename(root(), "empty", root(), "old"), Code::not_directory);
  EXPECT_EQ(rename(root(), "empty", root(), "full"), Code::not_empty);
  const uint32_t links = attr(root()).nlink;
  EXPECT_EQ(rename(root(), "full", root(), "empty"), kDone);
  EXPECT_EQ(attr(root()).nlink, links - 1);
  EXPECT_EQ(attr(empty).nlink, 0u);
}

TEST_P(StoreNames, RenameNamesItsFailures) {
  const Ino above = make_folder(store(), root(), "above");
  const Ino below = make_folder(store(), above, "below");
  const Ino file = make_file(store(), root(), "f");
  using Mode = RenamePlan::Mode;
  EXPECT_EQ(rename(root(), "above", below, "x"), Code::invalid_path);
  EXPECT_EQ(rename(root(), "above", above, "x"), Code::invalid_path);
  EXPECT_EQ(rename(above, "below", root(), "above"), Code::not_empty);
  EXPECT_EQ(rename(above, "below", root(), "above", Mode::exchange), Code::invalid_path);
  EXPECT_EQ(rename(root(), "none", root(), "x"), Code::file_not_found);
  EXPECT_EQ(rename(root(), "f", file, "x"), Code::not_directory);
  EXPECT_EQ(rename(root(), "f", root(), "above", Mode::keep), Code::already_exists);
  EXPECT_EQ(rename(root(), "f", root(), "x", Mode::exchange), Code::file_not_found);
  EXPECT_EQ(rename(root(), "f", root(), std::string(256, 'x')), Code::name_too_long);
  EXPECT_EQ(rename(root(), "conversation_history", root(), "x"), Code::busy);
  EXPECT_EQ(rename(root(), "above", root(), "conversation_history"), Code::busy);
  EXPECT_EQ(rename(root(), "f", root(), "g", Mode::keep), kDone);
}

TEST_P(StoreNames, TwoNamesOfOneFileAreNotChangedByRename) {
  const Ino file = make_file(store(), root(), "a");
  ASSERT_TRUE(kit::link(store(), {.ino = file, .parent = root(), .name = "b"}).ok());
  const auto ended =
      kit::rename(store(), {.parent = root(), .name = "a", .new_parent = root(), .new_name = "b"});
  EXPECT_TRUE(ended.ok());
  EXPECT_TRUE(ended.changes.empty());
  EXPECT_EQ(attr(file).nlink, 2u);
}

TEST_P(StoreNames, ExchangeSwapsFileAndFolder) {
  const Ino one = make_folder(store(), root(), "one");
  const Ino folder = make_folder(store(), one, "x");
  const Ino file = make_file(store(), root(), "y", "text");
  const uint32_t links = attr(root()).nlink;
  ASSERT_EQ(rename(one, "x", root(), "y", RenamePlan::Mode::exchange), kDone);
  EXPECT_EQ(store().lookup(one, "x")->ino, file);
  EXPECT_EQ(store().lookup(root(), "y")->ino, folder);
  EXPECT_EQ(*store().path_of(file), "/one/x");
  EXPECT_EQ(attr(root()).nlink, links + 1);
  EXPECT_EQ(attr(one).nlink, 2u);
}

TEST_P(StoreNames, AttributesChangeOneByOne) {
  const Ino file = make_file(store(), root(), "f");
  clock_.advance_ns(11);
  const auto moded = kit::setattr(store(), {.ino = file, .mode = 06755});
  ASSERT_TRUE(moded.ok());
  EXPECT_EQ(moded->mode, 06755u);
  EXPECT_EQ(moded->ctime_ns, clock_.wall_ns());
  EXPECT_LT(moded->mtime_ns, clock_.wall_ns());
  EXPECT_THAT(moded.changes.attributes, ElementsAre(file));
  // A new owner takes the privileges; an explicit mode stays.
  const auto owned = kit::setattr(store(), {.ino = file, .uid = 5});
  EXPECT_EQ(owned->uid, 5u);
  EXPECT_EQ(owned->gid, 1001u);
  EXPECT_EQ(owned->mode, 0755u);
  EXPECT_EQ(kit::setattr(store(), {.ino = file, .mode = 04711, .gid = 6})->mode, 04711u);
  // Without group execution setgid means mandatory locking, and stays.
  ASSERT_TRUE(kit::setattr(store(), {.ino = file, .mode = 06644}).ok());
  EXPECT_EQ(kit::setattr(store(), {.ino = file, .gid = 7})->mode, 02644u);
  const Ino folder = make_folder(store(), root(), "d");
  ASSERT_TRUE(kit::setattr(store(), {.ino = folder, .mode = 03777}).ok());
  EXPECT_EQ(kit::setattr(store(), {.ino = folder, .uid = 3})->mode, 03777u);

  clock_.advance_ns(11);
  const auto timed =
      kit::setattr(store(), {.ino = file, .atime = TimeValue{.ns = -5}, .mtime = TimeValue{}});
  EXPECT_EQ(timed->atime_ns, -5);
  EXPECT_EQ(timed->mtime_ns, clock_.wall_ns());
  EXPECT_EQ(kit::setattr(store(), {.ino = Ino{1} << 50, .mode = 0}).code(), Code::file_not_found);
  EXPECT_EQ(kit::setattr(store(), {.ino = folder, .size = 0}).code(), Code::is_directory);
}

TEST_P(StoreNames, ExtendedAttributesAreKeptByName) {
  const Ino file = make_file(store(), root(), "f");
  using Mode = XattrPlan::Mode;
  const auto set = [&](std::string name, std::string value, Mode mode = Mode::set) {
    return kit::set_xattr(store(), {file, std::move(name), std::move(value), mode}).code();
  };
  EXPECT_EQ(set("user.b", std::string("\0\xff", 2)), kDone);
  EXPECT_EQ(set("user.a", "", Mode::create), kDone);
  EXPECT_EQ(set("user.a", "x", Mode::create), Code::already_exists);
  EXPECT_EQ(set("user.c", "x", Mode::replace), Code::no_attribute);
  EXPECT_EQ(set("user.a", "2", Mode::replace), kDone);
  EXPECT_EQ(*store().xattrs(file),
            (std::vector<Xattr>{{"user.a", "2"}, {"user.b", std::string("\0\xff", 2)}}));
  EXPECT_EQ(set("user.big", std::string(limits::kXattrBytes, 'v')), kDone);
  EXPECT_EQ(set("user.big", std::string(limits::kXattrBytes + 1, 'v')), Code::too_large);
  EXPECT_EQ(set("user." + std::string(251, 'n'), ""), Code::name_too_long);
  EXPECT_EQ(set("user.ebla.session", "x"), Code::not_supported);
  EXPECT_EQ(set("security.selinux", "x"), Code::not_supported);
  EXPECT_EQ(set("user.", "x"), Code::not_supported);
  const auto remove = [&](std::string name) {
    return kit::remove_xattr(store(), file, std::move(name)).code();
  };
  EXPECT_EQ(remove("user.a"), kDone);
  EXPECT_EQ(remove("user.a"), Code::no_attribute);
  EXPECT_EQ(remove("user.ebla.kind"), Code::not_supported);
  EXPECT_EQ(kit::xattr(store(), file, "user.a"), "(none)");
  // Until their names together are too many.
  Code last = kDone;
  int count = 0;
  for (; last == kDone && count < 1000; ++count) {
    last = set("user." + std::to_string(count) + std::string(240, 'n'), "");
  }
  EXPECT_EQ(last, Code::no_space);
  EXPECT_GT(count, 200);
}

TEST_P(StoreNames, ProtectedNodesStayAsTheyAre) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const EvictionOutcome result = put(session, "call_1", "kept bytes");
  const Ino file = make_file(store(), root(), "f", "x");
  const Attr before = attr(result.ino);
  constexpr Code kRefused = Code::operation_not_permitted;
  for (const Ino ino : {result.ino, session.history}) {
    EXPECT_EQ(kit::setattr(store(), {.ino = ino, .mode = 0777}).code(), kRefused);
    EXPECT_EQ(kit::setattr(store(), {.ino = ino, .size = 0}).code(), kRefused);
    EXPECT_EQ(kit::setattr(store(), {.ino = ino, .mtime = TimeValue{}}).code(), kRefused);
    EXPECT_EQ(kit::set_xattr(store(), {.ino = ino, .name = "user.a", .value = ""}).code(),
              kRefused);
    EXPECT_EQ(kit::link(store(), {.ino = ino, .parent = root(), .name = "x"}).code(), kRefused);
    EXPECT_EQ(kit::write(store(), {.ino = ino}, "forged").code(), kRefused);
    EXPECT_EQ(kit::write(store(), {.ino = ino, .append = true}, "x").code(), kRefused);
    EXPECT_EQ(
        kit::allocate(store(), {.ino = ino, .length = 1, .mode = AllocatePlan::Mode::punch}).code(),
        kRefused);
    EXPECT_EQ(kit::copy_range(store(), {.from = file, .to = ino, .length = 1}).code(), kRefused);
  }
  EXPECT_EQ(rename(session.folder, "call_1", root(), "x"), kRefused);
  EXPECT_EQ(rename(root(), "f", session.folder, "call_1"), kRefused);
  EXPECT_EQ(rename(root(), "f", session.folder, "call_1", RenamePlan::Mode::exchange), kRefused);
  EXPECT_EQ(unlink(histories(), "s-aaaaa.md"), kRefused);
  EXPECT_EQ(attr(result.ino), before);
  expect_file(result, "kept bytes");

  // The daemon's folders: what is in them comes and goes, they stay.
  EXPECT_EQ(rename(results(), "s-aaaaa", root(), "x"), kRefused);
  EXPECT_EQ(rmdir(results(), "s-aaaaa"), kRefused);
  EXPECT_EQ(kit::setattr(store(), {.ino = session.folder, .mode = 0777}).code(), kRefused);
  const Ino mine = make_folder(store(), session.folder, "mine");
  make_file(store(), mine, "f");
  EXPECT_EQ(rename(session.folder, "mine", session.folder, "ours"), kDone);
  EXPECT_EQ(kit::xattr(store(), mine, "user.ebla.session"), "(none)");
  EXPECT_EQ(unlink(mine, "f"), kDone);
  EXPECT_EQ(rmdir(session.folder, "ours"), kDone);
}

TEST_P(StoreNames, NameOfARemovedResultStaysItsOwn) {
  const Session session = kit::make_session(store(), "s-aaaaa");
  const EvictionOutcome result = put(session, "call_1", "kept bytes");
  ASSERT_EQ(unlink(session.folder, "call_1"), kDone);
  EXPECT_EQ(kit::create(store(), plan_of(session.folder, "call_1")).code(),
            Code::operation_not_permitted);
  make_file(store(), session.folder, "f");
  EXPECT_EQ(rename(session.folder, "f", session.folder, "call_1"), Code::operation_not_permitted);
  EXPECT_EQ(put(session, "call_1", "kept bytes").path, result.path);
}

TEST_P(StoreNames, ScanSurvivesRemovalAndRenaming) {
  const Ino folder = make_folder(store(), root(), "d");
  for (int i = 0; i < 300; ++i) make_file(store(), folder, "f" + std::to_string(i));
  uint64_t cookie = 0;
  int seen = 0;
  for (auto page = store().readdir(folder, cookie, 7); !page->empty();
       page = store().readdir(folder, cookie, 7)) {
    for (const DirEntry& entry : *page) {
      cookie = entry.cookie;
      ++seen;
      if (seen % 2 == 0) {
        EXPECT_EQ(rename(folder, entry.name, folder, "g" + entry.name), kDone);
      } else {
        EXPECT_EQ(unlink(folder, entry.name), kDone);
      }
    }
  }
  EXPECT_EQ(seen, 300);
  EXPECT_EQ(*store().entry_count(folder), 150u);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreNames, testing::ValuesIn(engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace ebla
