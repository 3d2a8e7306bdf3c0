#include "schema/sqlite/quick_check.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "schema/sqlite/database.h"

namespace ebla::sqlite {
namespace {

void enter_background() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "ebla-check");
  // Both are wishes: a refusal costs time, nothing else. On Linux a nice value is a thread's own.
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 19);
  constexpr int kWhoProcess = 1;
  constexpr int kClassIdle = 3 << 13;
  (void)syscall(SYS_ioprio_set, kWhoProcess, 0, kClassIdle);
}

}  // namespace

void QuickCheck::start(Options options, Done done) {
  options_ = std::move(options);
  done_ = std::move(done);
  running_ = true;
  thread_ = std::thread([this] {
    enter_background();
    run();
    running_ = false;
  });
}

void QuickCheck::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool QuickCheck::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return stopping_; });
}

void QuickCheck::run() {
  for (int n = 0; n < options_.attempts; ++n) {
    if (n > 0 && !wait(options_.pause)) return;
    auto found = attempt();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    if (found || found.error().code != Code::unavailable) {
      done_(std::move(found));
      return;
    }
  }
  done_(fail(Code::unavailable,
             "the check of the store found no quiet moment: it runs again after "
             "the next start"));
}

Result<std::vector<std::string>> QuickCheck::attempt() {
  auto db = Database::open(options_.path, Database::Mode::read_only);
  if (!db) return std::unexpected(std::move(db.error()));
  std::atomic<bool> over = false;
  // The check does not return before its end, so that another thread has to look at the clock.
  std::thread watch([&, handle = db->handle()] {
    enter_background();
    while (!over) {
      const bool go_on = wait(options_.poll);
      if (over) return;
      if (!go_on || (options_.must_yield && options_.must_yield())) sqlite3_interrupt(handle);
      if (!go_on) sched_yield();
    }
  });
  const auto check = [&]() -> Result<std::vector<std::string>> {
    auto rows = db->prepare("PRAGMA quick_check(20)");
    if (!rows) return std::unexpected(std::move(rows.error()));
    std::vector<std::string> found;
    for (;;) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) return found;
      if (rows->bytes(0) != "ok") found.push_back(rows->string(0));
    }
  };
  auto found = check();
  over = true;
  watch.join();
  return found;
}

}  // namespace ebla::sqlite
