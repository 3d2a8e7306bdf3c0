// A layer under SQLite that fails, tears and forgets. It counts every write, truncation and sync of
// the files in one folder, and apart from them every read; the n-th can fail, or be the last that
// the machine does. It knows for every file what a power cut would leave: what was synced, plus any
// part of what was not. As on Linux, what a failed sync was to write is never written again by a
// later one, and everybody who has the file open is told of the failure by a sync of his own, once.
//
// While an object lives it is SQLite's default file system; one at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ebla::sqlite::test {

class FaultVfs {
 public:
  enum class Fault {
    none,
    error,      // the n-th operation fails, all others work
    full,       // the same with ENOSPC
    read_only,  // the n-th operation and all later ones fail with EROFS; nothing is torn
    torn,       // the n-th operation fails; of a write, a part is in the file
    crash,      // the n-th operation and all later ones fail; a write is torn
    read,       // the n-th read fails, all others work
    empty,      // the n-th read finds the end of the file where none is
  };

  explicit FaultVfs(std::string folder);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  // What lies in the folder now counts as synced; operations are counted from 1 from here on.
  void arm(Fault fault, uint64_t nth);
  uint64_t operations() const;
  uint64_t reads() const;
  bool fired() const;

  // Passes: checkpoints by the thread that is called kPassThread. One that begins on a log that is
  // drained already must never happen beside a writer with the SQLite of our day.
  static constexpr char kPassThread[] = "ebla-checkpoint";
  uint64_t passes() const;
  uint64_t drained_passes() const;

  enum class Moment { pass_begins, pass_ended, committed, syncs };
  // On the thread that has come there; what waits in it holds that thread. Before any file is
  // open; a commit is one by another thread than that of the passes. Syncs are those of the
  // database and of the log.
  std::function<void(Moment)> at_moment = [](Moment) {};

  // Writer::Options::sync for the log: 0 or an errno.
  int sync_log(const std::string& path);

  // Writes what a power cut now would leave into another folder. The seed decides which of the
  // unsynced writes reached the disk: whole, up to some sector, or some sectors and not others,
  // whatever was written first; 0: none did.
  void power_cut(const std::string& folder, uint32_t seed) const;

 private:
  struct Operation {
    bool truncation = false;
    uint64_t offset = 0;
    std::string bytes;
  };
  struct File {
    std::string durable;
    std::vector<Operation> unsynced;
    uint64_t failure = 0;  // the number of the last sync that failed
  };
  struct Handle;
  friend struct Handle;

  enum class Verdict { go, fail, torn };
  Verdict next(bool write);  // mutex held
  bool reads_fail() const { return fault_ == Fault::read || fault_ == Fault::empty; }
  int error_code(int io_error);
  int read(Handle& handle, void* data, int size, int64_t offset);
  void look_at_log();
  int lock_log(Handle& handle, int offset, int count, int flags);
  int write(Handle& handle, const void* data, int size, int64_t offset);
  int truncate(Handle& handle, int64_t size);
  int sync(Handle& handle, int flags);
  bool sync_model(const std::string& path, uint64_t& told);
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out);

  const std::string folder_;
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_{};
  sqlite3_io_methods methods_{};
  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  Fault fault_ = Fault::none;
  uint64_t nth_ = 0;
  uint64_t count_ = 0;
  uint64_t failures_ = 0;
  uint64_t log_failure_told_ = 0;  // to sync_log()
  uint64_t reads_ = 0;
  bool fired_ = false;
  const volatile void* log_index_ = nullptr;  // first page of the shared memory
  uint64_t passes_ = 0;
  uint64_t drained_passes_ = 0;
};

}  // namespace ebla::sqlite::test
