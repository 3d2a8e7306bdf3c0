#include "schema/sqlite/store_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "schema/base/host_path.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/migrations.h"

namespace ebla::sqlite {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kHeaderBytes = 100;
constexpr size_t kLogHeaderBytes = 32;

using Header = std::array<unsigned char, kHeaderBytes>;

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

Error foreign_error(const std::string& path, std::string_view what) {
  return Error{
      Code::store_foreign,
      fmt::format("{} is {}, not a store of Ebla: nothing was changed; choose another path "
                  "for the store",
                  path, what)};
}

uint64_t page_bytes_of(const Header& header) {
  const uint32_t value = uint32_t{header[16]} << 8 | header[17];
  return value == 1 ? 65536 : value;
}

// The checksum of SQLite's log header, over its first 24 bytes.
bool log_header_valid(const unsigned char* header) {
  const uint32_t magic = big_endian(header);
  if (magic != 0x377F0682 && magic != 0x377F0683) return false;
  uint32_t s0 = 0;
  uint32_t s1 = 0;
  const bool big = (magic & 1) != 0;
  for (size_t i = 0; i < 24; i += 8) {
    uint32_t a = big_endian(header + i);
    uint32_t b = big_endian(header + i + 4);
    if (!big) {
      a = __builtin_bswap32(a);
      b = __builtin_bswap32(b);
    }
    s0 += a + s1;
    s1 += b + s0;
  }
  return s0 == big_endian(header + 24) && s1 == big_endian(header + 28);
}

Result<void> inspect_log(const std::string& path, FileState& state) {
  const std::string log = path + "-wal";
  struct stat info{};
  if (stat(log.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return std::unexpected(errno_error(errno, "look at " + log));
  }
  state.log_empty = info.st_size == 0;
  if (state.log_empty) return {};
  auto file = open_file(log, O_RDONLY | O_NONBLOCK);
  if (!file) return std::unexpected(std::move(file.error()));
  std::array<unsigned char, kLogHeaderBytes> header{};
  auto got = pread_full(file->get(), reinterpret_cast<char*>(header.data()), header.size(), 0);
  if (!got) return std::unexpected(std::move(got.error()));
  const bool zero = std::ranges::all_of(header, [](unsigned char c) { return c == 0; });
  // A power cut while the log began anew leaves zeros or a short header, and nothing to lose.
  if (!zero && *got == header.size() && !log_header_valid(header.data())) {
    state.warning = fmt::format(
        "the log {} ({} bytes) has a damaged header and is not used: changes "
        "of the last seconds before the stop may be missing",
        log, info.st_size);
  }
  return {};
}

Result<void> inspect_header(const std::string& path, const Header& header, size_t got,
                            uint64_t file_bytes, int64_t newest, bool log_empty) {
  const std::string_view start(reinterpret_cast<const char*>(header.data()),
                               std::min(got, kMagic.size()));
  if (start != kMagic.substr(0, start.size())) {
    if (std::ranges::all_of(header, [](unsigned char c) { return c == 0; }))
      return std::unexpected(damaged_error(path, "its first page is empty"));
    return std::unexpected(foreign_error(path, "some other file"));
  }
  if (got < kHeaderBytes) return std::unexpected(damaged_error(path, "it is cut short"));
  if (big_endian(header.data() + 68) != kApplicationId)
    return std::unexpected(foreign_error(path, "a database of another program"));
  const int64_t version = big_endian(header.data() + 60);
  if (version > newest) {
    return fail(Code::store_newer,
                fmt::format("the store {} has version {} and this program knows {}: nothing was "
                            "changed; use a newer Ebla",
                            path, version, newest));
  }
  const uint64_t page_bytes = page_bytes_of(header);
  if (page_bytes < 512 || (page_bytes & (page_bytes - 1)) != 0)
    return std::unexpected(damaged_error(path, "its header is not valid"));
  // While the log holds changes, the database may rightly be shorter than its header says.
  const uint64_t pages = big_endian(header.data() + 28);
  if (log_empty && file_bytes < pages * page_bytes) {
    return std::unexpected(
        damaged_error(path, fmt::format("it has {} bytes of {}", file_bytes, pages * page_bytes)));
  }
  return {};
}

// file: URI of SQLite; immutable: no log, no locks, no file is made.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

Result<void> inspect_schema(const std::string& path) {
  sqlite3* handle = nullptr;
  const int rc =
      sqlite3_open_v2(immutable_uri(path).c_str(), &handle,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> guard(handle, sqlite3_close);
  if (rc == SQLITE_OK && sqlite3_exec(handle, "SELECT count(*) FROM sqlite_schema", nullptr,
                                      nullptr, nullptr) == SQLITE_OK) {
    return {};
  }
  if (handle == nullptr) return fail(Code::unavailable, "open the store: out of memory");
  Error error = database_error(handle, "open the store");
  if (error.code != Code::corrupt) return std::unexpected(std::move(error));
  return std::unexpected(damaged_error(path, sqlite3_errmsg(handle)));
}

void remove_new(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((path + suffix).c_str());
}

Result<void> fill_new(const std::string& path) {
  auto file = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!file) return std::unexpected(std::move(file.error()));
  file->reset();
  auto db = Database::open(path, Database::Mode::read_write);
  if (!db) return std::unexpected(std::move(db.error()));
  // Rollback mode until all is there: then there is no log that would have to be kept.
  auto made = db->exec(fmt::format("PRAGMA page_size=16384; PRAGMA auto_vacuum=INCREMENTAL;"
                                   "PRAGMA journal_mode=MEMORY; PRAGMA application_id={};",
                                   kApplicationId)
                           .c_str());
  if (!made) return made;
  if (auto steps = migrate(*db, migrations()); !steps)
    return std::unexpected(std::move(steps.error()));
  return db->exec("PRAGMA journal_mode=WAL;");
}

}  // namespace

Error damaged_error(const std::string& path, const std::string& reason) {
  return Error{
      Code::store_damaged,
      fmt::format("the store {0} is damaged: {1}; `ebla fsck --repair {0}` mends it and keeps the "
                  "damaged one beside it, `ebla salvage {0} FOLDER` copies its files out",
                  path, reason)};
}

Result<FileState> inspect_store(const std::string& path, int64_t newest_version) {
  FileState state;
  if (auto log = inspect_log(path, state); !log) return std::unexpected(std::move(log.error()));
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return std::unexpected(errno_error(errno, "look at " + path));
  } else if (!S_ISREG(info.st_mode)) {
    return std::unexpected(
        foreign_error(path, S_ISDIR(info.st_mode) ? "a folder" : "no regular file"));
  } else if (info.st_nlink > 1) {
    // Log and lock go by name: two names would be two daemons on one database.
    return fail(
        Code::store_foreign,
        fmt::format("{} has {} hard links: leave it one name, since its log and its lock go "
                    "by the name",
                    path, info.st_nlink));
  }
  if (info.st_size == 0) {
    if (!state.log_empty) {
      return std::unexpected(
          damaged_error(path, "the database is gone and its log " + path + "-wal is still there"));
    }
    return state;
  }
  auto file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file) return std::unexpected(std::move(file.error()));
  Header header{};
  auto got = pread_full(file->get(), reinterpret_cast<char*>(header.data()), header.size(), 0);
  if (!got) return std::unexpected(std::move(got.error()));
  file->reset();
  if (auto known = inspect_header(path, header, *got, static_cast<uint64_t>(info.st_size),
                                  newest_version, state.log_empty);
      !known) {
    return std::unexpected(std::move(known.error()));
  }
  if (state.log_empty) {
    if (auto schema = inspect_schema(path); !schema)
      return std::unexpected(std::move(schema.error()));
  }
  state.exists = true;
  return state;
}

Result<void> create_store(const std::string& path) {
  const std::string fresh = path + ".new";
  remove_new(fresh);
  auto made = fill_new(fresh);
  if (made) {
    auto file = open_file(fresh, O_RDWR);
    if (!file) {
      made = std::unexpected(std::move(file.error()));
    } else if (fsync(file->get()) != 0) {
      made = std::unexpected(errno_error(errno, "sync " + fresh));
    } else if (rename(fresh.c_str(), path.c_str()) != 0) {
      made = std::unexpected(errno_error(errno, "rename " + fresh));
    }
  }
  remove_new(fresh);
  if (!made) return made;
  return sync_folder_of(path);
}

Result<void> sync_folder_of(const std::string& path) {
  auto folder = open_file(folder_of(path), O_RDONLY | O_DIRECTORY);
  if (!folder) return std::unexpected(std::move(folder.error()));
  if (fsync(folder->get()) != 0)
    return std::unexpected(errno_error(errno, "sync the folder of the store"));
  return {};
}

Result<UniqueFd> take_lock(const std::string& path, bool create) {
  const std::string name = path + ".lock";
  for (;;) {
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (create ? O_CREAT : 0);
    UniqueFd lock(open(name.c_str(), flags, 0600));
    if (!lock) {
      if (errno == ENOENT && !create) return UniqueFd{};
      return std::unexpected(errno_error(errno, "open " + name));
    }
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return std::unexpected(errno_error(errno, "lock " + name));
      std::array<char, 24> pid{};
      const size_t got = pread_full(lock.get(), pid.data(), pid.size(), 0).value_or(0);
      std::string_view digits(pid.data(), got);
      digits = digits.substr(0, std::min(digits.find_first_not_of("0123456789"), digits.size()));
      return fail(
          Code::store_locked,
          fmt::format("the store {} is in use by process {}: stop that one or choose another "
                      "store",
                      path, digits.empty() ? std::string_view("unknown") : digits));
    }
    // Whoever was refused may have removed the file between the two calls above.
    struct stat held{};
    struct stat there{};
    if (fstat(lock.get(), &held) != 0)
      return std::unexpected(errno_error(errno, "look at " + name));
    if (stat(name.c_str(), &there) == 0 && there.st_ino == held.st_ino &&
        there.st_dev == held.st_dev) {
      return lock;
    }
  }
}

Result<void> note_holder(const UniqueFd& lock, std::string_view note) {
  std::string text = fmt::format("{}\n", getpid());
  if (!note.empty()) text += fmt::format("{}\n", note);
  if (ftruncate(lock.get(), 0) != 0)
    return std::unexpected(errno_error(errno, "write the lock of the store"));
  return pwrite_full(lock.get(), text, 0);
}

}  // namespace ebla::sqlite
