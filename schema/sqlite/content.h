// Immutable contents, on one connection. Private to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schema/base/limits.h"
#include "schema/model.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite {

inline constexpr int kChunkIndexBits = 24;
inline constexpr uint64_t chunk_key(ContentId content, uint64_t index) {
  return (content << kChunkIndexBits) | index;
}

// Sums of the chunks that `bytes` falls into, which start at a chunk's border.
std::vector<uint64_t> chunk_sums(std::string_view bytes);
// Writes the chunks from the caller's memory, without a copy of it. `offset` is at a chunk's
// border.
Result<void> insert_chunks(Database& db, ContentId content, uint64_t offset, std::string_view bytes,
                           const std::vector<uint64_t>& sums);

struct HeldContent {
  ContentId content = 0;
  uint64_t size = 0;
};
// Contents in use with this hash.
Result<std::vector<HeldContent>> contents_of_hash(Database& db, Hash128 hash);
// Whether the content has just the bytes of `wanted`, staged or not. corrupt: it is damaged, or has
// gone meanwhile. No transaction is longer than 8 MiB of comparing.
Result<bool> equal_bytes(Database& db, const HeldContent& held, const ContentRef& wanted);

// One use more; the row is there.
Result<void> share_content(Database& db, Hash128 hash, ContentId content);
Result<void> add_content(Database& db, SessionId tree, Hash128 hash, ContentId content,
                         uint64_t size);
// One use less; the last one gives its chunks to the list of the freed.
Result<void> release_content(Database& db, Hash128 hash, ContentId content);
// Takes a staged content off the list: its chunks are an own content now. file_not_found.
Result<uint64_t> staged_size(Database& db, ContentId content);
Result<void> unstage(Database& db, ContentId content);
// A staged content that nobody wants goes to the list of the freed. Fine when there is none.
Result<void> drop_staged(Database& db, ContentId content);
// Deletes at most 1 MiB of freed chunks. True: there is more to do.
Result<bool> free_step(Database& db);
// One step of giving free pages back to the file system, which sees them gone at the next
// checkpoint; false when few enough are left.
Result<bool> vacuum_step(Database& db);

// Reads `out.size()` bytes at `offset`, all of which the content should have. False: a chunk is
// missing, or its sum does not match. Sums are checked for chunks that are read whole.
Result<bool> read_content(Database& db, ContentId content, uint64_t offset, std::span<char> out);

}  // namespace ebla::sqlite
