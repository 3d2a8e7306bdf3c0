#include "schema/sqlite/rescue/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "schema/sqlite/migrations.h"
#include "schema/sqlite/rescue/shapes.h"

namespace ebla::sqlite {
namespace {

constexpr std::string_view kChunks = "chunks";
constexpr uint64_t kBatchRows = 4096;  // of one transaction of the target
constexpr uint64_t kProgressPages = 64;
constexpr size_t kNamedPages = 8;

// One run.
class Collector {
 public:
  Collector(PageFile& pages, Database& target, const CollectOptions& options,
            std::vector<Shape> shapes)
      : pages_(pages),
        target_(target),
        options_(options),
        shapes_(std::move(shapes)),
        seen_(size_t{pages.count()} + 1) {}

  Result<Collected> run() {
    if (auto begun = target_.exec("BEGIN"); !begun)
      return std::unexpected(std::move(begun.error()));
    found_.notes = pages_.notes();
    find_roots();
    for (const Shape& shape : shapes_) walk_table(shape);
    if (lost_) scan_lost();
    if (failed_) return std::unexpected(std::move(*failed_));
    if (auto done = target_.exec("COMMIT"); !done) return std::unexpected(std::move(done.error()));
    return std::move(found_);
  }

 private:
  // The list of tables, on the first page.
  void find_roots() {
    const auto result = walk_rows(pages_, 1, true, seen_, [&](const Row& row) {
      using enum RowValue::Kind;
      if (row.values.size() != 5 || row.values[0].kind != text || row.values[1].kind != text ||
          row.values[3].kind != integer) {
        return;
      }
      const auto root = static_cast<uint32_t>(row.values[3].integer);
      if (row.values[0].bytes == "table") roots_.emplace(row.values[1].bytes, root);
      if (row.values[0].bytes == "index") indexes_.push_back(root);
    });
    if (!result.damaged.empty() || result.bad_rows > 0) {
      lost_ = true;
      found_.notes.emplace_back(
          "the list of tables is damaged: rows are found by what they look like");
    }
    // Pages of indexes hold rows of no table.
    for (const uint32_t root : indexes_) {
      (void)walk_rows(pages_, root, false, seen_, [](const Row&) {});
    }
  }

  void walk_table(const Shape& shape) {
    const auto root = roots_.find(shape.table);
    if (root == roots_.end()) {
      // One that the store is too old to have is no loss.
      const auto newest = static_cast<uint32_t>(newest_version(migrations()));
      if (pages_.version() > 0 && pages_.version() < newest) return;
      lost_ = true;
      found_.notes.push_back(fmt::format("the table {} is not listed", shape.table));
      return;
    }
    uint64_t odd = 0;
    const auto result = walk_rows(pages_, root->second, whole(shape), seen_, [&](const Row& row) {
      if (shape.fits(row)) {
        insert(shape, row);
      } else {
        ++odd;
      }
    });
    if (!result.damaged.empty()) lost_ = true;
    note_damage(shape.table, result, odd);
  }

  void note_damage(const std::string& table, const WalkResult& result, uint64_t odd) {
    if (!result.damaged.empty()) {
      std::string numbers;
      for (size_t i = 0; i < std::min(kNamedPages, result.damaged.size()); ++i) {
        numbers += fmt::format("{}{}", i == 0 ? "" : ", ", result.damaged[i]);
      }
      if (result.damaged.size() > kNamedPages) numbers += ", …";
      found_.notes.push_back(
          fmt::format("table {}: {} damaged page(s): {}", table, result.damaged.size(), numbers));
    }
    if (result.bad_rows + odd > 0) {
      found_.notes.push_back(fmt::format("table {}: {} row(s) make no sense and are left out",
                                         table, result.bad_rows + odd));
    }
  }

  // Pages that nothing leads to any more.
  void scan_lost() {
    uint64_t rows = 0;
    for (uint32_t number = 2; number <= pages_.count(); ++number) {
      if (number % kProgressPages == 0) options_.progress(number, pages_.count());
      if (seen_[number] || !pages_.may_hold_rows(number)) continue;
      const PageKind kind = page_kind(pages_, number);
      if (kind == PageKind::none || kind == PageKind::table_inner) continue;
      WalkResult ignored;
      page_rows(
          pages_, number, false,
          [&](const Row& row) {
            const Shape* shape = shape_of(row, kind == PageKind::table_leaf);
            if (shape == nullptr) return;
            if (!whole(*shape)) {
              insert(*shape, row);
            } else if (Row all; read_row(pages_, row.place, true, all)) {
              insert(*shape, all);
            } else {
              return;
            }
            ++rows;
          },
          ignored);
    }
    if (rows > 0) {
      found_.notes.push_back(
          fmt::format("{} row(s) were found in pages that nothing leads to", rows));
    }
  }

  // The only table that has such rows; nullptr when there are several, or none. What is derived
  // from others is made anew and not looked for.
  const Shape* shape_of(const Row& row, bool row_ids) const {
    const Shape* found = nullptr;
    for (const Shape& shape : shapes_) {
      if (shape.table == "links" || shape.row_ids != row_ids || !shape.fits(row)) continue;
      if (found != nullptr) return nullptr;
      found = &shape;
    }
    return found;
  }

  bool whole(const Shape& shape) const { return options_.bytes || shape.table != kChunks; }

  void insert(const Shape& shape, const Row& row) {
    if (failed_) return;
    const bool by_place = !options_.bytes && shape.table == kChunks;
    const std::string place = by_place ? place_bytes(row.place) : std::string();
    auto statement = target_.prepare(sql_of(shape, row.values.size()));
    if (!statement) return fail_with(statement.error());
    for (size_t i = 0; i < row.values.size(); ++i) {
      const RowValue& value = row.values[i];
      if (shape.columns[i].is_rowid) {
        statement->bind(row.rowid);
      } else if (value.kind == RowValue::Kind::null) {
        statement->bind_null();
      } else if (value.kind == RowValue::Kind::integer) {
        statement->bind(value.integer);
      } else {
        statement->bind_blob(by_place ? std::string_view(place) : value.bytes);
      }
    }
    if (auto done = statement->run(); !done) return fail_with(done.error());
    if (++found_.rows % kBatchRows != 0) return;
    options_.progress(row.place.page, pages_.count());
    auto next = target_.exec("COMMIT; BEGIN");
    if (!next) fail_with(next.error());
  }

  void fail_with(const Error& error) {
    // What the target's own rules refuse is a row that makes no sense.
    if (error.code == Code::conflict) return;
    failed_ = error;
  }

  // Kept: the cache of statements goes by the address of their text.
  const char* sql_of(const Shape& shape, size_t columns) {
    auto& text = statements_[{shape.table, columns}];
    if (text.empty()) text = shape.insert(columns);
    return text.c_str();
  }

  PageFile& pages_;
  Database& target_;
  const CollectOptions& options_;
  std::vector<Shape> shapes_;
  std::vector<bool> seen_;
  std::map<std::string, uint32_t, std::less<>> roots_;
  std::vector<uint32_t> indexes_;
  std::map<std::pair<std::string, size_t>, std::string> statements_;
  bool lost_ = false;
  Collected found_;
  std::optional<Error> failed_;
};

}  // namespace

Result<Collected> collect_rows(PageFile& pages, Database& target, const CollectOptions& options) {
  auto shapes = shapes_of(target);
  if (!shapes) return std::unexpected(std::move(shapes.error()));
  return Collector(pages, target, options, std::move(*shapes)).run();
}

std::string place_bytes(RowPlace place) {
  std::string bytes(8, '\0');
  const uint64_t packed = uint64_t{place.page} << 16 | place.cell;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(packed >> (8 * i));
  return bytes;
}

RowPlace place_of(std::string_view bytes) {
  uint64_t packed = 0;
  for (size_t i = std::min<size_t>(bytes.size(), 8); i > 0; --i) {
    packed = packed << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return {static_cast<uint32_t>(packed >> 16), static_cast<uint16_t>(packed & 0xffff)};
}

}  // namespace ebla::sqlite
