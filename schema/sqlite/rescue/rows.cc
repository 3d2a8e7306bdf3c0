#include "schema/sqlite/rescue/rows.h"

#include <algorithm>
#include <cstring>

namespace ebla::sqlite {
namespace {

constexpr size_t kMaxColumns = 64;
constexpr uint64_t kMaxPayload = 64u << 20;  // longer rows than any the store has
constexpr int kMaxDepth = 24;

uint32_t u16(const unsigned char* at) {
  return uint32_t{at[0]} << 8 | at[1];
}
uint32_t u32(const unsigned char* at) {
  return u16(at) << 16 | u16(at + 2);
}

// A number of SQLite's variable length; 0 bytes taken: it does not end before `end`.
size_t varint(const unsigned char* at, const unsigned char* end, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < 9; ++i) {
    if (at + i >= end) return 0;
    if (i == 8) {
      value = value << 8 | at[i];
      return 9;
    }
    value = value << 7 | (at[i] & 0x7f);
    if ((at[i] & 0x80) == 0) return i + 1;
  }
  return 0;
}

size_t header_at(uint32_t page) {
  return page == 1 ? 100 : 0;
}

struct Cell {
  uint64_t size = 0;  // of the row
  int64_t rowid = 0;
  size_t at = 0;      // of its bytes within the page
  size_t local = 0;   // how many lie there
  uint32_t next = 0;  // page with the next ones
};

size_t local_bytes(size_t usable, uint64_t size, bool table) {
  const size_t most = table ? usable - 35 : (usable - 12) * 64 / 255 - 23;
  if (size <= most) return size;
  const size_t least = (usable - 12) * 32 / 255 - 23;
  const size_t some = least + (size - least) % (usable - 4);
  return some <= most ? some : least;
}

bool read_cell(PageFile& pages, RowPlace place, Cell& cell) {
  const PageKind kind = page_kind(pages, place.page);
  if (kind == PageKind::none || kind == PageKind::table_inner) return false;
  const unsigned char* page = pages.page(place.page);
  const unsigned char* end = page + pages.usable_bytes();
  const size_t header = header_at(place.page);
  const size_t pointers = header + (kind == PageKind::index_inner ? 12 : 8);
  if (place.cell >= cell_count(pages, place.page)) return false;
  size_t at = u16(page + pointers + size_t{2} * place.cell);
  if (kind == PageKind::index_inner) at += 4;
  if (at < pointers || at >= pages.usable_bytes()) return false;
  size_t taken = varint(page + at, end, cell.size);
  if (taken == 0 || cell.size == 0 || cell.size > kMaxPayload) return false;
  at += taken;
  const bool table = kind == PageKind::table_leaf;
  if (table) {
    uint64_t rowid = 0;
    taken = varint(page + at, end, rowid);
    if (taken == 0) return false;
    cell.rowid = static_cast<int64_t>(rowid);
    at += taken;
  }
  cell.at = at;
  cell.local = local_bytes(pages.usable_bytes(), cell.size, table);
  const bool long_one = cell.local < cell.size;
  if (at + cell.local + (long_one ? 4 : 0) > pages.usable_bytes()) return false;
  cell.next = long_one ? u32(page + at + cell.local) : 0;
  return true;
}

// As much as can be followed.
std::string payload_of(PageFile& pages, RowPlace place, const Cell& cell, bool whole) {
  std::string payload(reinterpret_cast<const char*>(pages.page(place.page)) + cell.at, cell.local);
  if (!whole) return payload;
  payload.reserve(cell.size);
  uint32_t next = cell.next;
  while (payload.size() < cell.size && next != 0) {
    const unsigned char* page = pages.page(next);
    if (page == nullptr) break;
    const size_t count = std::min<uint64_t>(pages.usable_bytes() - 4, cell.size - payload.size());
    payload.append(reinterpret_cast<const char*>(page) + 4, count);
    next = u32(page);
  }
  return payload;
}

// Bytes that a value of this type takes.
uint64_t type_bytes(uint64_t type) {
  constexpr uint64_t kFixed[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < 12 ? kFixed[type] : (type - 12) / 2;
}

RowValue value_of(uint64_t type, std::string_view bytes) {
  RowValue value;
  if (type == 0) return value;
  if (type >= 12) {
    value.kind = type % 2 == 0 ? RowValue::Kind::blob : RowValue::Kind::text;
    value.bytes = bytes;
    return value;
  }
  value.kind = type == 7 ? RowValue::Kind::real : RowValue::Kind::integer;
  if (type >= 8) {
    value.integer = type == 9 ? 1 : 0;
    return value;
  }
  uint64_t number = !bytes.empty() && (bytes.front() & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  value.integer = static_cast<int64_t>(number);
  return value;
}

// `all`: the payload should be the whole row.
bool parse(const std::string& payload, uint64_t full_size, bool all, Row& row) {
  const auto* begin = reinterpret_cast<const unsigned char*>(payload.data());
  const auto* end = begin + payload.size();
  uint64_t header = 0;
  size_t at = varint(begin, end, header);
  if (at == 0 || header > payload.size() || header < at) return false;
  uint64_t body = header;
  while (at < header) {
    uint64_t type = 0;
    const size_t taken = varint(begin + at, begin + header, type);
    if (taken == 0 || type == 10 || type == 11 || row.values.size() == kMaxColumns) return false;
    at += taken;
    const uint64_t size = type_bytes(type);
    if (size > full_size - body) return false;
    const uint64_t there = body < payload.size() ? std::min(size, payload.size() - body) : 0;
    // A number that is not all there is none.
    if (all && there < size && type < 12) return false;
    const std::string_view bytes =
        there == 0 ? std::string_view() : std::string_view(payload).substr(body, there);
    row.values.push_back(value_of(type, bytes));
    row.values.back().cut = there < size;
    body += size;
  }
  return body == full_size;
}

void walk(PageFile& pages, uint32_t number, int depth, bool whole, std::vector<bool>& seen,
          const std::function<void(const Row&)>& each, WalkResult& result) {
  const PageKind kind = page_kind(pages, number);
  if (kind == PageKind::none || depth > kMaxDepth || seen[number]) {
    result.damaged.push_back(number);
    return;
  }
  seen[number] = true;
  if (kind == PageKind::table_inner || kind == PageKind::index_inner) {
    std::vector<uint32_t> below;
    const unsigned char* page = pages.page(number);
    const size_t header = header_at(number);
    const uint16_t cells = cell_count(pages, number);
    for (uint16_t i = 0; i < cells; ++i) {
      const size_t at = u16(page + header + 12 + size_t{2} * i);
      below.push_back(at + 4 <= pages.usable_bytes() ? u32(page + at) : 0);
    }
    below.push_back(u32(page + header + 8));
    for (const uint32_t child : below) {
      walk(pages, child, depth + 1, whole, seen, each, result);
    }
  }
  page_rows(pages, number, whole, each, result);
}

}  // namespace

PageKind page_kind(PageFile& pages, uint32_t number) {
  const unsigned char* page = pages.page(number);
  if (page == nullptr) return PageKind::none;
  switch (page[header_at(number)]) {
    case 0x0d:
      return PageKind::table_leaf;
    case 0x05:
      return PageKind::table_inner;
    case 0x0a:
      return PageKind::index_leaf;
    case 0x02:
      return PageKind::index_inner;
    default:
      return PageKind::none;
  }
}

uint16_t cell_count(PageFile& pages, uint32_t number) {
  const unsigned char* page = pages.page(number);
  if (page == nullptr) return 0;
  const size_t header = header_at(number);
  const size_t room = (pages.usable_bytes() - header - 12) / 2;
  return static_cast<uint16_t>(std::min<size_t>(u16(page + header + 3), room));
}

bool read_row(PageFile& pages, RowPlace place, bool whole, Row& row) {
  row = {};
  row.place = place;
  Cell cell;
  if (!read_cell(pages, place, cell)) return false;
  row.rowid = cell.rowid;
  // What lies on the page itself tells whether this is a row at all: damaged pages have thousands
  // of cells that lead through half the database.
  row.payload = payload_of(pages, place, cell, false);
  if (!parse(row.payload, cell.size, cell.next == 0, row)) return false;
  if (!whole || cell.next == 0) return true;
  row.values.clear();
  row.payload = payload_of(pages, place, cell, true);
  return parse(row.payload, cell.size, true, row);
}

void page_rows(PageFile& pages, uint32_t number, bool whole,
               const std::function<void(const Row&)>& each, WalkResult& result) {
  if (page_kind(pages, number) == PageKind::table_inner) return;
  const uint16_t cells = cell_count(pages, number);
  Row row;
  for (uint16_t i = 0; i < cells; ++i) {
    if (read_row(pages, {number, i}, whole, row)) {
      each(row);
    } else {
      ++result.bad_rows;
    }
  }
}

WalkResult walk_rows(PageFile& pages, uint32_t root, bool whole, std::vector<bool>& seen,
                     const std::function<void(const Row&)>& each) {
  WalkResult result;
  if (root == 0 || root >= seen.size()) {
    result.damaged.push_back(root);
    return result;
  }
  walk(pages, root, 0, whole, seen, each, result);
  return result;
}

}  // namespace ebla::sqlite
