// Contents that arrive in slices.
#include <fmt/format.h>

#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

Result<ContentId> begin_content(Database& db) {
  auto id = next_id(db);
  if (!id) return id;
  if (auto begun = execute(db, "INSERT INTO staged(content, size) VALUES(?, 0)", *id); !begun) {
    return std::unexpected(std::move(begun.error()));
  }
  return id;
}

Result<ContentId> stage_slice(Database& db, ContentId content, uint64_t offset,
                              std::string_view bytes, const std::vector<uint64_t>& sums) {
  if (bytes.size() > limits::kStageSliceBytes) {
    return fail(Code::too_large, fmt::format("a slice has at most {} bytes, this one {}",
                                             limits::kStageSliceBytes, bytes.size()));
  }
  auto have = content == 0 ? Result<uint64_t>(0) : staged_size(db, content);
  if (!have) return have;
  if (offset != *have || *have % limits::kStageSliceBytes != 0) {
    return fail(Code::out_of_range,
                fmt::format("slices come in order, each but the last of {} bytes: {} bytes are "
                            "here, offset {} was given",
                            limits::kStageSliceBytes, *have, offset));
  }
  if (offset + bytes.size() > limits::kFileBytes) {
    return fail(Code::too_large, fmt::format("a file has at most {} bytes", limits::kFileBytes));
  }
  auto id = content == 0 ? begin_content(db) : Result<ContentId>(content);
  if (!id) return id;
  if (auto stored = insert_chunks(db, *id, offset, bytes, sums); !stored) {
    return std::unexpected(std::move(stored.error()));
  }
  if (auto grown =
          execute(db, "UPDATE staged SET size = ? WHERE content = ?", offset + bytes.size(), *id);
      !grown) {
    return std::unexpected(std::move(grown.error()));
  }
  return id;
}

}  // namespace

void SqliteStore::stage(ContentId content, uint64_t offset, std::string bytes,
                        ChangeOptions options, Completion<ContentId> done) {
  std::vector<uint64_t> sums = chunk_sums(bytes);  // here, and not on the writer's time
  change(options, Growth::yes, std::move(done),
         [content, offset, bytes = std::move(bytes), sums = std::move(sums)](
             Database& db, ChangeSet&) { return stage_slice(db, content, offset, bytes, sums); });
}

void SqliteStore::discard(ContentId content, ChangeOptions options, Completion<void> done) {
  change(options, Growth::no, std::move(done),
         [content](Database& db, ChangeSet&) { return drop_staged(db, content); });
}

}  // namespace ebla::sqlite
