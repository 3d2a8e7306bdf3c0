// Completions, ChangeSets, deadlines, and many threads at once.
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "tests/schema/store_contract.h"

namespace ebla {
namespace {

using kit::commit_eviction;
using kit::eviction_plan;
using kit::make_session;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr MountId kMount = 7;
constexpr ChangeOptions kFromMount = {.durability = Durability::ordered, .origin = kMount};

std::vector<Ino> inos(std::initializer_list<Ino> list) {
  return list;
}

TEST_P(StoreContract, ChangeSetsOfANewSessionNameWhatChanged) {
  const Session parent = make_session(store(), "p-aaaaa");
  const auto ended =
      kit::open_session(store(), kit::session_plan("s-aaaaa", "", parent.serial), kFromMount);
  ASSERT_TRUE(ended.ok());
  const Session& session = ended->session;
  const ChangeSet& changes = ended.changes;
  EXPECT_EQ(changes.origin, kMount);
  EXPECT_EQ(changes.tree, parent.serial);
  EXPECT_EQ(changes.session, session.serial);
  const DentryChange folder{.parent = results(),
                            .name = "s-aaaaa",
                            .child = session.folder,
                            .kind = DentryChange::Kind::added};
  const DentryChange history{.parent = histories(),
                             .name = "s-aaaaa.md",
                             .child = session.history,
                             .kind = DentryChange::Kind::added};
  EXPECT_THAT(changes.dentries, UnorderedElementsAre(folder, history));
  EXPECT_THAT(changes.attributes,
              testing::UnorderedElementsAreArray(inos({results(), histories()})));
  EXPECT_THAT(changes.ranges, IsEmpty());
  EXPECT_THAT(changes.orphaned, IsEmpty());
  EXPECT_FALSE(changes.whole_tree);
  EXPECT_FALSE(changes.everything);
}

TEST_P(StoreContract, ChangeSetsOfAPutAwayNameFileAndFolder) {
  const Session session = make_session(store(), "s-aaaaa");
  const auto result = commit_eviction(store(), eviction_plan(session, "call_1", "x"), kFromMount);
  ASSERT_TRUE(result.ok());
  const DentryChange added{.parent = session.folder,
                           .name = "call_1",
                           .child = result->ino,
                           .kind = DentryChange::Kind::added};
  EXPECT_EQ(result.changes.origin, kMount);
  EXPECT_EQ(result.changes.tree, session.tree);
  EXPECT_EQ(result.changes.session, session.serial);
  EXPECT_THAT(result.changes.dentries, UnorderedElementsAre(added));
  EXPECT_THAT(result.changes.attributes, UnorderedElementsAre(session.folder));
  EXPECT_THAT(result.changes.orphaned, IsEmpty());

  auto plan = eviction_plan(session, "", "question", "message-0");
  plan.kind = ArtifactKind::human;
  const auto human = commit_eviction(store(), plan);
  ASSERT_TRUE(human.ok());
  const Ino folder = resolve_ino("/conversation_history/s-aaaaa");
  const DentryChange made{
      .parent = histories(), .name = "s-aaaaa", .child = folder, .kind = DentryChange::Kind::added};
  const DentryChange message{.parent = folder,
                             .name = "message-0",
                             .child = human->ino,
                             .kind = DentryChange::Kind::added};
  EXPECT_EQ(human.changes.origin, 0u);
  EXPECT_THAT(human.changes.dentries, UnorderedElementsAre(made, message));
  EXPECT_THAT(human.changes.attributes, testing::IsSupersetOf(inos({histories()})));
}

TEST_P(StoreContract, ChangeSetsOfARemovalNameTheOrphan) {
  const Session session = make_session(store(), "s-aaaaa");
  const EvictionOutcome file = put(session, "call_1", "x");
  const auto removed = kit::remove(
      store(), {.parent = session.folder, .name = "call_1", .uid = 0, .reason = "rm"}, kFromMount);
  ASSERT_TRUE(removed.ok());
  const DentryChange gone{.parent = session.folder,
                          .name = "call_1",
                          .child = file.ino,
                          .kind = DentryChange::Kind::removed};
  EXPECT_EQ(removed.changes.origin, kMount);
  EXPECT_THAT(removed.changes.dentries, UnorderedElementsAre(gone));
  EXPECT_THAT(removed.changes.attributes,
              testing::UnorderedElementsAreArray(inos({session.folder, file.ino})));
  EXPECT_THAT(removed.changes.orphaned, UnorderedElementsAre(file.ino));
}

TEST_P(StoreContract, RevisionsGrow) {
  const Session session = make_session(store(), "s-aaaaa");
  uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    const auto ended = commit_eviction(store(), eviction_plan(session, "c", std::to_string(i)));
    ASSERT_TRUE(ended.ok());
    EXPECT_GT(ended.changes.revision, last);
    last = ended.changes.revision;
  }
}

TEST_P(StoreContract, AFailedChangeHasAnEmptyChangeSet) {
  const auto failed = kit::remove(
      store(), {.parent = results(), .name = "none", .uid = 0, .reason = "rm"}, kFromMount);
  EXPECT_FALSE(failed.ok());
  EXPECT_TRUE(failed.changes.empty());
}

TEST_P(StoreContract, AChangeWhoseDeadlineHasPassedIsNotStarted) {
  const Session session = make_session(store(), "s-aaaaa");
  const ChangeOptions late = {.deadline = std::chrono::steady_clock::now() - std::chrono::hours(1)};
  EXPECT_EQ(commit_eviction(store(), eviction_plan(session, "c", "x"), late).code(), Code::timeout);
  EXPECT_EQ(kit::open_session(store(), kit::session_plan("late"), late).code(), Code::timeout);
  EXPECT_EQ(kit::stage(store(), 0, 0, "x", late).code(), Code::timeout);
  EXPECT_EQ(kit::remove(store(), {.parent = results(), .name = "x", .uid = 0, .reason = "rm"}, late)
                .code(),
            Code::timeout);
  EXPECT_EQ(*store().entry_count(session.folder), 0u);
  EXPECT_EQ(store().usage().sessions, 1u);
  const ChangeOptions early = {.deadline =
                                   std::chrono::steady_clock::now() + std::chrono::hours(1)};
  EXPECT_TRUE(commit_eviction(store(), eviction_plan(session, "c", "x"), early).ok());
}

TEST_P(StoreContract, ACompletionSeesItsOwnChange) {
  const Session session = make_session(store(), "s-aaaaa");
  for (const Durability durability : {Durability::durable, Durability::ordered}) {
    for (int i = 0; i < 20; ++i) {
      const std::string body = std::to_string(i) + (durability == Durability::durable ? "d" : "o");
      std::promise<std::string> seen;
      auto future = seen.get_future();
      store().commit_eviction(eviction_plan(session, "call", body), {.durability = durability},
                              [&](Result<EvictionOutcome> outcome, const ChangeSet& changes) {
                                // A read within the completion, on whatever thread it runs.
                                const auto& added = changes.dentries.at(0);
                                const auto attr = store().lookup(added.parent, added.name);
                                seen.set_value(attr && attr->ino == outcome->ino
                                                   ? kit::read_file(store(), attr->ino)
                                                   : "not found");
                              });
      EXPECT_EQ(future.get(), body);
      EXPECT_EQ(*store().entry_count(session.folder),
                static_cast<uint64_t>(i + 1 + (durability == Durability::ordered ? 20 : 0)));
    }
  }
}

TEST_P(StoreContract, SyncCompletes) {
  const Session session = make_session(store(), "s-aaaaa");
  const auto before = std::make_shared<std::atomic<int>>(0);
  for (int i = 0; i < 50; ++i) {
    store().commit_eviction(
        eviction_plan(session, "c" + std::to_string(i), "x"), {.durability = Durability::ordered},
        [before](auto outcome, const ChangeSet&) { *before += outcome ? 1 : 0; });
  }
  ASSERT_TRUE(kit::sync(store()).ok());
  EXPECT_EQ(*before, 50) << "what was committed before is done";
  EXPECT_EQ(*store().entry_count(session.folder), 50u);
  EXPECT_TRUE(kit::sync(store()).ok()) << "with nothing to do";
}

TEST_P(StoreContract, TheEndOfAStoreWaitsForEveryCompletion) {
  const Session session = make_session(store(), "s-aaaaa");
  constexpr int kCalls = 200;
  std::atomic<int> done = 0;
  std::atomic<int> succeeded = 0;
  for (int i = 0; i < kCalls; ++i) {
    const auto durability = i % 2 == 0 ? Durability::durable : Durability::ordered;
    store().commit_eviction(eviction_plan(session, "c" + std::to_string(i), std::to_string(i)),
                            {.durability = durability}, [&](auto outcome, const ChangeSet&) {
                              ++done;
                              succeeded += outcome ? 1 : 0;
                            });
  }
  store_.reset();
  EXPECT_EQ(done, kCalls);
  EXPECT_EQ(succeeded, kCalls);
}

// What eight threads do to one store at once; each remembers what it was promised.
class Mixer {
 public:
  Mixer(Store& store, const Session& shared, int thread)
      : store_(store), shared_(shared), thread_(thread) {}

  void run(int rounds) {
    own_ = make_session(store_, "own-" + std::to_string(thread_), "key", shared_.serial);
    // One key, one uid: all threads get the same session, whoever was first.
    own_ = make_session(store_, "t-" + std::to_string(thread_), "k" + std::to_string(thread_));
    for (int i = 0; i < rounds; ++i) {
      const std::string text = std::to_string(thread_) + ":" + std::to_string(i);
      put(own_, "call_" + std::to_string(i), text);
      put(shared_, "call", text);              // every one a name of its own
      put(shared_, "same", "the same bytes");  // one decision for all
      if (i % 3 == 0) put_staged(text);
      if (i % 4 == 0) remove_one();
      look();
    }
  }

  std::vector<std::pair<EvictionOutcome, std::string>> kept_;
  std::set<uint64_t> revisions_;
  uint64_t removed_ = 0;

 private:
  void put(const Session& session, const std::string& id, const std::string& text) {
    const auto ended = commit_eviction(store_, eviction_plan(session, id, text),
                                       {.durability = Durability::ordered});
    ASSERT_TRUE(ended.ok()) << ended.result.error().text;
    if (ended.changes.empty()) return;
    EXPECT_TRUE(revisions_.insert(ended.changes.revision).second);
    kept_.emplace_back(*ended, text);
  }

  void put_staged(const std::string& seed) {
    const std::string text = seed + std::string(3000, 's');
    const ContentRef ref = kit::stage_all(store_, text);
    if (ref.size % 2 == 0) {
      EXPECT_TRUE(kit::discard(store_, ref.staged).ok());
      return;
    }
    EvictionPlan plan = eviction_plan(shared_, "staged", "");
    plan.content = ref;
    const auto ended = commit_eviction(store_, std::move(plan));
    ASSERT_TRUE(ended.ok()) << ended.result.error().text;
    kept_.emplace_back(*ended, text);
  }

  void remove_one() {
    const EvictionOutcome file = kept_.front().first;
    if (!file.path.starts_with("/large_tool_results/t-")) return;
    const auto name = file.path.substr(file.path.rfind('/') + 1);
    const auto gone =
        kit::remove(store_, {.parent = own_.folder, .name = name, .uid = 0, .reason = "rm"});
    ASSERT_TRUE(gone.ok()) << gone.result.error().text;
    EXPECT_EQ(kit::read_file(store_, file.ino), kept_.front().second) << "until it is reaped";
    ASSERT_TRUE(kit::reap(store_, gone.changes.orphaned).ok());
    kept_.erase(kept_.begin());
    ++removed_;
  }

  void look() {
    const auto& [file, text] = kept_.back();
    EXPECT_EQ(kit::read_file(store_, file.ino), text);
    EXPECT_EQ(*store_.path_of(file.ino), file.path);
    EXPECT_TRUE(store_.list_sessions("", "", 100).has_value());
    uint64_t last = 0;
    for (const DirEntry& entry : kit::list(store_, shared_.folder, 7)) {
      EXPECT_GT(entry.cookie, last);
      last = entry.cookie;
    }
    EXPECT_GT(store_.usage().files, 0u);
  }

  Store& store_;
  const Session& shared_;
  int thread_;
  Session own_;
};

TEST_P(StoreContract, EightThreadsLoseNothing) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 25;
  const Session shared = make_session(store(), "shared-aaaaa");
  std::vector<Mixer> mixers;
  for (int i = 0; i < kThreads; ++i) mixers.emplace_back(store(), shared, i);
  std::latch start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (Mixer& mixer : mixers) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        mixer.run(kRounds);
      });
    }
  }
  std::set<std::string> paths;
  std::set<Ino> nodes;
  std::set<uint64_t> revisions;
  size_t same = 0;
  uint64_t bytes = 0;
  for (const Mixer& mixer : mixers) {
    for (const auto& [file, text] : mixer.kept_) {
      expect_file(file, text);
      EXPECT_TRUE(paths.insert(file.path).second) << file.path;
      EXPECT_TRUE(nodes.insert(file.ino).second);
      bytes += text.size();
      if (text == "the same bytes") ++same;
    }
    for (const uint64_t revision : mixer.revisions_) {
      EXPECT_TRUE(revisions.insert(revision).second) << "a revision given twice";
    }
    EXPECT_GT(mixer.removed_, 0u);
  }
  EXPECT_EQ(same, 1u) << "made once, known to all others";
  const Usage usage = store().usage();
  EXPECT_EQ(usage.sessions, 1u + 1u + kThreads);
  EXPECT_EQ(usage.files, usage.sessions + paths.size());
  EXPECT_EQ(usage.logical_bytes, bytes);
}

}  // namespace
}  // namespace ebla
