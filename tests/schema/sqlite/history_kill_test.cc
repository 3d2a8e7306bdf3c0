// kill -9 at any moment of many appends and passes: histories hold whole sections only, in order,
// all acknowledged ones, and a pass is there with its section or not at all.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "schema/base/limits.h"
#include "tests/kit/check_store.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"
#include "tests/schema/sqlite/kill_child.h"

namespace ebla {
namespace {

constexpr size_t kSessions = 4;

// What the n-th section of any of these histories is: every 37th is staged, every third is a pass.
std::string nth_section(uint64_t n) {
  return kit::section_text(n,
                           n % 37 == 36 ? limits::kInlineContentBytes + n : 1 + n * 7'919 % 20'000);
}
bool is_pass(uint64_t n) {
  return n % 3 == 0;
}

struct Ack {
  uint32_t session = 0;
  uint32_t sections = 0;  // of its history now
};

Session open_nth(Store& store, size_t n) {
  const auto ended = kit::open_session(
      store, kit::session_plan("s-" + std::to_string(10'000 + n), "key " + std::to_string(n)));
  return ended.ok() ? ended->session : Session{};
}

void grow(Store& store, uint32_t number) {
  const Session session = open_nth(store, number);
  const auto state = store.history_state(session.serial);
  if (!state) std::_Exit(3);
  for (uint64_t n = state->sections;; ++n) {
    const bool good =
        is_pass(n)
            ? kit::commit_pass(store, kit::pass_plan(store, session, nth_section(n), n)).ok()
            : kit::append_history(store, kit::history_plan(store, session, nth_section(n), n)).ok();
    if (!good) std::_Exit(4);
    const Ack ack{.session = number, .sections = static_cast<uint32_t>(n + 1)};
    if (write(1, &ack, sizeof ack) != sizeof ack) std::_Exit(5);
  }
}

void check_history(Store& store, size_t number, uint64_t acknowledged) {
  const Session session = open_nth(store, number);
  const auto state = store.history_state(session.serial);
  ASSERT_TRUE(state.has_value());
  ASSERT_GE(state->sections, acknowledged);
  std::string all;
  std::vector<uint64_t> passes;
  std::vector<Hash128> keys;
  for (uint64_t n = 0; n < state->sections; ++n) {
    all += nth_section(n);
    keys.push_back(kit::message_key(n));
    if (is_pass(n)) passes.push_back(n);
  }
  ASSERT_EQ(state->bytes, all.size());
  ASSERT_EQ(kit::read_file(store, session.history, limits::kChunkBytes), all);
  std::vector<uint64_t> found;
  const auto known = store.passes(session.tree, 0);
  ASSERT_TRUE(known.has_value());
  for (const Pass& pass : *known) {
    found.push_back(pass.messages);
    EXPECT_EQ(store.pass_message(pass.id).value(),
              "summary of " + std::to_string(pass.messages) + " messages");
  }
  ASSERT_EQ(found, passes);
  const auto held = store.history_holds(session.serial, keys);
  ASSERT_EQ(std::ranges::count(*held, true), static_cast<ptrdiff_t>(keys.size()));
  ASSERT_EQ(state->messages, keys.size());
}

TEST(HistoryKill, WholeSectionsInOrderAndAllAcknowledgedOnes) {
  const kit::TempDir folder("history-kill");
  const std::string path = folder / "store";
  const SystemClock clock;
  std::mt19937_64 random(4);
  std::array<uint64_t, kSessions> acknowledged{};
  for (uint64_t round = 0; round < kill_rounds(); ++round) {
    Child running = start_child("--history-child", path, 0);
    // Killed after so many acknowledgements and a moment more: anywhere in what follows.
    const uint64_t wanted = 1 + random() % 120;
    const auto moment = std::chrono::microseconds(random() % 5'000);
    Ack ack;
    for (uint64_t seen = 0;
         read_full(running.out.get(), reinterpret_cast<char*>(&ack), sizeof ack).value_or(0) ==
         sizeof ack;
         ++seen) {
      acknowledged.at(ack.session) = ack.sections;
      if (seen != wanted) continue;
      std::this_thread::sleep_for(moment);
      kill(running.pid, SIGKILL);
    }
    ASSERT_NO_FATAL_FAILURE(expect_killed(running));
    auto store = open_at(path, clock);
    ASSERT_NE(store, nullptr);
    for (size_t i = 0; i < kSessions; ++i) {
      ASSERT_NO_FATAL_FAILURE(check_history(*store, i, acknowledged.at(i))) << "session " << i;
    }
    store.reset();
    const auto breaches = kit::check_store(path);
    ASSERT_TRUE(breaches.empty()) << breaches.front();
  }
  uint64_t all = 0;
  for (const uint64_t sections : acknowledged) all += sections;
  std::printf("%llu kills, %llu sections acknowledged, none lost\n",
              static_cast<unsigned long long>(kill_rounds()), static_cast<unsigned long long>(all));
}

}  // namespace

int history_child(const std::string& path) {
  const SystemClock clock;
  const auto store = open_at(path, clock);
  if (!store) return 2;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kSessions; ++i) threads.emplace_back([&, i] { grow(*store, i); });
  for (auto& thread : threads) thread.join();
  return 0;
}

}  // namespace ebla
