// The log: how long it grows, who empties it, and how the store comes back after a failure.
//
// Versions of SQLite before 3.51.3 can damage a database when a checkpoint starts on a log that is
// already drained while the writer starts it anew. Therefore: one checkpoint at a time; a PASSIVE
// pass starts only while the log holds frames that were committed after what the last one took
// over; RESTART and TRUNCATE are run by the holder of the write role, who cannot write meanwhile.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "schema/sqlite/writer_impl.h"

namespace ebla::sqlite {
namespace {

constexpr int kReaderWaitMs = 1'000;  // ten times what a reader may hold a snapshot
constexpr auto kFirstRetry = std::chrono::milliseconds(100);
constexpr auto kLongestRetry = std::chrono::seconds(5);
constexpr auto kPassPause = std::chrono::seconds(1);
constexpr uint64_t kSmallRestFrames = 64;  // 1 MiB: a RESTART of it is no stall

constexpr uint64_t kLogHeaderBytes = 32;
constexpr uint64_t kFrameHeaderBytes = 24;

uint32_t big_endian(const char* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(at[i]);
  return value;
}

// The open file below the connection: what is done to it goes the way of SQLite's own calls.
Result<sqlite3_file*> database_file(sqlite3* db) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) !=
          SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr) {
    return fail(Code::io_error, "the store has no open file");
  }
  return file;
}

// Of a call to that file: errno is what the call has left.
Error refused_by_disk(int rc, std::string_view operation) {
  const int system = errno;
  std::string text(operation);
  if (system == EROFS) {
    return {Code::read_only, errno_error(system, operation).text + std::string(kWritableAgain)};
  }
  if (rc == SQLITE_FULL) return {Code::no_space, text + ": the disk is full; free some of it"};
  return {Code::io_error, text + ": the disk refused; see the system's log"};
}

// Writes the newest version of each page within the first `frames` frames of the log to its place
// in the database. The layout is that of SQLite's file format.
Result<void> rewrite_frames(sqlite3* db, int wal, uint64_t frames, uint64_t page_bytes) {
  auto file = database_file(db);
  if (!file) return std::unexpected(std::move(file.error()));
  std::array<char, kLogHeaderBytes> header{};
  auto got = pread_full(wal, header.data(), header.size(), 0);
  if (!got) return std::unexpected(std::move(got.error()));
  std::map<uint32_t, uint64_t> newest;  // page number to where its bytes are
  for (uint64_t i = 0; i < frames; ++i) {
    const uint64_t at = kLogHeaderBytes + i * (kFrameHeaderBytes + page_bytes);
    std::array<char, kFrameHeaderBytes> frame{};
    got = pread_full(wal, frame.data(), frame.size(), at);
    if (!got) return std::unexpected(std::move(got.error()));
    // Other salts: a new log has begun over this one, and that only happens after all of it was
    // taken over and synced. Nothing is to be written again then.
    if (*got < frame.size() || std::memcmp(&frame[8], &header[16], 8) != 0) return {};
    newest[big_endian(frame.data())] = at + kFrameHeaderBytes;
  }
  std::string page(page_bytes, '\0');
  for (const auto& [number, at] : newest) {
    got = pread_full(wal, page.data(), page.size(), at);
    if (!got) return std::unexpected(std::move(got.error()));
    const uint64_t place = (number - 1) * page_bytes;
    errno = 0;
    const int rc = (*file)->pMethods->xWrite(*file, page.data(), static_cast<int>(page.size()),
                                             static_cast<sqlite3_int64>(place));
    if (rc != SQLITE_OK) return std::unexpected(refused_by_disk(rc, "write the store anew"));
  }
  return {};
}

Result<void> sync_database(sqlite3* db) {
  auto file = database_file(db);
  if (!file) return std::unexpected(std::move(file.error()));
  errno = 0;
  const int rc = (*file)->pMethods->xSync(*file, SQLITE_SYNC_NORMAL);
  if (rc != SQLITE_OK) return std::unexpected(refused_by_disk(rc, "sync the store"));
  return {};
}

}  // namespace

bool failed_in_sync(sqlite3* db) {
  const int code = sqlite3_extended_errcode(db);
  return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

Error pinned_error() {
  return Error{
      Code::busy,
      "another program reads the store in one long transaction and keeps its log from being "
      "shortened: end that program"};
}

Error locked_error() {
  return Error{Code::busy,
               "another program holds the lock of the store: end that program; nothing is written "
               "meanwhile"};
}

int Writer::Impl::on_commit(void* self, sqlite3* /*db*/, const char* /*name*/, int frames) {
  auto* impl = static_cast<Impl*>(self);
  impl->hook_frames = static_cast<uint64_t>(frames);
  impl->hook_fired = true;
  return SQLITE_OK;
}

// What an earlier daemon left in the log is not checkpointed here, or a long log would delay the
// start; it goes with the first pass. Nor does it count towards that pass: only frames of our own
// tell that the log is not drained. Before the threads start.
void Writer::Impl::note_old_log() {
  struct stat info{};
  if (fstat(wal.get(), &info) != 0) return;
  log_frames = static_cast<uint64_t>(info.st_size) / frame_bytes;
  log_sequence = read_log_sequence();
}

uint32_t Writer::Impl::read_log_sequence() const {
  uint32_t sequence = 0;
  // Counts the restarts of the log: bytes 12 to 15 of its header.
  if (pread(wal.get(), &sequence, sizeof sequence, 12) != sizeof sequence) return 0;
  return sequence;
}

// Mutex held; after a commit.
void Writer::Impl::note_frames() {
  if (!std::exchange(hook_fired, false)) return;
  const uint32_t sequence = read_log_sequence();
  if (sequence != log_sequence || hook_frames < log_frames) {
    log_sequence = sequence;
    log_frames = 0;
    backfilled_frames = 0;
  }
  frames_since_pass += hook_frames - log_frames;
  log_frames = hook_frames;
  if (pass_due(std::chrono::steady_clock::now())) checkpoint_work.notify_one();
}

bool Writer::Impl::over_soft() const {
  return !stopping && log_bytes() > options.wal_soft_bytes && backfilled_frames < log_frames;
}

void Writer::Impl::release_held() {
  if (held.empty() || over_soft()) return;
  std::ranges::move(std::exchange(queue, {}), std::back_inserter(held));
  queue = std::exchange(held, {});
}

// By the holder of the write role: best within a transaction, where it costs no locks.
void Writer::Impl::count_pages() {
  pages = static_cast<uint64_t>(db.scalar("PRAGMA page_count").value_or(0));
  free_pages = static_cast<uint64_t>(db.scalar("PRAGMA freelist_count").value_or(0));
}

// By the holder of the write role, with the pages as they were counted last. What a transaction has
// made since it had `pages_before` pages goes to the log first: it needs its room twice.
void Writer::Impl::look_at_space(uint64_t pages_before) {
  space.note_pages((pages - std::min(pages, free_pages)) * page_bytes, free_pages * page_bytes);
  struct stat info{};
  if (stat(options.path.c_str(), &info) != 0) return;
  const uint64_t bytes = pages * page_bytes;
  const uint64_t made = pages - std::min(pages, pages_before);
  space.note_owed(bytes - std::min(bytes, static_cast<uint64_t>(info.st_size)) +
                  made * frame_bytes);
}

// By the holder of the write role, outside a transaction. The log may be what fills the disk, and
// it can be emptied.
void Writer::Impl::make_room(Lock& lock) {
  lock.unlock();
  look_at_space(pages);
  const bool enough = space.above_low_mark();
  lock.lock();
  if (!enough && log_frames > 0) (void)run_checkpoint(lock, SQLITE_CHECKPOINT_TRUNCATE, 0);
}

int64_t Writer::Impl::pages_written() const {
  int current = 0;
  int highest = 0;
  sqlite3_db_status(db.handle(), SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 0);
  return current;
}

// Mutex held. Everything that waits to be acknowledged waits for the next attempt to recover.
void Writer::Impl::set_failed(const Error& error) {
  if (!failed) {
    failed = error;
    retry_pause = kFirstRetry;
  }
  next_retry = std::chrono::steady_clock::now();
  last_retry = {};
  for (auto& unit : std::exchange(unsynced, {})) suspended.push_back(std::move(unit));
}

// By the holder of the write role, outside a transaction. A pass that ends before the end of the
// log does not sync the database, and SQLite counts its pages as taken over. When a later sync
// fails, the kernel forgets that these pages were never written. The log still has them: they are
// written again, with the very bytes that readers see there, and the next sync covers them.
Result<void> Writer::Impl::rewrite_backfilled(Lock& lock) {
  lock.unlock();
  const std::lock_guard one(checkpoint_mutex);
  lock.lock();
  // Only now: a pass that was under way has said how far it came. Older versions of pages that it
  // took over must not come back.
  const uint64_t frames = backfilled_frames;
  // A transaction that failed may have begun a new log before. Its frames are no part of any
  // commit, and all of the old log was taken over and synced.
  const bool same_log = read_log_sequence() == log_sequence;
  lock.unlock();
  Result<void> result;
  if (same_log && frames > 0) result = rewrite_frames(db.handle(), wal.get(), frames, page_bytes);
  lock.lock();
  return result;
}

// By the holder of the write role, outside a transaction. After a failed write or sync the kernel
// may hold pages of the log that are not on disk and will never be written again. So the log is
// not used any more: all of it goes to the database, that is synced, and a new log begins.
void Writer::Impl::recover(Lock& lock) {
  Result<void> result = rewrite_backfilled(lock);
  if (result) result = truncate_log(lock);
  if (result) {
    lock.unlock();
    result = sync_database(db.handle());
    lock.lock();
  }
  last_retry = std::chrono::steady_clock::now();
  std::vector<Committed> waiting = std::exchange(suspended, {});
  Result<void> answer;
  if (result) {
    failed.reset();
    synced_commits = commits;
  } else {
    // These say what is to be done.
    const Code now = result.error().code;
    if (failed && (now == Code::no_space || now == Code::read_only)) failed = result.error();
    next_retry = last_retry + retry_pause;
    retry_pause = std::min<std::chrono::milliseconds>(retry_pause * 2, kLongestRetry);
    answer = failed ? std::unexpected(*failed) : std::unexpected(result.error());
  }
  lock.unlock();
  for (auto& unit : waiting) unit.done(answer, unit.changes);
  waiting.clear();
  lock.lock();
}

Result<void> Writer::Impl::run_checkpoint(Lock& lock, int mode, int wait_ms) {
  lock.unlock();
  const std::lock_guard one(checkpoint_mutex);
  int frames = -1;
  int backfilled = -1;
  sqlite3_busy_timeout(db.handle(), wait_ms);
  const int rc = sqlite3_wal_checkpoint_v2(db.handle(), nullptr, mode, &frames, &backfilled);
  Result<void> result;
  bool lost_pages = false;
  if (rc != SQLITE_OK) {
    result = std::unexpected(db.error("checkpoint of the store"));
    lost_pages = failed_in_sync(db.handle());
  }
  sqlite3_busy_timeout(db.handle(), kBusyTimeoutMs);
  lock.lock();
  frames_since_pass = 0;
  if (frames >= 0 && backfilled >= 0) {
    log_frames = static_cast<uint64_t>(frames);
    backfilled_frames = static_cast<uint64_t>(backfilled);
    if (backfilled == frames) space.note_owed(0);
  }
  if (lost_pages) ++failed_syncs;
  note_checkpoint(result, lost_pages);
  return result;
}

Result<void> Writer::Impl::truncate_log(Lock& lock) {
  auto result = run_checkpoint(lock, SQLITE_CHECKPOINT_TRUNCATE, kReaderWaitMs);
  if (!result && result.error().code == Code::no_space && space.drop_reserve())
    result = run_checkpoint(lock, SQLITE_CHECKPOINT_TRUNCATE, kReaderWaitMs);
  return result;
}

// What the end of a checkpoint says about the store. Mutex held.
void Writer::Impl::note_checkpoint(const Result<void>& result, bool lost_pages) {
  if (result || result.error().code == Code::busy) return;
  if (result.error().code == Code::no_space && !lost_pages) {
    // The log still holds everything: nothing is lost, and only growth must end.
    space.note_full();
    return;
  }
  set_failed(result.error());
}

// By the holder of the write role before each batch.
void Writer::Impl::bound_log(Lock& lock) {
  const bool drained = backfilled_frames >= log_frames;
  pinned = false;
  if (log_bytes() >= options.wal_hard_bytes && !drained) {
    const auto result = run_checkpoint(lock, SQLITE_CHECKPOINT_RESTART, kReaderWaitMs);
    pinned = !result && result.error().code == Code::busy;
  } else if (restart_wanted || (!held.empty() && frames_since_pass == 0 && over_soft())) {
    (void)run_checkpoint(lock, SQLITE_CHECKPOINT_RESTART, 0);
  }
  restart_wanted = false;
  next_held = std::chrono::steady_clock::now() + kFirstRetry;
  release_held();
}

bool Writer::Impl::pass_due(SteadyTime now) const {
  if (failed || frames_since_pass == 0 || now < next_pass) return false;
  // A pass may have taken over a transaction that had been committed and not yet been counted: then
  // the counter says that there is something, and the log is drained.
  if (log_frames <= backfilled_frames) return false;
  // A long log is to be begun anew: passes follow each other, each with less to do, until the rest
  // is small.
  return frames_since_pass >= pass_frames || !held.empty() ||
         log_bytes() > options.wal_restart_bytes;
}

void Writer::Impl::passive_pass(Lock& lock, Database& connection) {
  lock.unlock();
  const std::lock_guard one(checkpoint_mutex);
  lock.lock();
  // The writer may have emptied the log while this thread waited for its turn.
  if (!pass_due(std::chrono::steady_clock::now())) return;
  const uint32_t sequence = log_sequence;
  const uint64_t counted = frames_since_pass;
  lock.unlock();
  int frames = -1;
  int backfilled = -1;
  const auto run = [&]() -> Result<void> {
    if (sqlite3_wal_checkpoint_v2(connection.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &frames,
                                  &backfilled) == SQLITE_OK) {
      return {};
    }
    return std::unexpected(connection.error("checkpoint of the store"));
  };
  Result<void> result = run();
  bool lost_pages = !result && failed_in_sync(connection.handle());
  if (!result && !lost_pages && result.error().code == Code::no_space && space.drop_reserve()) {
    result = run();
    lost_pages = !result && failed_in_sync(connection.handle());
  }
  lock.lock();
  if (!result) next_pass = std::chrono::steady_clock::now() + kPassPause;
  if (lost_pages) ++failed_syncs;
  note_checkpoint(result, lost_pages);
  if (failed) work.notify_one();
  if (!result || frames < 0) return;
  frames_since_pass -= counted;  // what was committed meanwhile counts towards the next
  // As soon as a pass has taken over everything, the writer may have begun a new log.
  if (sequence == log_sequence) backfilled_frames = static_cast<uint64_t>(std::max(backfilled, 0));
  // A flood never lets a pass reach the end of the log: the writer does the small rest.
  const uint64_t rest = log_frames - std::min(log_frames, backfilled_frames);
  if (log_bytes() > options.wal_restart_bytes && rest > 0 && rest <= kSmallRestFrames)
    restart_wanted = true;
  if (restart_wanted || !held.empty()) work.notify_one();
}

void Writer::Impl::checkpoint_loop(Database connection) {
  Lock lock(mutex);
  while (!stopping) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (pass_due(now)) {
      passive_pass(lock, connection);
    } else if (now < next_pass) {
      checkpoint_work.wait_until(lock, next_pass);
    } else {
      checkpoint_work.wait(lock);
    }
  }
}

}  // namespace ebla::sqlite
