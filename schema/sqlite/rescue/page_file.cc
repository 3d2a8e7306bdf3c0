#include "schema/sqlite/rescue/page_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "schema/sqlite/migrations.h"

namespace ebla::sqlite {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kHeaderBytes = 100;
constexpr size_t kLogHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr size_t kMapEntryBytes = 5;

uint32_t big_endian(const unsigned char* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

bool page_size_valid(uint32_t bytes) {
  return bytes >= 512 && bytes <= 65'536 && (bytes & (bytes - 1)) == 0;
}

// SQLite's running checksum of its log.
struct LogSum {
  bool big = false;
  uint32_t s0 = 0;
  uint32_t s1 = 0;

  void add(const unsigned char* bytes, size_t size) {
    for (size_t i = 0; i + 8 <= size; i += 8) {
      uint32_t a = big_endian(bytes + i);
      uint32_t b = big_endian(bytes + i + 4);
      if (!big) {
        a = __builtin_bswap32(a);
        b = __builtin_bswap32(b);
      }
      s0 += a + s1;
      s1 += b + s0;
    }
  }
  bool is(const unsigned char* at) const {
    return big_endian(at) == s0 && big_endian(at + 4) == s1;
  }
};

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

Result<PageFile> PageFile::open(const std::string& path) {
  PageFile pages;
  auto file = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return std::unexpected(std::move(file.error()));
  pages.file_ = std::move(*file);
  if (auto read = pages.read_header(path); !read) return std::unexpected(std::move(read.error()));
  if (auto read = pages.read_log(path + "-wal"); !read) {
    return std::unexpected(std::move(read.error()));
  }
  return pages;
}

Result<void> PageFile::read_header(const std::string& path) {
  struct stat info{};
  if (fstat(file_.get(), &info) != 0) {
    return std::unexpected(errno_error(errno, "look at " + path));
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(Code::store_foreign, path + " is no regular file, so it is no store");
  }
  std::array<unsigned char, kHeaderBytes> header{};
  (void)pread_full(file_.get(), reinterpret_cast<char*>(header.data()), header.size(), 0);
  const std::string_view magic(reinterpret_cast<const char*>(header.data()), kMagic.size());
  const uint32_t size = uint32_t{header[16]} << 8 | header[17];
  const uint32_t page_bytes = size == 1 ? 65'536 : size;
  if (magic == kMagic && page_size_valid(page_bytes)) {
    if (big_endian(header.data() + 68) != kApplicationId) {
      return fail(Code::store_foreign,
                  fmt::format("{} is a database of another program, not a store of Ebla", path));
    }
    page_bytes_ = page_bytes;
    usable_bytes_ = page_bytes_ - (header[20] <= 32 ? header[20] : 0);
  } else {
    header_damaged_ = true;
    notes_.push_back("the header of the database is damaged: read as that of any store");
  }
  const auto bytes = static_cast<uint64_t>(info.st_size);
  const uint64_t pages = (bytes + page_bytes_ - 1) / page_bytes_;
  const uint64_t wanted = big_endian(header.data() + 28);
  if (magic == kMagic && wanted > pages) {
    notes_.push_back(fmt::format("the database has {} of its {} pages", pages, wanted));
  }
  count_ =
      static_cast<uint32_t>(std::min<uint64_t>(pages, std::numeric_limits<uint32_t>::max() - 1));
  return {};
}

// Frames count up to the last one that ends a transaction and whose sums are right.
Result<void> PageFile::read_log(const std::string& path) {
  auto log = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!log) {
    if (log.error().code == Code::file_not_found) return {};
    notes_.push_back(fmt::format("the log is not read: {}", log.error().text));
    return {};
  }
  log_ = std::move(*log);
  std::array<unsigned char, kLogHeaderBytes> header{};
  auto got = pread_full(log_.get(), reinterpret_cast<char*>(header.data()), header.size(), 0);
  if (!got || *got == 0) return {};
  LogSum sum{.big = (header[3] & 1) != 0};
  sum.add(header.data(), 24);
  const uint32_t magic = big_endian(header.data());
  if (*got < header.size() || (magic & ~1u) != 0x377F0682 || !sum.is(header.data() + 24) ||
      big_endian(header.data() + 8) != page_bytes_) {
    notes_.push_back(
        "the log has a damaged header and is not used: changes of the last seconds "
        "before the stop may be missing");
    return {};
  }
  std::string frame(kFrameHeaderBytes + page_bytes_, '\0');
  std::map<uint32_t, uint64_t> open;  // of the transaction that has not ended yet
  uint64_t at = kLogHeaderBytes;
  for (;; at += frame.size()) {
    got = pread_full(log_.get(), frame.data(), frame.size(), at);
    if (!got || *got < frame.size()) break;
    const unsigned char* bytes = bytes_of(frame);
    sum.add(bytes, 8);
    sum.add(bytes + kFrameHeaderBytes, page_bytes_);
    if (std::memcmp(bytes + 8, header.data() + 16, 8) != 0 || !sum.is(bytes + 16)) break;
    open[big_endian(bytes)] = at + kFrameHeaderBytes;
    const uint32_t pages = big_endian(bytes + 4);
    if (pages == 0) continue;
    for (const auto& [number, place] : open) in_log_[number] = place;
    open.clear();
    count_ = std::max(count_, pages);
  }
  if (!open.empty()) notes_.push_back("the last transaction of the log is not whole: left out");
  return {};
}

bool PageFile::read_into(uint32_t number, Buffer& buffer) {
  if (number == 0 || number > count_) return false;
  if (buffer.number == number) return buffer.there;
  buffer.number = number;
  buffer.bytes.assign(page_bytes_, '\0');
  const auto logged = in_log_.find(number);
  const bool in_log = logged != in_log_.end();
  const uint64_t at = in_log ? logged->second : uint64_t{number - 1} * page_bytes_;
  const auto got =
      pread_full(in_log ? log_.get() : file_.get(), buffer.bytes.data(), page_bytes_, at);
  // A last page that is cut short still has its begin.
  buffer.there = got && *got > 0;
  return buffer.there;
}

const unsigned char* PageFile::page(uint32_t number) {
  for (Buffer& buffer : buffers_) {
    if (buffer.number == number && number != 0)
      return buffer.there ? bytes_of(buffer.bytes) : nullptr;
  }
  Buffer& buffer = buffers_[next_buffer_];
  next_buffer_ = 1 - next_buffer_;
  return read_into(number, buffer) ? bytes_of(buffer.bytes) : nullptr;
}

uint32_t PageFile::version() {
  const unsigned char* first = page(1);
  return first == nullptr ? 0 : big_endian(first + 60);
}

bool PageFile::may_hold_rows(uint32_t number) {
  if (number <= 1) return number == 1;
  const auto group = static_cast<uint32_t>(usable_bytes_ / kMapEntryBytes + 1);
  const uint32_t map = (number - 2) / group * group + 2;
  if (map == number) return false;
  if (!read_into(map, map_)) return true;
  const unsigned char kind = bytes_of(map_.bytes)[(number - map - 1) * kMapEntryBytes];
  constexpr unsigned char kRoot = 1;
  constexpr unsigned char kNode = 5;
  // 2 free, 3 and 4 parts of a long row; anything else is damage of the map.
  return kind == kRoot || kind == kNode || kind == 0 || kind > kNode;
}

}  // namespace ebla::sqlite
