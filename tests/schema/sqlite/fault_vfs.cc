#include "tests/schema/sqlite/fault_vfs.h"

#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "schema/base/fd.h"

namespace ebla::sqlite::test {
namespace {

constexpr uint64_t kSectorBytes = 512;
thread_local int last_errno = 0;

void apply(std::string& content, uint64_t offset, const char* data, size_t size) {
  if (content.size() < offset + size) content.resize(offset + size);
  std::memcpy(content.data() + offset, data, size);
}

std::string load(const std::filesystem::path& path) {
  return read_file(path.string(), size_t{1} << 30).value();
}

int errno_of(FaultVfs::Fault fault) {
  switch (fault) {
    case FaultVfs::Fault::full:
      return ENOSPC;
    case FaultVfs::Fault::read_only:
      return EROFS;
    default:
      return EIO;
  }
}

class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435761u + 12345) {}
  uint32_t next(uint32_t below) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 16) % below;
  }

 private:
  uint32_t state_;
};

}  // namespace

// SQLite's view of an open file, followed in memory by that of the real file system.
struct FaultVfs::Handle {
  sqlite3_file base;
  FaultVfs* owner;
  const char* path;       // SQLite keeps it while the file is open
  uint64_t failure_told;  // the newest that it need not be told of

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  static Handle& of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
  static sqlite3_file* real_of(sqlite3_file* file) { return of(file).real(); }
  static const sqlite3_io_methods* io(sqlite3_file* file) { return real_of(file)->pMethods; }
};

FaultVfs::FaultVfs(std::string folder) : folder_(std::move(folder)) {
  sqlite3_initialize();
  real_ = sqlite3_vfs_find("unix");
  vfs_ = *real_;
  vfs_.zName = "ebla-fault";
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(Handle)) + real_->szOsFile;
  vfs_.xOpen = open;
  vfs_.xGetLastError = [](sqlite3_vfs* vfs, int size, char* text) {
    if (last_errno != 0) return last_errno;
    auto* real = static_cast<FaultVfs*>(vfs->pAppData)->real_;
    return real->xGetLastError(real, size, text);
  };

  methods_.iVersion = 2;  // without mapped reads
  methods_.xClose = [](sqlite3_file* f) { return Handle::io(f)->xClose(Handle::real_of(f)); };
  methods_.xRead = [](sqlite3_file* f, void* data, int size, sqlite3_int64 offset) {
    return Handle::of(f).owner->read(Handle::of(f), data, size, offset);
  };
  methods_.xWrite = [](sqlite3_file* f, const void* data, int size, sqlite3_int64 offset) {
    return Handle::of(f).owner->write(Handle::of(f), data, size, offset);
  };
  methods_.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
    return Handle::of(f).owner->truncate(Handle::of(f), size);
  };
  methods_.xSync = [](sqlite3_file* f, int flags) {
    return Handle::of(f).owner->sync(Handle::of(f), flags);
  };
  methods_.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
    return Handle::io(f)->xFileSize(Handle::real_of(f), size);
  };
  methods_.xLock = [](sqlite3_file* f, int l) {
    return Handle::io(f)->xLock(Handle::real_of(f), l);
  };
  methods_.xUnlock = [](sqlite3_file* f, int l) {
    return Handle::io(f)->xUnlock(Handle::real_of(f), l);
  };
  methods_.xCheckReservedLock = [](sqlite3_file* f, int* out) {
    return Handle::io(f)->xCheckReservedLock(Handle::real_of(f), out);
  };
  methods_.xFileControl = [](sqlite3_file* f, int op, void* argument) {
    return Handle::io(f)->xFileControl(Handle::real_of(f), op, argument);
  };
  methods_.xSectorSize = [](sqlite3_file* f) {
    return Handle::io(f)->xSectorSize(Handle::real_of(f));
  };
  methods_.xDeviceCharacteristics = [](sqlite3_file* f) {
    return Handle::io(f)->xDeviceCharacteristics(Handle::real_of(f));
  };
  methods_.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
    const int rc = Handle::io(f)->xShmMap(Handle::real_of(f), page, size, extend, out);
    if (rc == SQLITE_OK && page == 0) {
      FaultVfs* self = Handle::of(f).owner;
      const std::lock_guard lock(self->mutex_);
      self->log_index_ = *out;
    }
    return rc;
  };
  methods_.xShmLock = [](sqlite3_file* f, int offset, int n, int flags) {
    return Handle::of(f).owner->lock_log(Handle::of(f), offset, n, flags);
  };
  methods_.xShmBarrier = [](sqlite3_file* f) { Handle::io(f)->xShmBarrier(Handle::real_of(f)); };
  methods_.xShmUnmap = [](sqlite3_file* f, int remove) {
    return Handle::io(f)->xShmUnmap(Handle::real_of(f), remove);
  };
  sqlite3_vfs_register(&vfs_, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, 1);
}

int FaultVfs::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  auto* self = static_cast<FaultVfs*>(vfs->pAppData);
  Handle& handle = Handle::of(file);
  handle = {{nullptr}, self, name, 0};
  if (name != nullptr) {
    const std::lock_guard lock(self->mutex_);
    handle.failure_told = self->failures_;
  }
  std::memset(handle.real(), 0, static_cast<size_t>(self->real_->szOsFile));
  const int rc = self->real_->xOpen(self->real_, name, handle.real(), flags, out);
  if (handle.real()->pMethods != nullptr) handle.base.pMethods = &self->methods_;
  return rc;
}

void FaultVfs::arm(Fault fault, uint64_t nth) {
  const std::lock_guard lock(mutex_);
  files_.clear();
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().string();
    if (!name.ends_with("-shm") && !name.ends_with(".reserve"))
      files_[name].durable = load(entry.path());
  }
  fault_ = fault;
  nth_ = nth;
  count_ = 0;
  reads_ = 0;
  fired_ = false;
}

uint64_t FaultVfs::operations() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

uint64_t FaultVfs::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

bool FaultVfs::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

uint64_t FaultVfs::passes() const {
  const std::lock_guard lock(mutex_);
  return passes_;
}

uint64_t FaultVfs::drained_passes() const {
  const std::lock_guard lock(mutex_);
  return drained_passes_;
}

// The layout is SQLite's: mxFrame at 16 in the header, nBackfill behind the two copies of it.
void FaultVfs::look_at_log() {
  const std::lock_guard lock(mutex_);
  ++passes_;
  if (log_index_ == nullptr) return;
  const auto* words = static_cast<const volatile uint32_t*>(log_index_);
  if (words[24] >= words[4]) ++drained_passes_;
}

int FaultVfs::lock_log(Handle& handle, int offset, int count, int flags) {
  constexpr int kWriteLock = 0;
  constexpr int kCheckpointLock = 1;
  constexpr int kFirstReadLock = 3;
  thread_local bool has_written = false;
  const bool taken = (flags & SQLITE_SHM_LOCK) != 0;
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  const bool pass = std::string_view(name) == kPassThread;
  if (pass && offset == kCheckpointLock && taken) {
    at_moment(Moment::pass_begins);
    look_at_log();
  }
  const int rc = handle.real()->pMethods->xShmLock(handle.real(), offset, count, flags);
  if (pass && offset == kCheckpointLock && !taken) at_moment(Moment::pass_ended);
  // A transaction gives back the write lock first, and then the lock that keeps a pass from
  // taking over what it wrote.
  if (!pass && offset == kWriteLock) has_written = true;
  if (!pass && offset >= kFirstReadLock && !taken && std::exchange(has_written, false))
    at_moment(Moment::committed);
  return rc;
}

FaultVfs::Verdict FaultVfs::next(bool write) {
  ++count_;
  last_errno = 0;
  if (fault_ == Fault::none || reads_fail() || count_ < nth_) return Verdict::go;
  const bool lasts = fault_ == Fault::crash || fault_ == Fault::read_only;
  if (!lasts && count_ != nth_) return Verdict::go;
  const bool first = !fired_;
  fired_ = true;
  last_errno = errno_of(fault_);
  errno = last_errno;
  const bool tears = fault_ == Fault::crash || fault_ == Fault::torn;
  return tears && write && first ? Verdict::torn : Verdict::fail;
}

int FaultVfs::read(Handle& handle, void* data, int size, int64_t offset) {
  {
    const std::lock_guard lock(mutex_);
    last_errno = 0;
    if (++reads_ == nth_ && reads_fail()) {
      fired_ = true;
      if (fault_ == Fault::read) {
        last_errno = EIO;
        return SQLITE_IOERR_READ;
      }
      std::memset(data, 0, static_cast<size_t>(size));  // as SQLite wants it at the end of a file
      return SQLITE_IOERR_SHORT_READ;
    }
  }
  return handle.real()->pMethods->xRead(handle.real(), data, size, offset);
}

int FaultVfs::error_code(int io_error) {
  return fault_ == Fault::full ? SQLITE_FULL : io_error;
}

int FaultVfs::write(Handle& handle, const void* data, int size, int64_t offset) {
  const std::lock_guard lock(mutex_);
  const Verdict verdict = next(true);
  if (verdict == Verdict::fail) return error_code(SQLITE_IOERR_WRITE);
  // A torn write ends in the middle of a sector.
  const int part = verdict == Verdict::torn ? size / 2 + 7 : size;
  const int take = part < size ? part : size;
  const int rc = handle.real()->pMethods->xWrite(handle.real(), data, take, offset);
  if (rc != SQLITE_OK) return rc;
  files_[handle.path].unsynced.push_back(
      {false, static_cast<uint64_t>(offset),
       std::string(static_cast<const char*>(data), static_cast<size_t>(take))});
  return verdict == Verdict::torn ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

int FaultVfs::truncate(Handle& handle, int64_t size) {
  const std::lock_guard lock(mutex_);
  if (next(false) != Verdict::go) return error_code(SQLITE_IOERR_TRUNCATE);
  files_[handle.path].unsynced.push_back({true, static_cast<uint64_t>(size), {}});
  return handle.real()->pMethods->xTruncate(handle.real(), size);
}

// True: the file is on disk as it is. Mutex held.
bool FaultVfs::sync_model(const std::string& path, uint64_t& told) {
  const Verdict verdict = next(false);
  File& file = files_[path];
  if (verdict == Verdict::go) {
    for (const Operation& one : file.unsynced) {
      if (one.truncation) {
        file.durable.resize(one.offset);
      } else {
        apply(file.durable, one.offset, one.bytes.data(), one.bytes.size());
      }
    }
  }
  // After a failed sync the kernel takes the pages for written: they are lost. A machine that has
  // stopped may still find them on its disk.
  if (verdict == Verdict::go || fault_ != Fault::crash) file.unsynced.clear();
  if (verdict != Verdict::go) file.failure = ++failures_;
  if (told >= file.failure) return true;
  told = file.failure;
  last_errno = errno_of(fault_);
  errno = last_errno;
  return false;
}

int FaultVfs::sync(Handle& handle, int flags) {
  at_moment(Moment::syncs);
  const std::lock_guard lock(mutex_);
  if (!sync_model(handle.path, handle.failure_told))
    return SQLITE_IOERR_FSYNC;  // also for ENOSPC, as "unix" does
  (void)flags;                  // the real sync would only cost time
  return SQLITE_OK;
}

int FaultVfs::sync_log(const std::string& path) {
  at_moment(Moment::syncs);
  const std::lock_guard lock(mutex_);
  if (sync_model(path, log_failure_told_)) return 0;
  return errno_of(fault_);
}

void FaultVfs::power_cut(const std::string& folder, uint32_t seed) const {
  const std::lock_guard lock(mutex_);
  Random random(seed);
  std::filesystem::create_directories(folder);
  for (const auto& [path, file] : files_) {
    std::string content = file.durable;
    for (const Operation& one : file.unsynced) {
      const uint32_t choice = seed == 0 ? 0 : random.next(4);
      if (choice == 0) continue;
      if (one.truncation) {
        content.resize(one.offset);
        continue;
      }
      const size_t size = one.bytes.size();
      size_t end = size;
      if (choice == 2 && size > kSectorBytes)
        end = kSectorBytes * (1 + random.next(static_cast<uint32_t>(size / kSectorBytes)));
      for (size_t at = 0; at < std::min(end, size); at += kSectorBytes) {
        if (choice == 3 && random.next(2) == 0) continue;
        apply(content, one.offset + at, &one.bytes[at], std::min(kSectorBytes, size - at));
      }
    }
    std::ofstream(folder + "/" + std::filesystem::path(path).filename().string(), std::ios::binary)
        << content;
  }
}

}  // namespace ebla::sqlite::test
