// Opening a store: who holds it, what it is, where it lies, which version it has. Refuses with a
// code of its own for each reason and touches nothing then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "schema/base/clock.h"
#include "schema/base/fd.h"
#include "schema/base/result.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/quota.h"
#include "schema/store.h"

namespace ebla::sqlite {

struct OpenOptions {
  std::string path;  // absolute
  bool allow_unsafe_filesystem = false;
  uint32_t uid = 0;  // owner of a new store's folders
  uint32_t gid = 0;
  const Clock* clock = nullptr;  // must outlive the store
  Quotas quotas;
  std::string note;  // one line for the lock, beside the process id: where the holder is reached
  // Gets OpenedFile::warning when open_store meets one.
  std::function<void(const std::string& line)> warn;
  // f_type of statfs(2), replaced by tests; nullptr: ask the system.
  std::function<uint64_t(const std::string& folder)> filesystem_type;
  // Writer::Options::sync, replaced by tests; empty: ask the system.
  std::function<int(int fd)> sync;
  uint64_t reserve_bytes = 16u << 20;
  uint64_t low_water_bytes = 64u << 20;
  uint64_t high_water_bytes = 128u << 20;
};

// Holds the lock of the store for its life.
struct OpenedFile {
  UniqueFd lock;
  std::string path;  // the database, symbolic links followed: what to open from here on
  bool created = false;
  bool clean = true;    // the last daemon stopped in order
  std::string warning;  // one line for the log: overlayfs, tmpfs, a damaged log; "" for none
};

// store_locked (names the pid), store_newer, store_foreign, store_damaged, unsafe_filesystem,
// permission_denied, no_space, read_only. Creates folder (0700) and file (0600) when there is none;
// runs migrations when it is older.
Result<OpenedFile> prepare_file(const OpenOptions& options);

// prepare_file, then the engine on it.
Result<std::unique_ptr<Store>> open_store(const OpenOptions& options);

// "tmpfs", "overlayfs", …: a store works there, but does not live long; nullptr for others.
const char* doubtful_filesystem_name(uint64_t f_type);
// Names: "NFS", "9p", … of file systems on which a write-ahead log is not safe; nullptr when it is.
const char* unsafe_filesystem_name(uint64_t f_type);

}  // namespace ebla::sqlite
