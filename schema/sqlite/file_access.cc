// Reading and writing the content of files: the database with the overlay on it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "schema/base/limits.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/file_content.h"
#include "schema/sqlite/history.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/sqlite_store.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

// What reading needs of a row.
struct FileRow {
  NodeKind kind = NodeKind::file;
  uint64_t size = 0;
  ContentId content = 0;
  bool whole = false;    // its bytes have no holes
  bool history = false;  // `content` is the number of its session
};

FileRow to_file_row(const Statement& row) {
  return {.kind = static_cast<NodeKind>(row.int64(0)),
          .size = row.uint64(1),
          .content = row.uint64(2),
          .whole = (row.int64(3) & kNodeProtected) != 0,
          // No content has the number of a session.
          .history = row.uint64(2) != 0 && row.uint64(2) == row.uint64(4)};
}

constexpr const char* kFileRow =
    "SELECT kind, size, content, flags, session FROM inodes WHERE ino = ?";

Error is_folder(Ino ino) {
  return {Code::is_directory, fmt::format("node {} is a directory", ino)};
}

// The row of a node that is no folder; the statement stays on it.
Result<FileRow> file_row(Statement& row, Ino ino) {
  auto found = row.step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::unexpected(no_such_node(ino));
  const FileRow file = to_file_row(row);
  if (file.kind == NodeKind::directory) return std::unexpected(is_folder(ino));
  return file;
}

// The nearest data or hole, of what the layers say and of what lies below them.
Result<uint64_t> seek_in(Database& db, const FileRow& file, const Overlay::Outline& outline,
                         uint64_t offset, SeekTo to) {
  const auto below = [&](uint64_t at, SeekTo what) -> Result<std::optional<uint64_t>> {
    auto found = find_in_content(db, file.content, at, what);
    if (!found || !*found) return found;
    if (what == SeekTo::data && **found >= outline.cut) return std::nullopt;
    if (what == SeekTo::hole && **found > outline.cut) return std::max(at, outline.cut);
    return found;
  };
  if (to == SeekTo::data) {
    auto nearest = below(offset, to);
    if (!nearest) return std::unexpected(std::move(nearest.error()));
    uint64_t at = nearest->value_or(outline.size);
    for (const auto& [start, end] : outline.data) {
      if (end > offset) at = std::min(at, std::max(start, offset));
    }
    if (at < outline.size) return at;
    return fail(Code::no_data, "no data follows");
  }
  uint64_t at = offset;
  for (bool moved = true; moved && at < outline.size;) {
    auto hole = below(at, to);
    if (!hole) return std::unexpected(std::move(hole.error()));
    uint64_t next = hole->value_or(at);
    for (const auto& [start, end] : outline.data) {
      if (start <= next && next < end) next = end;
    }
    moved = next > at;
    at = next;
  }
  return std::min(at, outline.size);
}

}  // namespace

Result<size_t> SqliteStore::read_row(Ino ino, uint64_t offset, std::span<char> out) {
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  size_t count = 0;
  bool sound = true;
  {
    // The statement stays open: node and chunks are read in one state of the database.
    auto row = query(**reader, kFileRow, ino);
    if (!row) return std::unexpected(std::move(row.error()));
    auto found = file_row(*row, ino);
    if (!found) return std::unexpected(std::move(found.error()));
    const FileRow& file = *found;
    if (file.kind != NodeKind::file || offset >= file.size) return size_t{0};
    count = static_cast<size_t>(std::min<uint64_t>(out.size(), file.size - offset));
    const auto read_bytes = file.history ? read_history
                            : file.whole ? read_content
                                         : read_file_content;
    auto read = read_bytes(**reader, file.content, offset, out.first(count));
    if (!read && read.error().code != Code::corrupt) {
      return std::unexpected(std::move(read.error()));
    }
    sound = read && *read;
  }
  if (!sound) return std::unexpected(note_damage(**reader, ino));
  return count;
}

Result<size_t> SqliteStore::read(Ino ino, uint64_t offset, std::span<char> out) {
  for (;;) {
    const Overlay::Glance glance = overlay_.at(ino);
    auto held = read_row(ino, offset, out);
    if (!held) return held;
    size_t count = 0;
    if (overlay_.amend(glance, ino, offset, out, *held, count)) return count;
  }
}

Result<uint64_t> SqliteStore::seek(Ino ino, uint64_t offset, SeekTo to) {
  // What goes from the overlay after this look is in the database by then.
  auto outline = overlay_.outline(ino);
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  auto row = query(**reader, kFileRow, ino);
  if (!row) return std::unexpected(std::move(row.error()));
  auto found = file_row(*row, ino);
  if (!found) return std::unexpected(std::move(found.error()));
  const FileRow& file = *found;
  if (file.kind != NodeKind::file) {
    return fail(Code::invalid_params, fmt::format("node {} is no file: it holds no bytes", ino));
  }
  if (!outline) outline = Overlay::Outline{.size = file.size, .cut = Layer::kUncut, .data = {}};
  if (offset >= outline->size) return fail(Code::no_data, "the file ends before");
  if (file.whole) return to == SeekTo::data ? offset : outline->size;
  return seek_in(**reader, file, *outline, offset, to);
}

void SqliteStore::write(WritePlan plan, std::string_view bytes, ChangeOptions options,
                        Completion<WriteOutcome> done) {
  write_behind_.write(plan, bytes, options, std::move(done));
}

void SqliteStore::allocate(AllocatePlan plan, ChangeOptions options, Completion<void> done) {
  write_behind_.allocate(plan, options, std::move(done));
}

void SqliteStore::flush(Ino ino, ChangeOptions options, Completion<void> done) {
  write_behind_.flush(ino, options, std::move(done));
}

// One after the other, holes as such.
Result<WriteBehind::Segments> SqliteStore::read_segments(const CopyPlan& plan, uint64_t count) {
  WriteBehind::Segments segments;
  const uint64_t end = plan.from_offset + count;
  for (uint64_t at = plan.from_offset; at < end;) {
    auto data = seek(plan.from, at, SeekTo::data);
    if (!data && data.error().code != Code::no_data) return std::unexpected(data.error());
    const uint64_t start = data ? std::min(*data, end) : end;
    if (start > at) segments.push_back({.bytes = {}, .zeros = start - at});
    if (start == end) break;
    auto hole = seek(plan.from, start, SeekTo::hole);
    if (!hole && hole.error().code != Code::no_data) return std::unexpected(hole.error());
    const uint64_t stop = hole ? std::min(*hole, end) : end;
    Layer::Extent segment{.bytes = std::string(stop - start, '\0'), .zeros = 0};
    // What has been cut meanwhile reads as zeros.
    auto read = this->read(plan.from, start, segment.bytes);
    if (!read) return std::unexpected(std::move(read.error()));
    if (stop > start) segments.push_back(std::move(segment));
    at = std::max(stop, start + 1);
  }
  return segments;
}

void SqliteStore::copy_range(CopyPlan plan, ChangeOptions options, Completion<uint64_t> done) {
  const auto segments = [&]() -> Result<WriteBehind::Segments> {
    auto from = getattr(plan.from);
    if (!from) return std::unexpected(std::move(from.error()));
    if (from->kind == NodeKind::directory) return std::unexpected(is_folder(plan.from));
    if (from->kind != NodeKind::file) {
      return fail(Code::invalid_params, fmt::format("node {} is no file", plan.from));
    }
    const uint64_t left = plan.from_offset < from->size ? from->size - plan.from_offset : 0;
    const uint64_t count = std::min({left, plan.length, limits::kCopyBytes});
    return read_segments(plan, count);
  };
  auto read = segments();
  if (!read) return done(std::unexpected(std::move(read.error())), {});
  write_behind_.copy(plan, std::move(*read), options, std::move(done));
}

void SqliteStore::sync(ChangeOptions options, Completion<void> done) {
  options.durability = Durability::durable;
  write_behind_.flush_all([this, options, done = std::move(done)](Result<void> flushed) mutable {
    if (!flushed) return done(std::move(flushed), {});
    change(options, Growth::no, std::move(done),
           [](Database&, ChangeSet&) -> Result<void> { return {}; });
  });
}

}  // namespace ebla::sqlite
