// Temporary tables that turn questions about all rows into one pass and look-ups. They live outside
// the store, in a file of the system's temporary folder when they are large. Private to this
// folder.
#pragma once

#include <cstdint>
#include <string>

#include "schema/base/result.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite::check {

// Makes or refreshes: names(ino, parent, seq), the entries by node; counts(parent, entries,
// folders); reached(ino), folders below the root; uses(content, nodes), how many nodes have a
// content; owners(content, kind, size, hash, ino), see below.
Result<void> refresh_helpers(Database& db);

// Who a content belongs to. When several claim one, the first of this list counts.
enum class Owner { contents, sections, file, staged, freed };

// Path of the node, by its own row where that is right; at most 64 folders deep, "…" stands before
// deeper ones and loops; "node N" for one without a name.
std::string path_of(Database& db, int64_t ino);

}  // namespace ebla::sqlite::check
