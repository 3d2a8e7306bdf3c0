// A database whose pages are damaged, built anew from the rows that can be read. Private to this
// folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schema/base/result.h"

namespace ebla::sqlite::check {

struct Rebuilt {
  uint64_t rows = 0;
  std::string kept;                // the damaged database, whose log is beside it
  std::vector<std::string> notes;  // what could not be read
};

// When a rebuild was interrupted between the damaged database and the new one: gives the damaged
// one its log back and takes its second name away. Under the store's lock.
void undo_interrupted(const std::string& path);

// The caller holds the store's lock. The damaged files keep their bytes and get other names; the
// new database takes the old one's name in one step. store_foreign when no row is found, or when
// `foreign` and the header is not what is damaged: nothing was changed then. no_space, io_error:
// nothing was changed either.
Result<Rebuilt> rebuild_store(const std::string& path, bool foreign,
                              const std::function<void(uint64_t done, uint64_t total)>& progress);

}  // namespace ebla::sqlite::check
