// Limits that whoever runs the daemon sets on what a store may hold, beside those of the disk.
#pragma once

#include <cstdint>

#include "schema/base/result.h"
#include "schema/model.h"

namespace ebla::sqlite {

class Database;
class Overlay;

// 0: no limit.
struct Quotas {
  uint64_t store_bytes = 0;    // pages of the database that are in use: no_space (ENOSPC)
  uint64_t file_bytes = 0;     // length of a file of clients': too_large (EFBIG)
  uint64_t session_bytes = 0;  // lengths of all files of a session tree: quota_exceeded (EDQUOT)
  uint64_t session_files = 0;  // its files and folders: quota_exceeded

  bool of_sessions() const { return session_bytes != 0 || session_files != 0; }
};

// What a session tree holds, by the database. 0 is what belongs to no session: it has no limit.
struct TreeUsage {
  uint64_t files = 0;  // folders, too
  uint64_t bytes = 0;
};
Result<TreeUsage> tree_usage(Database& db, SessionId tree);

// quota_exceeded: the tree holds more than it may.
Result<void> check_tree(const TreeUsage& usage, const Quotas& quotas);
// Bytes that the session tree of a node may still grow by, with what was written and is not
// committed. Who writes to two files of a tree at once may take the same room twice.
Result<uint64_t> tree_left(Database& db, const Overlay& overlay, Ino ino, const Quotas& quotas);
// too_large, quota_exceeded: a file that is `size` long may not become `end` long, in a tree that
// has room for `tree_left` bytes. One that does not grow may stay as it is.
Result<void> check_growth(uint64_t size, uint64_t end, const Quotas& quotas, uint64_t tree_left);

}  // namespace ebla::sqlite
