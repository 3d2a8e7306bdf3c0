// Checking, mending and rescuing a store on disk, without a daemon. What holds in a sound store is
// listed in ebla-store(5).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "schema/base/result.h"

namespace ebla {

struct Problem {
  std::string_view kind;  // one word that never changes, for programs
  std::string path;       // in the tree; "" when none is known
  std::string text;       // one line for people; names the path where it has one
  bool mended = false;
};

struct CheckOptions {
  std::string store;    // the database
  bool repair = false;  // needs the store's lock
  bool quick = false;   // bytes of files are not read: neither sums nor hashes are checked
  // Each problem as it is found, in the caller's thread.
  std::function<void(const Problem&)> found = [](const Problem&) {};
  // What is being done and how far it is; `total` 0: not known.
  std::function<void(std::string_view step, uint64_t done, uint64_t total)> progress =
      [](std::string_view, uint64_t, uint64_t) {};
};

struct CheckReport {
  uint64_t files = 0;
  uint64_t folders = 0;
  uint64_t bytes = 0;     // of contents, read and compared with their sums; 0 when quick
  uint64_t problems = 0;  // found, not counting those that follow from a mend
  uint64_t mended = 0;
  uint64_t left = 0;    // that the store still has
  bool online = false;  // a daemon held the store: read beside it
  std::string kept;     // the damaged database, put aside when it had to be built anew
  std::string note;     // file with a line for each mend; "" when nothing was mended
};

// Reads the whole store once, in bounded memory. Beside a daemon: what is committed, the structure
// in one snapshot and the bytes in slices, so that its log can be shortened. With `repair` each
// mend is one transaction, and none deletes bytes that can be read: what has no place any more goes
// to /lost+found. An unsound store is no error. Errors: file_not_found, store_foreign, store_newer,
// store_locked (repair beside a daemon), permission_denied, no_space, read_only, io_error.
Result<CheckReport> check_store(const CheckOptions& options);

}  // namespace ebla
