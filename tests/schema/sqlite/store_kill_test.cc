// kill -9 at any moment: what was acknowledged is there, whole, with no step by hand.
#include <gtest/gtest.h>
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
#include "tests/kit/check_store.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"
#include "tests/schema/sqlite/kill_child.h"

namespace ebla {
namespace {

constexpr int kThreads = 4;

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
  for (uint64_t round = 0; round < kill_rounds(); ++round) {
    Child running = start_child("--child", path, 1'000'000 * (round + 1));
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
    ASSERT_NO_FATAL_FAILURE(expect_killed(running));
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
              static_cast<unsigned long long>(kill_rounds()), static_cast<unsigned long long>(all));
}

}  // namespace
}  // namespace ebla

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--child") == 0) {
    return ebla::child(argv[2], std::strtoull(argv[3], nullptr, 10));
  }
  if (argc == 4 && std::strcmp(argv[1], "--history-child") == 0) {
    return ebla::history_child(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  ebla::self_path = argv[0];
  return RUN_ALL_TESTS();
}
