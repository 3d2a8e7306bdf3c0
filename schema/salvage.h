// Getting files out of a store that is too damaged to be opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "schema/base/result.h"

namespace ebla {

struct SalvageOptions {
  std::string store;   // the database; its log is read where it stands beside it
  std::string folder;  // where to; made, or empty
  // Each loss, as a line for people.
  std::function<void(std::string_view line)> lost = [](std::string_view) {};
  std::function<void(std::string_view step, uint64_t done, uint64_t total)> progress =
      [](std::string_view, uint64_t, uint64_t) {};
};

struct SalvageReport {
  uint64_t files = 0;  // written, links and special files counted
  uint64_t folders = 0;
  uint64_t bytes = 0;
  uint64_t damaged = 0;  // files of which some bytes are missing or not what they were
  uint64_t losses = 0;   // lines told
  std::string tree;      // FOLDER/tree: the files
  std::string list;      // FOLDER/report.txt: what could not be read, and why
};

// Reads the pages themselves, without SQLite and without the store's lock, and never writes to the
// store. Names, modes, times, owners and attributes are given where they are known and may be
// given; what lies nowhere any more is in tree/lost+found. Bytes that are missing are zeros, and
// told. Errors: file_not_found, store_foreign, already_exists (the folder has entries), and
// whatever the disk answers where the files are written.
Result<SalvageReport> salvage_store(const SalvageOptions& options);

}  // namespace ebla
