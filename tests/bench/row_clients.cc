// P2: 16 clients put 8 KB each away, durable, against a bare group-commit loop: 16 threads hand 8
// KB rows to one SQLite writer that commits with synchronous=FULL whatever has queued up.
#include <fmt/format.h>
#include <sqlite3.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/bench_kit.h"

namespace ebla::bench {
namespace {

constexpr unsigned kClients = 16;
constexpr size_t kBytes = 8'000;
constexpr double kSeconds = 2.0;
constexpr int kRounds = 3;

struct Outcome {
  double per_second = 0;
  double longest_ms = 0;
};

// Runs `call(client, number)` on 16 threads until the time is over.
Outcome run(const std::function<void(unsigned, uint64_t)>& call) {
  std::atomic<uint64_t> done{0};
  std::vector<Samples> waits(kClients);
  std::vector<std::jthread> threads;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kSeconds);
  for (unsigned client = 0; client < kClients; ++client) {
    threads.emplace_back([&, client] {
      for (uint64_t n = 0; std::chrono::steady_clock::now() < end; ++n) {
        waits[client].add(seconds([&] { call(client, n); }) * 1e3);
        ++done;
      }
    });
  }
  threads.clear();
  Outcome outcome{static_cast<double>(done) / kSeconds, 0};
  for (const Samples& wait : waits) outcome.longest_ms = std::max(outcome.longest_ms, wait.max());
  return outcome;
}

class GroupCommitLoop {
 public:
  explicit GroupCommitLoop(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) die("sqlite3_open");
    exec("PRAGMA page_size=16384");
    exec("PRAGMA journal_mode=WAL");
    exec("PRAGMA synchronous=FULL");
    exec("CREATE TABLE rows(id INTEGER PRIMARY KEY, bytes BLOB)");
    writer_ = std::jthread([this](std::stop_token stop) { loop(stop); });
  }
  GroupCommitLoop(const GroupCommitLoop&) = delete;
  GroupCommitLoop& operator=(const GroupCommitLoop&) = delete;
  ~GroupCommitLoop() {
    writer_.request_stop();
    wake_.notify_all();
    writer_ = {};
    sqlite3_close(db_);
  }

  void put(const std::string& bytes) {
    std::unique_lock lock(mutex_);
    const uint64_t ticket = ++queued_;
    queue_.push_back(&bytes);
    wake_.notify_one();
    committed_.wait(lock, [&] { return done_ >= ticket; });
  }

 private:
  void exec(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) die(sqlite3_errmsg(db_));
  }

  void loop(const std::stop_token& stop) {
    sqlite3_stmt* insert = nullptr;
    sqlite3_prepare_v2(db_, "INSERT INTO rows(bytes) VALUES(?1)", -1, &insert, nullptr);
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      wake_.wait(lock, [&] { return !queue_.empty() || stop.stop_requested(); });
      const std::deque<const std::string*> batch = std::exchange(queue_, {});
      lock.unlock();
      exec("BEGIN");
      for (const std::string* bytes : batch) {
        sqlite3_bind_blob(insert, 1, bytes->data(), static_cast<int>(bytes->size()), SQLITE_STATIC);
        sqlite3_step(insert);
        sqlite3_reset(insert);
      }
      exec("COMMIT");
      lock.lock();
      done_ += batch.size();
      committed_.notify_all();
    }
    sqlite3_finalize(insert);
  }

  sqlite3* db_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable committed_;
  std::deque<const std::string*> queue_;
  uint64_t queued_ = 0;
  uint64_t done_ = 0;
  std::jthread writer_;
};

Outcome run_ours(const Daemon& daemon, int round) {
  std::vector<tools::Client> clients;
  for (unsigned i = 0; i < kClients; ++i) {
    clients.push_back(must(tools::Client::connect(daemon.socket), "connect"));
  }
  return run([&](unsigned client, uint64_t n) {
    const std::string text = distinct_text(kBytes, (n * kClients + client) * kRounds + 7);
    const std::string params = fmt::format(
        R"({{"session":"client-{}","id":"r{}_{}","force":true,"content":{{"$blob":0}}}})", client,
        round, n);
    must(clients[client].call("evict", params, {.blobs = {text}, .fds = {}}), "evict");
  });
}

}  // namespace

void row_clients(const Settings& settings, const WorkFolder& folder) {
  Daemon daemon(settings.eblad, folder, "p2");
  GroupCommitLoop loop(folder / "p2-floor.db");
  Samples ours;
  Samples floor;
  double longest_ms = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Outcome mine = run_ours(daemon, round);
    ours.add(mine.per_second);
    longest_ms = std::max(longest_ms, mine.longest_ms);
    floor.add(run([&](unsigned client, uint64_t n) {
                loop.put(distinct_text(kBytes, n * kClients + client));
              }).per_second);
  }
  const double ratio = ours.median() / floor.median();
  print({"P2", "16 clients, 8 KB each, durable", fmt::format("{:.0f}/s", ours.median()),
         fmt::format("bare group commit {:.0f}/s", floor.median()), fmt::format("{:.2f} x", ratio),
         ">= 0.6 x", ratio >= 0.6});
  print({"P2", "longest wait of any of them", fmt::format("{:.0f} ms", longest_ms), "-", "-",
         "nobody 100 ms", longest_ms < 100});
}

}  // namespace ebla::bench
