#include "schema/sqlite/writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "schema/sqlite/store_file.h"
#include "schema/sqlite/writer_impl.h"

namespace ebla::sqlite {
namespace {

// Bound of what a power cut takes from ordered units: 5 s are promised, the sync itself included.
constexpr auto kOrderedSyncDelay = std::chrono::seconds(2);
// The idle class waits for a pause between units, but not for ever.
constexpr auto kIdleQuiet = std::chrono::milliseconds(10);
constexpr auto kIdleStarved = std::chrono::milliseconds(250);

// Threads of the store take no signals: those are for the daemon's main thread. Blocked, SIGXFSZ
// leaves a write at the file size limit to its error.
void enter_thread(const char* name) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), name);
}

// A file size limit of the process bounds log and database. What the database could not take over
// from the log would stay in the log for ever.
Result<void> respect_file_limit(Database& db, Writer::Options& options, uint64_t page_bytes) {
  struct rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const uint64_t bytes = limit.rlim_cur;
  options.wal_hard_bytes = std::min(options.wal_hard_bytes, bytes / 2);
  options.wal_soft_bytes = std::min(options.wal_soft_bytes, bytes / 4);
  options.wal_restart_bytes = std::min(options.wal_restart_bytes, bytes / 8);
  const uint64_t pages = std::clamp<uint64_t>(bytes / page_bytes, 1, 1'073'741'823);
  const std::string pragma = "PRAGMA max_page_count=" + std::to_string(pages);
  return db.exec(pragma.c_str());
}

}  // namespace

Writer::Impl::Impl(Database database, Options writer_options)
    : db(std::move(database)), options(std::move(writer_options)), space(options) {}

Result<std::unique_ptr<Writer>> Writer::start(Database database, Options options) {
  // The first read opens the log, and recovers it when it must.
  auto schema = database.scalar("PRAGMA schema_version");
  if (!schema) return std::unexpected(std::move(schema.error()));
  auto page_bytes = database.scalar("PRAGMA page_size");
  if (!page_bytes) return std::unexpected(std::move(page_bytes.error()));
  if (auto set = respect_file_limit(database, options, static_cast<uint64_t>(*page_bytes)); !set)
    return std::unexpected(std::move(set.error()));

  // With its log open, so that no pass fails for want of a descriptor.
  auto passes = Database::open(options.path, Database::Mode::read_write);
  if (!passes) return std::unexpected(std::move(passes.error()));
  if (auto seen = passes->scalar("PRAGMA schema_version"); !seen)
    return std::unexpected(std::move(seen.error()));
  auto wal = open_file(options.path + "-wal", O_RDWR);
  if (!wal) return std::unexpected(std::move(wal.error()));
  // The log's name must be on disk before the first unit in it is acknowledged.
  if (auto synced = sync_folder_of(options.path); !synced)
    return std::unexpected(std::move(synced.error()));

  auto impl = std::make_unique<Impl>(std::move(database), std::move(options));
  impl->wal = std::move(*wal);
  impl->page_bytes = static_cast<uint64_t>(*page_bytes);
  impl->frame_bytes = impl->page_bytes + 24;
  impl->committed_revision = impl->options.revision;
  // What the log holds and the database does not must fit into the reserve: then the log can be
  // emptied on a full disk.
  impl->pass_frames = impl->options.checkpoint_frames;
  if (const uint64_t frames = impl->space.reserve_bytes() / impl->page_bytes; frames != 0)
    impl->pass_frames = std::min(impl->pass_frames, std::max<uint64_t>(frames, 16));
  impl->note_old_log();
  impl->count_pages();
  impl->look_at_space(impl->pages);
  sqlite3_wal_hook(impl->db.handle(), &Impl::on_commit, impl.get());
  impl->space.keep_reserve();

  Impl* self = impl.get();
  for (int i = 0; i < 2; ++i) {
    self->workers.emplace_back([self, i] {
      enter_thread(i == 0 ? "ebla-write-0" : "ebla-write-1");
      self->work_loop();
    });
  }
  self->checkpointer = std::thread([self, passes = std::move(*passes)]() mutable {
    enter_thread("ebla-checkpoint");
    self->checkpoint_loop(std::move(passes));
  });
  return std::unique_ptr<Writer>(new Writer(std::move(impl)));
}

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Writer::~Writer() {
  (void)stop();
}
void Writer::submit(Unit unit) {
  impl_->submit(std::move(unit));
}
Result<void> Writer::stop() {
  return impl_->stop();
}

void Writer::add_idle(std::string name,
                      std::move_only_function<Result<bool>(Database&, ChangeSet&)> step) {
  const std::lock_guard lock(impl_->mutex);
  impl_->idle.push_back({std::move(name), std::move(step), false});
  impl_->work.notify_one();
}

Result<void> Writer::accepts_growth(uint64_t bytes) const {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->failed) return std::unexpected(*impl_->failed);
    if (impl_->pinned) return std::unexpected(pinned_error());
  }
  if (impl_->space.has_room(bytes)) return {};
  return fail(Code::no_space, impl_->space.text());
}

Health Writer::health() const {
  Health health;
  const bool room = impl_->space.growth_allowed();
  const std::lock_guard lock(impl_->mutex);
  health.failed_syncs = impl_->failed_syncs;
  if (impl_->failed) {
    health.writable = false;
    health.name = code_info(impl_->failed->code).name;
    health.text = impl_->failed->text;
  } else if (!room) {
    health.writable = false;
    health.name = code_info(Code::no_space).name;
    health.text = impl_->space.text();
  } else if (impl_->pinned) {
    health.writable = false;
    health.name = code_info(Code::busy).name;
    health.text = pinned_error().text;
  } else if (impl_->locked_out) {
    health.writable = false;
    health.name = code_info(Code::busy).name;
    health.text = locked_error().text;
  }
  return health;
}

uint64_t Writer::wal_bytes() const {
  struct stat info{};
  return fstat(impl_->wal.get(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

uint64_t Writer::host_free_bytes() const {
  return impl_->space.free_bytes();
}

uint64_t Writer::revision() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->committed_revision;
}

void Writer::Impl::submit(Unit unit) {
  {
    Lock lock(mutex);
    if (!stopping) {
      const bool here = may_run_here(unit);
      queue.push_back({std::move(unit), {}, 0, {}});
      if (here) return run_here(lock);
      // A writer at work looks at the queue again by itself.
      if (!writing) work.notify_one();
      return;
    }
  }
  unit.done(fail(Code::unavailable, "the store is being closed: try again after the next start"),
            ChangeSet{});
}

bool Writer::Impl::may_run_here(const Unit& unit) const {
  return unit.options.here && unit.options.durability == Durability::ordered && !unit.staging &&
         !writing && !failed && !pinned && !restart_wanted && queue.empty() && held.empty() &&
         log_bytes() < options.wal_hard_bytes;
}

void Writer::Impl::run_here(Lock& lock) {
  write(lock);
  // No thread may be waiting for what has become due meanwhile.
  if (next_wake(std::chrono::steady_clock::now()) < planned_wake) work.notify_one();
}

bool Writer::Impl::idle_due(SteadyTime now) const {
  if (stopping || failed || !queue.empty()) return false;
  if (std::ranges::none_of(idle, [](const IdleTask& task) { return !task.rests; })) return false;
  return now >= last_write + kIdleQuiet || now >= last_idle + kIdleStarved;
}

bool Writer::Impl::write_due(SteadyTime now) const {
  if (!queue.empty()) return true;
  if (failed) return now >= next_retry || (stopping && !suspended.empty());
  if (restart_wanted) return true;
  if (!held.empty() && (!over_soft() || now >= next_held)) return true;
  return idle_due(now);
}

bool Writer::Impl::sync_due(SteadyTime now) const {
  if (failed) return false;
  return !unsynced.empty() ||
         (synced_commits < commits && now >= oldest_unsynced + kOrderedSyncDelay);
}

// The role that somebody else holds is looked after by them.
SteadyTime Writer::Impl::next_wake(SteadyTime now) const {
  SteadyTime wake = SteadyTime::max();
  if (!syncing && !failed && synced_commits < commits)
    wake = std::min(wake, oldest_unsynced + kOrderedSyncDelay);
  if (!writing && failed) wake = std::min(wake, next_retry);
  if (!writing && !failed) {
    if (!held.empty()) wake = std::min(wake, next_held);
    const bool resting = std::ranges::all_of(idle, [](const IdleTask& t) { return t.rests; });
    if (!resting && !stopping) wake = std::min(wake, last_write + kIdleQuiet);
  }
  return std::max(wake, now);
}

bool Writer::Impl::finished() const {
  return stopping && queue.empty() && held.empty() && unsynced.empty() && suspended.empty() &&
         !writing && !syncing;
}

void Writer::Impl::work_loop() {
  Lock lock(mutex);
  for (;;) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!syncing && sync_due(now)) {
      sync_log(lock);
    } else if (!writing && write_due(now)) {
      write(lock);
    } else if (finished()) {
      work.notify_all();
      return;
    } else {
      const SteadyTime wake = next_wake(now);
      planned_wake = wake;
      if (wake == SteadyTime::max()) {
        work.wait(lock);
      } else {
        work.wait_until(lock, wake);
      }
    }
  }
}

Result<void> Writer::Impl::stop() {
  {
    Lock lock(mutex);
    if (stopping) {
      work.wait(lock, [this] { return stopped; });
      return stop_result;
    }
    stopping = true;
    work.notify_all();
    checkpoint_work.notify_all();
  }
  for (auto& worker : workers) worker.join();
  checkpointer.join();
  finish_stop();
  const Lock lock(mutex);
  return stop_result;
}

void Writer::Impl::finish_stop() {
  // The threads are gone: the connection is this thread's now.
  Lock lock(mutex);
  if (failed) {
    recover(lock);
    if (failed) stop_result = std::unexpected(*failed);
  } else {
    stop_result = truncate_log(lock);
  }
  stopped = true;
  work.notify_all();
}

}  // namespace ebla::sqlite
