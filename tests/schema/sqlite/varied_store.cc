#include "tests/schema/sqlite/varied_store.h"

#include <gtest/gtest.h>

#include "schema/sqlite/open.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/store_calls.h"

namespace ebla::kit {
namespace {

void fill_memory(Store& store, const Session& session) {
  const Session other = make_session(store, "s-bbbbb");
  for (const Session& one : {session, other}) {
    auto medium = eviction_plan(one, "", random_bytes(3'000, 1), "image");
    medium.kind = ArtifactKind::media;
    ASSERT_TRUE(commit_eviction(store, medium).ok());
  }
  uint64_t number = 0;
  for (const size_t bytes : {3'000u, 1'500'000u, 40'000u, 40'000u, 40'000u, 40'000u, 200u}) {
    ASSERT_TRUE(
        append_history(store, history_plan(store, session, section_text(number, bytes), number))
            .ok());
    ++number;
  }
  ASSERT_TRUE(commit_pass(store, pass_plan(store, session, section_text(9, 5'000), 9)).ok());
  ASSERT_TRUE(close_session(store, other.serial).ok());
}

void make_client_files(Store& store) {
  const Ino folder = make_folder(store, store.root(), "mine");
  const Ino file = make_file(store, folder, "notes", std::string(200'000, 'n'));
  ASSERT_TRUE(flush(store, file).ok());
  ASSERT_TRUE(write(store, {.ino = file, .append = true}, "more").ok());
  ASSERT_TRUE(link(store, {.ino = file, .parent = folder, .name = "too"}).ok());
  ASSERT_TRUE(set_xattr(store, {.ino = file, .name = "user.a", .value = "b"}).ok());
  CreatePlan link;
  link.parent = folder;
  link.name = "link";
  link.kind = NodeKind::symlink;
  link.target = "notes";
  ASSERT_TRUE(create(store, link).ok());
}

}  // namespace

void make_varied_store(const std::string& path, const Clock& clock) {
  sqlite::OpenOptions options;
  options.path = path;
  options.clock = &clock;
  auto opened = sqlite::open_store(options);
  ASSERT_TRUE(opened.has_value()) << opened.error().text;
  Store& store = **opened;
  const Session session = make_session(store, "s-aaaaa");
  const std::string text = numbered_rows(300'000);
  for (const char* id : {"one", "two", "gone"}) {
    ASSERT_TRUE(commit_eviction(store, eviction_plan(session, id, text)).ok());
  }
  auto human = eviction_plan(session, "", chinese(5'000), "message-1");
  human.kind = ArtifactKind::human;
  human.extension = ".md";
  ASSERT_TRUE(commit_eviction(store, human).ok());
  ASSERT_TRUE(
      remove(store, {.parent = session.folder, .name = "gone", .uid = 0, .reason = "rm"}).ok());
  ASSERT_TRUE(stage(store, 0, 0, "half a text").ok());
  fill_memory(store, session);
  make_client_files(store);
}

void collect_contents(Store& store, Ino folder, std::multiset<std::string>& contents) {
  for (const DirEntry& entry : list(store, folder)) {
    if (entry.attr.kind == NodeKind::directory) collect_contents(store, entry.attr.ino, contents);
    if (entry.attr.kind == NodeKind::file) contents.insert(read_file(store, entry.attr.ino));
  }
}

}  // namespace ebla::kit
