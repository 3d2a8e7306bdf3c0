// Acknowledging: one fdatasync of the log covers all that was committed before it.
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "schema/sqlite/writer_impl.h"

namespace ebla::sqlite {

int Writer::Impl::sync_file() {
  if (options.sync) return options.sync(wal.get());
  int rc = 0;
  do {
    rc = fdatasync(wal.get());
  } while (rc != 0 && errno == EINTR);
  return rc == 0 ? 0 : errno;
}

// It is always the right file: the log is never unlinked while a connection is open, and it starts
// anew only after a checkpoint has synced it and then the database.
void Writer::Impl::sync_log(Lock& lock) {
  syncing = true;
  std::vector<Committed> batch = std::exchange(unsynced, {});
  const uint64_t target = commits;
  const SteadyTime started = std::chrono::steady_clock::now();
  lock.unlock();
  const int error = sync_file();
  lock.lock();

  Result<void> result;
  if (error != 0) {
    ++failed_syncs;
    Error reason = errno_error(error, "sync the log of the store");
    reason.text += reason.code == Code::read_only
                       ? kWritableAgain
                       : "; the store takes no changes until its disk does: see the system's log";
    set_failed(reason);
    result = std::unexpected(std::move(reason));
  } else if (failed) {
    // Another failure came in between. What is in the log will be acknowledged or refused by the
    // attempt to recover.
    for (auto& unit : batch) suspended.push_back(std::move(unit));
    batch.clear();
  } else {
    synced_commits = target;
    oldest_unsynced = started;
  }
  lock.unlock();
  for (auto& unit : batch) unit.done(result, unit.changes);
  batch.clear();
  lock.lock();
  syncing = false;
  if (stopping) work.notify_all();
}

}  // namespace ebla::sqlite
