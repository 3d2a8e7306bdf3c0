// Looks at the files of a store without touching them, and makes a new one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/base/fd.h"
#include "schema/base/result.h"

namespace ebla::sqlite {

struct FileState {
  bool exists = false;    // there is a store; false: nothing, or an empty file
  bool log_empty = true;  // no log, or one without a byte: the last daemon stopped in order
  std::string warning;    // one sentence: a log that cannot be read
};

// store_foreign, store_newer, store_damaged, permission_denied. By reads alone.
Result<FileState> inspect_store(const std::string& path, int64_t newest_version);

// Makes the store under another name, with all migrations, syncs it and renames it: a crash half
// way leaves no store. The folder must be locked by the caller.
Result<void> create_store(const std::string& path);

// Takes STORE.lock. store_locked names the process that holds it. An empty descriptor when the file
// is not there and `create` is false. Nothing is written; see note_holder.
Result<UniqueFd> take_lock(const std::string& path, bool create);
// Writes the process id, and a line of the holder's own, into the lock that this process holds.
Result<void> note_holder(const UniqueFd& lock, std::string_view note = {});

Result<void> sync_folder_of(const std::string& path);

// "the store PATH is damaged: REASON; …" with what to do.
Error damaged_error(const std::string& path, const std::string& reason);

}  // namespace ebla::sqlite
