// kill -9 at any moment: what was acknowledged is there, whole, with no step by hand.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "schema/base/fd.h"
#include "schema/base/limits.h"
#include "schema/path.h"
#include "tests/kit/check_store.h"
#include "tests/kit/file_calls.h"
#include "tests/kit/real_texts.h"
#include "tests/kit/store_calls.h"
#include "tests/kit/temp_dir.h"
#include "tests/schema/sqlite/kill_child.h"

namespace ebla {
namespace {

constexpr int kThreads = 3;
constexpr uint64_t kFileThreads = 2;

// The text of an eviction follows from its number: every ninth is long enough to be staged.
std::string text_of(uint64_t number) {
  const size_t size =
      number % 9 == 0 ? limits::kInlineContentBytes + 500'000 : 1 + number * 7919 % 240'000;
  return kit::random_bytes(size, number % 5 == 0 ? 5 : number);
}

// One for each thing acknowledged. put: an eviction and its file; removed: it may be gone from here
// on; file: a client's file that was synced and renamed; line: so many lines of a log are synced.
struct Ack {
  enum Kind : uint32_t { put, removed, file, line };
  uint64_t number = 0;
  Kind kind = put;
  char path[68] = {};
};

void tell(int out, Ack::Kind kind, uint64_t number, const std::string& path) {
  Ack ack{.number = number, .kind = kind};
  std::strncpy(ack.path, path.c_str(), sizeof ack.path - 1);
  if (write(out, &ack, sizeof ack) != sizeof ack) std::_Exit(4);
}

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
  tell(out, Ack::put, number, ended->path);
  if (number % 7 != 0) return;
  // Told before it is done: from here on the file may be there or not.
  tell(out, Ack::removed, number, ended->path);
  if (!kit::remove(store, {.parent = session.folder, .name = id, .uid = 0, .reason = "rm"}).ok()) {
    std::_Exit(5);
  }
}

void must(bool done, int status) {
  if (!done) std::_Exit(status);
}

constexpr ChangeOptions kOrdered{.durability = Durability::ordered};

// Names that come and go beside the files that are told, and bytes that nobody waits for.
void make_noise(Store& store, Ino folder, Ino file, uint64_t number) {
  const std::string name = "n" + std::to_string(number);
  const Ino below = kit::make_folder(store, folder, name);
  kit::make_file(store, below, "inner", text_of(number % 40));
  must(kit::link(store, {.ino = file, .parent = below, .name = "link"}, kOrdered).ok(), 6);
  must(kit::rename(store,
                   {.parent = below, .name = "inner", .new_parent = folder, .new_name = "noise"},
                   kOrdered)
           .ok(),
       7);
  must(kit::remove(store, {.parent = below, .name = "link"}, kOrdered).ok(), 8);
  must(kit::remove_folder(store, {.parent = folder, .name = name}, kOrdered).ok(), 9);
  const Ino noise = store.lookup(folder, "noise")->ino;
  must(kit::write(store, {.ino = noise, .offset = number * 7919 % 900'000}, name).ok(), 10);
  must(kit::setattr(store, {.ino = noise, .size = number * 104'729 % 900'000}, kOrdered).ok(), 11);
}

// As a careful program does it: a new file, synced, then renamed to its name; and a log.
void write_files(Store& store, uint64_t first, uint64_t step, int out) {
  const std::string home = "w" + std::to_string(first);
  const Ino folder = kit::make_folder(store, store.root(), home);
  const Ino log = kit::make_file(store, folder, "log");
  for (uint64_t number = first, lines = 0;; number += step) {
    const Ino file = kit::make_file(store, folder, "new");
    const std::string text = text_of(number);
    for (size_t at = 0; at < text.size(); at += 50'000) {
      const auto piece = std::string_view(text).substr(at, 50'000);
      must(kit::write(store, {.ino = file, .offset = at}, piece).ok(), 12);
    }
    must(kit::flush(store, file).ok(), 13);
    const std::string name = "f" + std::to_string(number % 5);
    must(kit::rename(store,
                     {.parent = folder, .name = "new", .new_parent = folder, .new_name = name})
             .ok(),
         14);
    tell(out, Ack::file, number, "/" + home + "/" + name);
    make_noise(store, folder, file, number);
    for (int i = 0; i < 5; ++i) {
      const std::string line = "line " + std::to_string(++lines) + "\n";
      must(kit::write(store, {.ino = log, .append = true}, line).ok(), 15);
    }
    must(kit::flush(store, log).ok(), 16);
    tell(out, Ack::line, lines, "/" + home + "/log");
  }
}

// The child: puts away and writes until it is killed.
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
  for (uint64_t t = 0; t < kFileThreads; ++t) {
    threads.emplace_back([&, t] { write_files(*store, first + t, kFileThreads, 1); });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}

void check_file(Store& store, uint64_t number, const std::string& path) {
  const auto attr = resolve(store, path);
  ASSERT_TRUE(attr.has_value()) << path << ": " << attr.error().text;
  ASSERT_EQ(kit::read_file(store, attr->ino, limits::kChunkBytes), text_of(number)) << path;
}

// Whole lines in their order, and at least so many.
void check_log(Store& store, uint64_t lines, const std::string& path) {
  const auto attr = resolve(store, path);
  ASSERT_TRUE(attr.has_value()) << path << ": " << attr.error().text;
  const std::string text = kit::read_file(store, attr->ino);
  size_t at = 0;
  uint64_t seen = 0;
  while (at < text.size()) {
    const std::string line = "line " + std::to_string(++seen) + "\n";
    ASSERT_EQ(text.substr(at, line.size()), line) << path;
    at += line.size();
  }
  ASSERT_GE(seen, lines) << path;
}

// What the newest round has acknowledged, by path.
struct Fresh {
  std::map<uint64_t, std::string> put;
  std::map<std::string, std::set<uint64_t>> files;  // the last one told, and what came after it
  std::map<std::string, uint64_t> lines;

  void note(const Ack& ack) {
    switch (ack.kind) {
      case Ack::put:
        put[ack.number] = ack.path;
        break;
      case Ack::removed:
        put.erase(ack.number);
        break;
      case Ack::file:
        files[ack.path] = {ack.number, ack.number + 5 * kFileThreads};
        break;
      case Ack::line:
        lines[ack.path] = ack.number;
        break;
    }
  }

  void check(Store& store) const {
    for (const auto& [number, path] : put) check_file(store, number, path);
    for (const auto& [path, lines_told] : lines) check_log(store, lines_told, path);
    for (const auto& [path, numbers] : files) {
      const auto attr = resolve(store, path);
      ASSERT_TRUE(attr.has_value()) << path << ": " << attr.error().text;
      const std::string text = kit::read_file(store, attr->ino);
      // The one that was told, or the next of that name, whole.
      ASSERT_TRUE(
          std::ranges::any_of(numbers, [&](uint64_t number) { return text == text_of(number); }))
          << path << ": " << text.size() << " bytes";
    }
  }
};

TEST(StoreKill, WhatWasAcknowledgedIsThere) {
  const kit::TempDir folder("kill");
  const std::string path = folder / "store";
  const SystemClock clock;
  std::mt19937_64 random(20);
  std::map<uint64_t, std::string> acknowledged;
  uint64_t all = 0;
  for (uint64_t round = 0; round < kill_rounds(); ++round) {
    Child running = start_child("--child", path, 1'000'000 * (round + 1));
    Fresh fresh;
    // Killed after so many acknowledgements and a moment more: anywhere in what follows.
    const uint64_t wanted = 1 + random() % 60;
    const auto moment = std::chrono::microseconds(random() % 5'000);
    Ack ack;
    for (uint64_t seen = 0;
         read_full(running.out.get(), reinterpret_cast<char*>(&ack), sizeof ack).value_or(0) ==
         sizeof ack;
         ++seen) {
      fresh.note(ack);
      if (ack.kind != Ack::removed) ++all;
      if (seen == wanted) {
        std::this_thread::sleep_for(moment);
        kill(running.pid, SIGKILL);
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_killed(running));
    auto store = open_at(path, clock);
    ASSERT_NE(store, nullptr);
    fresh.check(*store);
    if (testing::Test::HasFatalFailure()) return;
    acknowledged.merge(fresh.put);
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
