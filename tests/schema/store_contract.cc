#include "tests/schema/store_contract.h"

#include "schema/path.h"
#include "schema/sqlite/open.h"
#include "tests/kit/model_store.h"

namespace ebla {

std::vector<Engine> engines() {
  std::vector<Engine> all;
  all.push_back(
      {.name = "model", .durable = false, .open = [](const std::string&, const Clock& clock) {
         return kit::make_model_store(clock, kDaemonUid, kDaemonGid);
       }});
  all.push_back({.name = "sqlite",
                 .durable = true,
                 .open = [](const std::string& folder, const Clock& clock) {
                   sqlite::OpenOptions options;
                   options.path = folder + "/store.db";
                   options.uid = kDaemonUid;
                   options.gid = kDaemonGid;
                   options.clock = &clock;
                   auto opened = sqlite::open_store(options);
                   if (!opened) ADD_FAILURE() << opened.error().text;
                   return opened ? std::move(*opened) : nullptr;
                 }});
  return all;
}

void StoreContract::SetUp() {
  store_ = GetParam().open(folder_.path(), clock_);
  ASSERT_NE(store_, nullptr);
}

void StoreContract::TearDown() {
  if (store_ == nullptr) return;
  const Health health = store_->health();
  EXPECT_TRUE(health.writable) << health.name << ": " << health.text;
  EXPECT_EQ(health.damaged_files, 0u) << health.last_damaged;
}

void StoreContract::reopen() {
  if (!GetParam().durable) GTEST_SKIP() << "the " << GetParam().name << " engine keeps nothing";
  store_.reset();
  store_ = GetParam().open(folder_.path(), clock_);
  ASSERT_NE(store_, nullptr);
}

Ino StoreContract::ino_of(std::string_view folder, std::string_view name) {
  const auto dir = resolve(*store_, folder);
  if (!dir) return 0;
  const auto attr = store_->lookup(dir->ino, name);
  return attr ? attr->ino : 0;
}

Ino StoreContract::resolve_ino(std::string_view path) {
  const auto attr = resolve(*store_, path);
  return attr ? attr->ino : 0;
}

EvictionOutcome StoreContract::put(const Session& session, std::string_view call_id,
                                   std::string bytes, std::string_view stem) {
  const std::string kept = bytes;
  auto ended =
      kit::commit_eviction(*store_, kit::eviction_plan(session, call_id, std::move(bytes), stem));
  if (!ended.ok()) {
    ADD_FAILURE() << "put away: " << ended.result.error().text;
    return {};
  }
  expect_file(*ended, kept);
  return *ended;
}

void StoreContract::expect_file(const EvictionOutcome& outcome, std::string_view bytes) {
  EXPECT_EQ(outcome.size, bytes.size());
  EXPECT_EQ(resolve_ino(outcome.path), outcome.ino) << outcome.path;
  EXPECT_EQ(kit::read_file(*store_, outcome.ino), bytes) << outcome.path;
  const auto path = store_->path_of(outcome.ino);
  ASSERT_TRUE(path.has_value()) << path.error().text;
  EXPECT_EQ(*path, outcome.path);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreContract, testing::ValuesIn(engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace ebla
