#include "schema/sqlite/check/chunk_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/sqlite/check/helpers.h"
#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"

namespace ebla::sqlite::check {
namespace {

using limits::kChunkBytes;

constexpr uint64_t kProgressChunks = 256;

constexpr std::string_view kKept =
    "; what is there was kept and is served from now on, with zeros for what is missing";

struct OwnerRow {
  int64_t content = 0;
  Owner kind = Owner::contents;
  uint64_t size = 0;
  std::string hash;
  int64_t ino = 0;
};

struct SectionPart {
  int64_t id = 0;
  uint64_t start = 0;
  uint64_t size = 0;
  std::string hash;
};

Result<bool> settle_content_of(const Mend& mend, const Offender& at) {
  return settle_content(mend, at.id);
}
Result<bool> settle_sections_of(const Mend& mend, const Offender& at) {
  return settle_sections(mend, at.id);
}
Result<bool> settle_file_of(const Mend& mend, const Offender& at) {
  return settle_file(mend, at.id);
}
Result<bool> adopt(const Mend& mend, const Offender& at) {
  auto restored = restore_section(mend, at.id);
  if (!restored || *restored) return restored;
  return adopt_content(mend, at.id);
}

std::string path_of_content(Database& db, const OwnerRow& owner) {
  if (owner.kind == Owner::file) return path_of(db, owner.ino);
  auto row = owner.kind == Owner::sections
                 ? query(db,
                         "SELECT s.history FROM sections x JOIN sessions s ON s.serial = x.session "
                         "WHERE x.content = ? LIMIT 1",
                         owner.content)
                 : query(db, "SELECT ino FROM inodes WHERE content = ? LIMIT 1", owner.content);
  if (!row || !row->step().value_or(false)) return fmt::format("content {}", owner.content);
  return path_of(db, row->int64(0));
}

// All that is seen of one content while its chunks go by.
class Watch {
 public:
  Watch(Database& db, const ChunkPassOptions& options, OwnerRow owner)
      : db_(db), options_(options), owner_(std::move(owner)) {
    if (owner_.kind == Owner::file) load_raw();
    if (owner_.kind == Owner::sections && options_.bytes) load_sections();
  }

  int64_t content() const { return owner_.content; }

  void chunk(uint64_t index, uint64_t length, uint64_t sum, std::string_view bytes) {
    if (owner_.kind == Owner::staged || owner_.kind == Owner::freed) return;
    total_ += length;
    if (options_.bytes && xxh3_64(bytes) != sum) note_bad(index, length);
    if (owner_.kind == Owner::file) return file_chunk(index, length, bytes);
    // Of the others every chunk is there, and full but the last.
    if (index != next_ || (next_ > 0 && last_length_ != kChunkBytes)) gap_ = true;
    next_ = index + 1;
    last_length_ = length;
    if (!options_.bytes) return;
    if (owner_.kind == Owner::contents) hasher_.update(bytes);
    if (owner_.kind == Owner::sections) section_bytes(index * kChunkBytes, bytes);
  }

  void end() {
    switch (owner_.kind) {
      case Owner::contents:
        return end_content();
      case Owner::sections:
        return end_sections();
      case Owner::file:
        return end_file();
      default:
        return;
    }
  }

 private:
  void load_raw() {
    auto row = query(db_, "SELECT raw FROM inodes WHERE ino = ?", owner_.ino);
    if (row && row->step().value_or(false)) raw_ = row->uint64(0);
  }

  void load_sections() {
    auto rows = query(db_,
                      "SELECT id, start, size, hash FROM temp.parts WHERE content = ? "
                      "ORDER BY start, id",
                      owner_.content);
    if (!rows) return;
    while (rows->step().value_or(false)) {
      parts_.push_back({rows->int64(0), rows->uint64(1), rows->uint64(2), rows->string(3)});
    }
  }

  void note_bad(uint64_t index, uint64_t length) {
    if (bad_++ > 0) return;
    bad_from_ = index * kChunkBytes;
    bad_to_ = bad_from_ + length;
  }

  void file_chunk(uint64_t index, uint64_t length, std::string_view bytes) {
    const uint64_t from = index * kChunkBytes;
    if (length == 0 || length > kChunkBytes || from >= owner_.size) {
      beyond_ = true;
    } else if (options_.bytes && from + length > owner_.size) {
      beyond_ = beyond_ ||
                bytes.substr(owner_.size - from).find_first_not_of('\0') != std::string_view::npos;
    }
  }

  void section_bytes(uint64_t at, std::string_view bytes) {
    while (!bytes.empty() && part_ < parts_.size()) {
      const SectionPart& part = parts_[part_];
      if (part.start != part_start_ || at < part_start_) {
        parts_gap_ = true;
        return;
      }
      const uint64_t left = part.start + part.size - at;
      const std::string_view own = bytes.substr(0, std::min<uint64_t>(left, bytes.size()));
      hasher_.update(own);
      bytes.remove_prefix(own.size());
      at += own.size();
      if (own.size() == left) end_part();
    }
  }

  void end_part() {
    const SectionPart& part = parts_[part_];
    if (HashBytes(hasher_.digest()).view() != part.hash) bad_parts_.push_back(part.id);
    hasher_ = Hasher128();
    part_start_ = part.start + part.size;
    ++part_;
  }

  void tell(std::string_view kind, std::string what, int64_t id, MendFunction mend) {
    std::string path = path_of_content(db_, owner_);
    std::string text = path + what;
    const std::string_view done = kind == "raw" || kind == "file_end" ? "" : kKept;
    options_.found({kind, std::move(path), std::move(text), done, id, mend});
  }

  std::string bad_text() const {
    return fmt::format(
        " is damaged: {} of its pieces of 131072 bytes do not match their sums, the "
        "first one at bytes {} to {}",
        bad_, bad_from_, bad_to_);
  }

  void end_content() {
    const int64_t id = owner_.content;
    if (gap_ || total_ != owner_.size) {
      return tell("bytes_missing",
                  fmt::format(" is damaged: {} of its {} bytes are there", total_, owner_.size), id,
                  settle_content_of);
    }
    if (bad_ > 0) return tell("sum", bad_text(), id, settle_content_of);
    if (options_.bytes && HashBytes(hasher_.digest()).view() != owner_.hash) {
      tell("hash", " is damaged: its bytes do not have its hash", id, settle_content_of);
    }
  }

  void end_sections() {
    const int64_t id = owner_.content;
    if (gap_ || total_ != owner_.size) {
      return tell("section_bytes",
                  fmt::format(" is damaged: {} of {} bytes of its content {} are there", total_,
                              owner_.size, id),
                  id, settle_sections_of);
    }
    if (bad_ > 0) return tell("sum", bad_text(), id, settle_sections_of);
    if (!bad_parts_.empty() || parts_gap_ || (options_.bytes && part_ != parts_.size())) {
      tell("section_hash",
           fmt::format(" is damaged: section {} does not have its hash",
                       bad_parts_.empty()
                           ? parts_.empty() ? 0 : parts_[std::min(part_, parts_.size() - 1)].id
                           : bad_parts_.front()),
           id, settle_sections_of);
    }
  }

  void end_file() {
    if (bad_ > 0) tell("sum", bad_text(), owner_.ino, settle_file_of);
    if (beyond_) {
      tell("file_end", fmt::format(" has bytes behind its end at {}", owner_.size), owner_.ino,
           settle_file_of);
    }
    if (raw_ != total_) {
      tell("raw", fmt::format(" takes {} bytes and is said to take {}", total_, raw_), owner_.ino,
           settle_file_of);
    }
  }

  Database& db_;
  const ChunkPassOptions& options_;
  OwnerRow owner_;
  uint64_t raw_ = 0;
  uint64_t total_ = 0;
  uint64_t next_ = 0;
  uint64_t last_length_ = 0;
  bool gap_ = false;
  bool beyond_ = false;
  uint64_t bad_ = 0;
  uint64_t bad_from_ = 0;
  uint64_t bad_to_ = 0;
  Hasher128 hasher_;
  std::vector<SectionPart> parts_;
  size_t part_ = 0;
  uint64_t part_start_ = 0;
  bool parts_gap_ = false;
  std::vector<int64_t> bad_parts_;
};

constexpr const char* kParts =
    "CREATE TEMP TABLE IF NOT EXISTS parts(content INTEGER, start INTEGER, id INTEGER, "
    "size INTEGER, hash BLOB, PRIMARY KEY(content, start, id)) WITHOUT ROWID;"
    "DELETE FROM temp.parts;"
    "INSERT INTO temp.parts SELECT content, start, id, size, hash FROM sections ORDER BY 1, 2, 3;";

// The owners in the order of their contents.
class Owners {
 public:
  static Result<Owners> open(Database& db) {
    auto rows =
        db.prepare("SELECT content, kind, size, hash, ino FROM temp.owners ORDER BY content");
    if (!rows) return std::unexpected(std::move(rows.error()));
    return Owners(std::move(*rows));
  }
  // nullopt: no more.
  Result<std::optional<OwnerRow>> next() {
    // SQLite would begin anew behind the end.
    if (ended_) return std::nullopt;
    auto row = rows_.step();
    if (!row) return std::unexpected(std::move(row.error()));
    ended_ = !*row;
    if (ended_) return std::nullopt;
    return OwnerRow{rows_.int64(0), static_cast<Owner>(rows_.int64(1)), rows_.uint64(2),
                    rows_.string(3), rows_.int64(4)};
  }

 private:
  explicit Owners(Statement rows) : rows_(std::move(rows)) {}
  Statement rows_;
  bool ended_ = false;
};

// Walks owners and chunks side by side.
class Merge {
 public:
  Merge(Database& db, const ChunkPassOptions& options, Owners owners)
      : db_(db), options_(options), owners_(std::move(owners)) {}

  // Makes the watch of this content the current one; owners before it have no chunks.
  Result<void> to(int64_t content) {
    if (watch_ && watch_->content() == content) return {};
    if (auto ended = end_current(); !ended) return ended;
    while (true) {
      if (!ahead_) {
        auto next = owners_.next();
        if (!next) return std::unexpected(std::move(next.error()));
        if (!*next) break;
        ahead_ = std::move(**next);
      }
      if (ahead_->content > content) break;
      watch_.emplace(db_, options_, std::move(*ahead_));
      ahead_.reset();
      if (watch_->content() == content) return {};
      if (auto ended = end_current(); !ended) return ended;
    }
    return {};
  }

  // nullptr: nobody owns it.
  Watch* watch() { return watch_ ? &*watch_ : nullptr; }

 private:
  Result<void> end_current() {
    if (watch_) watch_->end();
    watch_.reset();
    return {};
  }

  Database& db_;
  const ChunkPassOptions& options_;
  Owners owners_;
  std::optional<OwnerRow> ahead_;
  std::optional<Watch> watch_;
};

struct Unowned {
  int64_t content = 0;
  uint64_t bytes = 0;
};

void tell_unowned(const ChunkPassOptions& options, Unowned& unowned) {
  if (unowned.content == 0) return;
  options.found(
      {"unowned", "",
       fmt::format("{} bytes belong to no file (content {})", unowned.bytes, unowned.content),
       "; they are back in their history, or a file of /lost+found", unowned.content, adopt});
  unowned = {};
}

}  // namespace

Result<ChunkTotals> pass_chunks(Database& db, const ChunkPassOptions& options) {
  if (auto made = db.exec(kParts); !made) return std::unexpected(std::move(made.error()));
  auto owners = Owners::open(db);
  if (!owners) return std::unexpected(std::move(owners.error()));
  Merge merge(db, options, std::move(*owners));
  auto rows =
      db.prepare(options.bytes ? "SELECT key, length(bytes), sum, bytes FROM chunks ORDER BY key"
                               : "SELECT key, length(bytes), sum FROM chunks ORDER BY key");
  if (!rows) return std::unexpected(std::move(rows.error()));
  ChunkTotals totals;
  Unowned unowned;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) break;
    const int64_t key = rows->int64(0);
    const int64_t content = key >> kChunkIndexBits;
    if (auto moved = merge.to(content); !moved) return std::unexpected(std::move(moved.error()));
    const uint64_t length = rows->uint64(1);
    if (Watch* watch = merge.watch()) {
      tell_unowned(options, unowned);
      watch->chunk(static_cast<uint64_t>(key) & ((1u << kChunkIndexBits) - 1), length,
                   rows->uint64(2), options.bytes ? rows->bytes(3) : std::string_view());
    } else {
      if (unowned.content != content) tell_unowned(options, unowned);
      unowned.content = content;
      unowned.bytes += length;
    }
    if (options.bytes) totals.bytes += length;
    if (++totals.chunks % kProgressChunks == 0) options.progress(totals.chunks);
  }
  tell_unowned(options, unowned);
  // What comes behind the last chunk has none.
  if (auto moved = merge.to(std::numeric_limits<int64_t>::max()); !moved) {
    return std::unexpected(std::move(moved.error()));
  }
  return totals;
}

}  // namespace ebla::sqlite::check
