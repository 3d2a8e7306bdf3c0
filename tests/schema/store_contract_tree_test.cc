// The tree: nodes, names, listings, removal.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>

#include "tests/kit/real_texts.h"
#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using kit::eviction_plan;
using kit::make_session;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr Ino kNoSuchIno = (uint64_t{1} << 61) + 5;

template <class T>
Code code(const Result<T>& result) {
  return result ? Code::internal_error : result.error().code;
}

TEST_P(StoreContract, ANewStoreHoldsThreeFolders) {
  const auto root = store().getattr(store().root());
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->kind, NodeKind::directory);
  EXPECT_EQ(root->nlink, 4u);
  EXPECT_THAT(kit::names(store(), store().root()),
              UnorderedElementsAre("large_tool_results", "conversation_history"));
  for (const Ino ino : {store().root(), results(), histories()}) {
    const auto attr = store().getattr(ino);
    ASSERT_TRUE(attr.has_value());
    EXPECT_EQ(attr->kind, NodeKind::directory);
    EXPECT_EQ(attr->mode, 0700u);
    EXPECT_EQ(attr->uid, kDaemonUid);
    EXPECT_EQ(attr->gid, kDaemonGid);
    EXPECT_EQ(attr->size, 0u);
    EXPECT_EQ(attr->mtime_ns, clock_.wall_ns());
    EXPECT_EQ(attr->flags & kNodeProtected, 0u);
    EXPECT_EQ(*store().entry_count(ino), ino == store().root() ? 2u : 0u);
  }
  EXPECT_NE(store().getattr(results())->flags & kNodeFixed, 0u);
  EXPECT_NE(store().getattr(histories())->flags & kNodeFixed, 0u);
  EXPECT_TRUE(kit::list(store(), results()).empty());
  const Usage usage = store().usage();
  EXPECT_EQ(usage.directories, 3u);
  EXPECT_EQ(usage.files, 0u);
  EXPECT_EQ(usage.logical_bytes, 0u);
  EXPECT_EQ(usage.content_bytes, 0u);
  EXPECT_EQ(usage.sessions, 0u);
  EXPECT_EQ(usage.evictions, 0u);
  EXPECT_EQ(store().now_ns(), clock_.wall_ns());
  EXPECT_FALSE(store().health().engine.empty());
}

TEST_P(StoreContract, IdsThatNameNoNodeAreNotFound) {
  std::array<char, 8> out{};
  for (const Ino ino : {Ino{0}, kNoSuchIno, (Ino{1} << 62) - 1}) {
    EXPECT_EQ(code(store().getattr(ino)), Code::file_not_found);
    EXPECT_EQ(code(store().lookup(ino, "x")), Code::file_not_found);
    EXPECT_EQ(code(store().readdir(ino, 0, 10)), Code::file_not_found);
    EXPECT_EQ(code(store().entry_count(ino)), Code::file_not_found);
    EXPECT_EQ(code(store().readlink(ino)), Code::file_not_found);
    EXPECT_EQ(code(store().read(ino, 0, out)), Code::file_not_found);
    EXPECT_EQ(code(store().xattrs(ino)), Code::file_not_found);
    EXPECT_EQ(code(store().path_of(ino)), Code::file_not_found);
    const auto stone = store().tombstone(ino, "x");
    EXPECT_TRUE(stone && !*stone);
    EXPECT_EQ(kit::remove(store(), {.parent = ino, .name = "x", .uid = 0, .reason = "rm"}).code(),
              Code::file_not_found);
  }
}

TEST_P(StoreContract, LookupNamesItsFailures) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome file = put(session, "call_1", "text");
  EXPECT_EQ(code(store().lookup(session.folder, "none")), Code::file_not_found);
  EXPECT_EQ(code(store().lookup(file.ino, "x")), Code::not_directory);
  EXPECT_EQ(code(store().lookup(session.folder, std::string(255, 'n'))), Code::file_not_found);
  EXPECT_EQ(code(store().lookup(session.folder, std::string(256, 'n'))), Code::name_too_long);
  for (const char* name : {".", "..", "", "call_1/", "/call_1", "CALL_1", "call_1 "}) {
    EXPECT_EQ(code(store().lookup(session.folder, name)), Code::file_not_found) << name;
  }
  EXPECT_EQ(code(store().lookup(session.folder, std::string_view("call_1\0", 7))),
            Code::file_not_found);
}

TEST_P(StoreContract, NamesAreBytes) {
  const Session session = make_session(store(), "s-aaaaa");
  const std::vector<std::string> stems = {
      "x\ny",     "日本語",    "📦",       "\xFF\xFE",
      "a'b\"c",   "a\\b",      "-rf",      "...",
      "x\x1b[8m", "A",         "a",        " ",
      "%s",       "e\xCC\x81", "\xC3\xA9", std::string(255, 'n')};
  for (const std::string& stem : stems) put(session, stem, "body of " + stem, stem);
  EXPECT_EQ(kit::names(store(), session.folder), stems);
  for (const std::string& stem : stems) {
    const auto attr = store().lookup(session.folder, stem);
    ASSERT_TRUE(attr.has_value()) << stem;
    EXPECT_EQ(kit::read_file(store(), attr->ino), "body of " + stem);
  }
}

TEST_P(StoreContract, ListingsArePagedByCookie) {
  const Session session = make_session(store(), "s-aaaaa");
  for (int i = 0; i < 10; ++i) put(session, "call_" + std::to_string(i), "x");
  EXPECT_TRUE(store().readdir(session.folder, 0, 0)->empty());
  const auto all = *store().readdir(session.folder, 0, 100);
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(*store().entry_count(session.folder), 10u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(*store().getattr(all[i].attr.ino), all[i].attr);
    EXPECT_EQ(*store().lookup(session.folder, all[i].name), all[i].attr);
    EXPECT_GT(all[i].cookie, i == 0 ? 0 : all[i - 1].cookie);
    const auto next = *store().readdir(session.folder, all[i].cookie, 1);
    ASSERT_EQ(next.size(), i + 1 < all.size() ? 1u : 0u);
    if (!next.empty()) {
      EXPECT_EQ(next[0], all[i + 1]);
    }
  }
  for (const size_t page : {size_t{1}, size_t{3}, size_t{10}}) {
    EXPECT_EQ(kit::list(store(), session.folder, page), all);
  }
  EXPECT_TRUE(store().readdir(session.folder, all.back().cookie + 1000, 10)->empty());
  EXPECT_TRUE(store().readdir(session.folder, std::numeric_limits<int64_t>::max(), 10)->empty());
  const Ino file = all[0].attr.ino;
  EXPECT_EQ(code(store().readdir(file, 0, 10)), Code::not_directory);
  EXPECT_EQ(code(store().entry_count(file)), Code::not_directory);
}

TEST_P(StoreContract, EntriesThatLiveThroughAScanComeOnceWhileOthersGo) {
  const Session session = make_session(store(), "s-aaaaa");
  constexpr size_t kFiles = 3000;
  constexpr ChangeOptions kOrdered = {.durability = Durability::ordered};
  // The store outlives this test: its completions own what they count in.
  const auto failed = std::make_shared<std::atomic<size_t>>(0);
  const auto count_failure = [failed](const auto& result, const ChangeSet&) {
    *failed += result ? 0 : 1;
  };
  for (size_t i = 0; i < kFiles; ++i) {
    store().commit_eviction(eviction_plan(session, "call_" + std::to_string(i), "the same bytes"),
                            kOrdered, count_failure);
  }
  ASSERT_TRUE(kit::sync(store()).ok());
  // As `rm -r` does it: read a page, remove what it named; every third one is kept.
  std::vector<std::string> kept;
  size_t seen = 0;
  uint64_t cookie = 0;
  for (;;) {
    const auto page = *store().readdir(session.folder, cookie, 100);
    if (page.empty()) break;
    std::vector<Ino> gone;
    for (const DirEntry& entry : page) {
      if (seen++ % 3 == 0) {
        kept.push_back(entry.name);
        continue;
      }
      store().remove({.parent = session.folder, .name = entry.name, .uid = 0, .reason = "rm"},
                     kOrdered, count_failure);
      gone.push_back(entry.attr.ino);
    }
    store().reap(std::move(gone), kOrdered, count_failure);
    ASSERT_TRUE(kit::sync(store()).ok());
    cookie = page.back().cookie;
  }
  EXPECT_EQ(seen, kFiles);
  EXPECT_EQ(*failed, 0u);
  EXPECT_EQ(kit::names(store(), session.folder), kept);
  EXPECT_EQ(*store().entry_count(session.folder), kept.size());
  EXPECT_EQ(store().usage().files, kept.size() + 1) << "and the history";
  // What is made during a scan lies after it.
  put(session, "late", "x");
  EXPECT_EQ(store().readdir(session.folder, cookie, 10)->at(0).name, "late");
}

TEST_P(StoreContract, ReadsStopAtTheEnd) {
  const Session session = make_session(store(), "s-aaaaa");
  const std::string text = kit::random_bytes(3 * limits::kChunkBytes + 17, 3);
  const EvictionOutcome file = put(session, "call_1", text);
  for (const size_t offset :
       {size_t{0}, size_t{1}, limits::kChunkBytes - 1, limits::kChunkBytes, limits::kChunkBytes + 1,
        3 * limits::kChunkBytes, text.size() - 1, text.size()}) {
    for (const size_t size :
         {size_t{0}, size_t{1}, size_t{16}, limits::kChunkBytes, text.size(), text.size() + 100}) {
      std::string out(size, '?');
      const auto count = store().read(file.ino, offset, out);
      ASSERT_TRUE(count.has_value());
      ASSERT_EQ(*count, std::min(size, text.size() - offset)) << offset << " " << size;
      EXPECT_EQ(out.substr(0, *count), text.substr(offset, *count));
      EXPECT_EQ(out.find_first_not_of('?', *count), std::string::npos) << "nothing behind it";
    }
  }
  std::array<char, 4> out{};
  EXPECT_EQ(*store().read(file.ino, text.size() + 1, out), 0u);
  EXPECT_EQ(*store().read(file.ino, uint64_t{1} << 41, out), 0u);
  EXPECT_EQ(*store().read(file.ino, std::numeric_limits<int64_t>::max(), out), 0u);
  EXPECT_EQ(*store().read(session.history, 0, out), 0u);
  EXPECT_EQ(code(store().read(session.folder, 0, out)), Code::is_directory);
  EXPECT_EQ(code(store().read(store().root(), 0, out)), Code::is_directory);
}

TEST_P(StoreContract, PathsFollowTheNames) {
  const Session session = make_session(store(), "s-aaaaa");
  EXPECT_EQ(*store().path_of(store().root()), "/");
  EXPECT_EQ(*store().path_of(results()), "/large_tool_results");
  EXPECT_EQ(*store().path_of(session.folder), "/large_tool_results/s-aaaaa");
  EXPECT_EQ(*store().path_of(session.history), "/conversation_history/s-aaaaa.md");
  const EvictionOutcome file = put(session, "call_1", "x");
  EXPECT_EQ(file.path, "/large_tool_results/s-aaaaa/call_1");
}

TEST_P(StoreContract, RemovingLeavesATombstoneAndAReadableNode) {
  const Session session = make_session(store(), "s-aaaaa");
  const std::string text = kit::with_nul(200'000);
  const EvictionOutcome file = put(session, "call_1", text);
  EXPECT_FALSE(store().tombstone(session.folder, "call_1")->has_value());
  const Attr before = *store().getattr(file.ino);
  const Attr folder_before = *store().getattr(session.folder);
  clock_.advance_ns(5'000);
  const auto removed =
      kit::remove(store(), {.parent = session.folder, .name = "call_1", .uid = 77, .reason = "rm"});
  ASSERT_TRUE(removed.ok()) << removed.result.error().text;

  EXPECT_EQ(code(store().lookup(session.folder, "call_1")), Code::file_not_found);
  EXPECT_EQ(code(store().path_of(file.ino)), Code::file_not_found);
  EXPECT_EQ(*store().entry_count(session.folder), 0u);
  const Attr folder = *store().getattr(session.folder);
  EXPECT_EQ(folder.mtime_ns, clock_.wall_ns());
  EXPECT_EQ(folder.ctime_ns, clock_.wall_ns());
  EXPECT_GT(folder.change, folder_before.change);

  const auto stone = *store().tombstone(session.folder, "call_1");
  ASSERT_TRUE(stone.has_value());
  EXPECT_EQ(stone->path, "/large_tool_results/s-aaaaa/call_1");
  EXPECT_EQ(stone->removed_ns, clock_.wall_ns());
  EXPECT_EQ(stone->uid, 77u);
  EXPECT_EQ(stone->reason, "rm");
  EXPECT_EQ(stone->size, text.size());

  const Attr orphan = *store().getattr(file.ino);
  EXPECT_EQ(orphan.nlink, 0u);
  EXPECT_EQ(orphan.size, text.size());
  EXPECT_EQ(orphan.mtime_ns, before.mtime_ns);
  EXPECT_EQ(orphan.ctime_ns, clock_.wall_ns());
  EXPECT_GT(orphan.change, before.change);
  EXPECT_EQ(kit::read_file(store(), file.ino), text);
  EXPECT_EQ(kit::xattr(store(), file.ino, "user.ebla.tool_call_id"), "call_1");

  ASSERT_TRUE(kit::reap(store(), {file.ino}).ok());
  EXPECT_EQ(code(store().getattr(file.ino)), Code::file_not_found);
  std::array<char, 4> out{};
  EXPECT_EQ(code(store().read(file.ino, 0, out)), Code::file_not_found);
  EXPECT_EQ(store().usage().content_bytes, 0u);
  EXPECT_TRUE(store().tombstone(session.folder, "call_1")->has_value());
}

TEST_P(StoreContract, OnlyResultsAreRemoved) {
  const Session session = make_session(store(), "s-aaaaa");
  auto message = eviction_plan(session, "", "a long question", "message-0badcafe");
  message.kind = ArtifactKind::human;
  message.extension = ".md";
  const auto human = kit::commit_eviction(store(), std::move(message));
  ASSERT_TRUE(human.ok()) << human.result.error().text;
  const Ino messages = resolve_ino("/conversation_history/s-aaaaa");
  ASSERT_NE(messages, 0u);
  const EvictionOutcome file = put(session, "call_1", "x");

  const auto try_remove = [&](Ino parent, const char* name) {
    const auto ended =
        kit::remove(store(), {.parent = parent, .name = name, .uid = 0, .reason = "rm"});
    EXPECT_TRUE(ended.changes.empty()) << name;
    return ended.code();
  };
  EXPECT_EQ(try_remove(histories(), "s-aaaaa.md"), Code::operation_not_permitted);
  EXPECT_EQ(try_remove(messages, "message-0badcafe.md"), Code::operation_not_permitted);
  EXPECT_EQ(try_remove(results(), "s-aaaaa"), Code::is_directory);
  EXPECT_EQ(try_remove(store().root(), "large_tool_results"), Code::is_directory);
  EXPECT_EQ(try_remove(session.folder, "none"), Code::file_not_found);
  EXPECT_EQ(try_remove(session.folder, ".."), Code::file_not_found);
  EXPECT_EQ(try_remove(file.ino, "x"), Code::not_directory);
  EXPECT_EQ(try_remove(session.folder, std::string(256, 'n').c_str()), Code::name_too_long);
  expect_file(*human, "a long question");
  expect_file(file, "x");
  EXPECT_FALSE(store().tombstone(histories(), "s-aaaaa.md")->has_value());
  EXPECT_EQ(*store().entry_count(session.folder), 1u);
}

TEST_P(StoreContract, ReapingLeavesWhatHasAName) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome file = put(session, "call_1", "x");
  ASSERT_TRUE(kit::reap(store(), {file.ino, session.folder, session.history, results(),
                                  store().root(), kNoSuchIno, 0})
                  .ok());
  expect_file(file, "x");
  EXPECT_TRUE(store().getattr(session.folder).has_value());
  EXPECT_TRUE(store().getattr(store().root()).has_value());
  ASSERT_TRUE(kit::reap(store(), {}).ok());
  // Twice, and one id twice.
  ASSERT_TRUE(
      kit::remove(store(), {.parent = session.folder, .name = "call_1", .uid = 0, .reason = "rm"})
          .ok());
  ASSERT_TRUE(kit::reap(store(), {file.ino, file.ino}).ok());
  ASSERT_TRUE(kit::reap(store(), {file.ino}).ok());
  EXPECT_EQ(store().usage().files, 1u);
}

TEST_P(StoreContract, IdsAreNeverReused) {
  const Session session = make_session(store(), "s-aaaaa");
  std::vector<Ino> seen;
  for (int i = 0; i < 20; ++i) {
    const EvictionOutcome file = put(session, "call", "body " + std::to_string(i));
    EXPECT_EQ(std::ranges::count(seen, file.ino), 0);
    EXPECT_LT(file.ino, Ino{1} << 62);
    seen.push_back(file.ino);
    const auto removed = kit::remove(store(), {.parent = session.folder,
                                               .name = kit::names(store(), session.folder)[0],
                                               .uid = 0,
                                               .reason = "rm"});
    ASSERT_TRUE(removed.ok());
    ASSERT_TRUE(kit::reap(store(), {file.ino}).ok());
  }
}

TEST_P(StoreContract, ReadlinkWantsALink) {
  EXPECT_FALSE(store().readlink(store().root()).has_value());
}

}  // namespace
}  // namespace ebla
