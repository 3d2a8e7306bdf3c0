// Bytes of clients' files in the database, on one connection. Private to this folder.
//
// Such a file owns its chunks. A chunk that is not there is a hole; one that is short ends with
// zeros. What a chunk holds beyond the end of its file is zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "schema/change_set.h"
#include "schema/file_plans.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/layer.h"

namespace ebla::sqlite {

// Reads `out.size()` bytes at `offset`. False: a chunk that was read whole does not match its sum.
Result<bool> read_file_content(Database& db, ContentId content, uint64_t offset,
                               std::span<char> out);

// The next data or hole at or after `offset`, by what the chunks hold; nullopt: no data follows.
Result<std::optional<uint64_t>> find_in_content(Database& db, ContentId content, uint64_t offset,
                                                SeekTo to);

// Writes what the layer changes of content, size, times and mode, and answers the node's change
// counter after it; 0 when the node is gone, or has the layer already. io_error: a chunk that must
// be changed is damaged. Names the node in `changes` when its chunks hold another number of bytes
// than the layer has shown.
Result<uint64_t> write_layer(Database& db, Ino ino, const Layer& layer, ChangeSet& changes);

}  // namespace ebla::sqlite
