// kill -9 at any moment: what was acknowledged is there, whole, with no step by hand.
//
// EBLA_KILL_ROUNDS: how often (20).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "schema/path.h"
#include "schema/sqlite/open.h"
#include "tests/kit/check_store.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"

extern char** environ;

namespace ebla {
namespace {

constexpr int kThreads = 4;
const char* self_path = nullptr;

std::unique_ptr<Store> open_at(const std::string& path, const Clock& clock) {
  sqlite::OpenOptions options;
  options.path = path;
  options.clock = &clock;
  auto opened = sqlite::open_store(options);
  if (opened) return std::move(*opened);
  std::fprintf(stderr, "open: %s\n", opened.error().text.c_str());
  return nullptr;
}

// The text of an eviction follows from its number: every ninth is long enough to be staged.
std::string text_of(uint64_t number) {
  const size_t size =
      number % 9 == 0 ? limits::kInlineContentBytes + 500'000 : 1 + number * 7919 % 240'000;
  return kit::random_bytes(size, number % 5 == 0 ? 5 : number);
}

// One line for each acknowledged eviction: its number and path; for a removal the path alone.
struct Ack {
  uint64_t number = 0;
  uint32_t removed = 0;
  char path[64] = {};
};

void put_away(Store& store, const Session& session, uint64_t number, int out) {
  const std::string id = "call_" + std::to_string(number);
  std::string text = text_of(number);
  auto plan = kit::eviction_plan(session, id, "");
  if (text.size() > limits::kInlineContentBytes) {
    plan.content = kit::stage_all(store, text);
  } else {
    plan.content = {.bytes = text, .staged = 0, .size = text.size(), .hash = xxh3_128(text)};
  }
  const auto ended = kit::commit_eviction(store, plan);
  if (!ended.ok()) std::_Exit(3);
  Ack ack{.number = number};
  std::strncpy(ack.path, ended->path.c_str(), sizeof ack.path - 1);
  if (write(out, &ack, sizeof ack) != sizeof ack) std::_Exit(4);
  if (number % 7 != 0) return;
  // Told before it is done: from here on the file may be there or not.
  ack.removed = 1;
  if (write(out, &ack, sizeof ack) != sizeof ack) std::_Exit(4);
  if (!kit::remove(store, {.parent = session.folder, .name = id, .uid = 0, .reason = "rm"}).ok()) {
    std::_Exit(5);
  }
}

// The child: puts away until it is killed.
int child(const std::string& path, uint64_t first) {
  const SystemClock clock;
  const auto store = open_at(path, clock);
  if (!store) return 2;
  const auto session = kit::open_session(*store, kit::session_plan("s-aaaaa", "key"));
  if (!session.ok()) return 2;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = first + t;; i += kThreads) put_away(*store, session->session, i, 1);
    });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}

struct Child {
  pid_t pid = 0;
  UniqueFd out;
};

Child start_child(const std::string& path, uint64_t first) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Child started{.pid = 0, .out = UniqueFd(ends[0])};
  const UniqueFd in(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), 1);
  std::string number = std::to_string(first);
  std::string store = path;
  std::string program = self_path;
  std::string flag = "--child";
  char* const arguments[] = {program.data(), flag.data(), store.data(), number.data(), nullptr};
  EXPECT_EQ(posix_spawn(&started.pid, self_path, &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return started;
}

uint64_t rounds() {
  const char* text = std::getenv("EBLA_KILL_ROUNDS");
  return text == nullptr ? 20 : std::strtoull(text, nullptr, 10);
}

void check_file(Store& store, uint64_t number, const std::string& path) {
  const auto attr = resolve(store, path);
  ASSERT_TRUE(attr.has_value()) << path << ": " << attr.error().text;
  ASSERT_EQ(kit::read_file(store, attr->ino, limits::kChunkBytes), text_of(number)) << path;
}

TEST(StoreKill, WhatWasAcknowledgedIsThere) {
  const kit::TempDir folder("kill");
  const std::string path = folder / "store";
  const SystemClock clock;
  std::mt19937_64 random(20);
  std::map<uint64_t, std::string> acknowledged;
  uint64_t all = 0;
  for (uint64_t round = 0; round < rounds(); ++round) {
    Child running = start_child(path, 1'000'000 * (round + 1));
    std::map<uint64_t, std::string> fresh;
    // Killed after so many acknowledgements and a moment more: anywhere in what follows.
    const uint64_t wanted = 1 + random() % 60;
    const auto moment = std::chrono::microseconds(random() % 5'000);
    Ack ack;
    for (uint64_t seen = 0;
         read_full(running.out.get(), reinterpret_cast<char*>(&ack), sizeof ack).value_or(0) ==
         sizeof ack;
         ++seen) {
      if (ack.removed != 0) {
        fresh.erase(ack.number);
      } else {
        fresh[ack.number] = ack.path;
        ++all;
      }
      if (seen == wanted) {
        std::this_thread::sleep_for(moment);
        kill(running.pid, SIGKILL);
      }
    }
    int status = 0;
    ASSERT_EQ(waitpid(running.pid, &status, 0), running.pid);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;

    auto store = open_at(path, clock);
    ASSERT_NE(store, nullptr);
    for (const auto& [number, file] : fresh) check_file(*store, number, file);
    acknowledged.merge(fresh);
    store.reset();
    const auto breaches = kit::check_store(path);
    ASSERT_TRUE(breaches.empty()) << breaches.front();
  }
  auto store = open_at(path, clock);
  ASSERT_NE(store, nullptr);
  for (const auto& [number, file] : acknowledged) check_file(*store, number, file);
  std::printf("%llu kills, %llu acknowledged, none lost\n",
              static_cast<unsigned long long>(rounds()), static_cast<unsigned long long>(all));
}

}  // namespace
}  // namespace ebla

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--child") == 0) {
    return ebla::child(argv[2], std::strtoull(argv[3], nullptr, 10));
  }
  testing::InitGoogleTest(&argc, argv);
  ebla::self_path = argv[0];
  return RUN_ALL_TESTS();
}
