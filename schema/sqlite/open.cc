#include "schema/sqlite/open.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "schema/base/host_path.h"
#include "schema/sqlite/migrations.h"
#include "schema/sqlite/store_file.h"

namespace ebla::sqlite {
namespace {

// Two names of one store must meet at one lock and one log: symbolic links are followed here.
std::string resolved(const std::string& path) {
  char buffer[PATH_MAX];
  if (realpath(path.c_str(), buffer) != nullptr) return buffer;
  if (realpath(folder_of(path).c_str(), buffer) == nullptr) return path;
  const std::string folder = buffer;
  return (folder == "/" ? "" : folder) + path.substr(path.rfind('/'));
}

std::string nearest_folder(std::string folder) {
  struct stat info{};
  while (folder != "/" && stat(folder.c_str(), &info) != 0 && errno == ENOENT)
    folder = folder_of(folder);
  return folder;
}

void add_warning(std::string& all, const std::string& one) {
  if (!all.empty() && !one.empty()) all += "; ";
  all += one;
}

Result<uint64_t> filesystem_type(const OpenOptions& options, const std::string& folder) {
  if (options.filesystem_type) return options.filesystem_type(folder);
  struct statfs info{};
  if (statfs(folder.c_str(), &info) != 0)
    return std::unexpected(errno_error(errno, "look at the file system of " + folder));
  // The kernel's numbers have 32 bits; the field is signed and wider.
  return static_cast<uint64_t>(static_cast<uint32_t>(info.f_type));
}

Result<void> check_filesystem(const OpenOptions& options, const std::string& folder,
                              std::string& warning) {
  const auto type = filesystem_type(options, folder);
  if (!type) return std::unexpected(type.error());
  if (const char* name = unsafe_filesystem_name(*type)) {
    if (!options.allow_unsafe_filesystem) {
      return fail(Code::unsafe_filesystem,
                  fmt::format("{} lies on {}, where a store can be damaged: choose a folder on a "
                              "local disk, or allow it with --allow-unsafe-filesystem",
                              folder, name));
    }
    add_warning(warning,
                fmt::format("{} lies on {}: the store can be damaged there", folder, name));
  } else if (const char* doubtful = doubtful_filesystem_name(*type)) {
    add_warning(warning,
                fmt::format("{} lies on {}: the store is gone when that is", folder, doubtful));
  }
  struct statvfs info{};
  if (statvfs(folder.c_str(), &info) == 0 && (info.f_flag & ST_RDONLY) != 0) {
    return fail(
        Code::read_only,
        fmt::format("{} lies on a file system mounted read-only: mount it writable or choose "
                    "another folder",
                    folder));
  }
  return {};
}

Error access_error(int number, const std::string& path) {
  if (number == EROFS) {
    return Error{Code::read_only,
                 path + " lies on a file system mounted read-only: mount it writable"};
  }
  if (number != EACCES && number != EPERM) return errno_error(number, "open " + path);
  return Error{Code::permission_denied,
               fmt::format("{} is not writable for uid {}: give it access or choose another path",
                           path, geteuid())};
}

Result<void> check_access(const std::string& path, const std::string& folder) {
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return std::unexpected(access_error(errno, folder));
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    const std::string file = path + suffix;
    if (faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) != 0 && errno != ENOENT)
      return std::unexpected(access_error(errno, file));
  }
  return {};
}

Result<void> make_folder(const std::string& folder) {
  struct stat info{};
  if (stat(folder.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return {};
    return fail(Code::not_directory, folder + " is no folder: choose another path for the store");
  }
  if (auto parent = make_folder(folder_of(folder)); !parent) return parent;
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return std::unexpected(errno_error(errno, "make the folder " + folder));
  return sync_folder_of(folder);
}

// The log may hold a newer header than the database: asked through SQLite, migrated when older.
Result<void> bring_forward(const std::string& path) {
  auto db = Database::open(path, Database::Mode::read_write);
  if (!db) return std::unexpected(std::move(db.error()));
  const auto version = db->scalar("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  const int64_t newest = newest_version(migrations());
  if (*version > newest) {
    return fail(
        Code::store_newer,
        fmt::format("the store {} has version {} and this program knows {}: use a newer Ebla", path,
                    *version, newest));
  }
  const auto mode = db->scalar("SELECT count(*) FROM sqlite_schema");
  if (!mode) return std::unexpected(mode.error());
  const auto changed = migrate(*db, migrations());
  if (!changed) return std::unexpected(changed.error());
  // The new version shall stand in the database itself, where the next program looks first.
  if (*changed) return db->exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return {};
}

Result<void> open_existing(const std::string& path) {
  auto opened = bring_forward(path);
  if (!opened && opened.error().code == Code::corrupt)
    return std::unexpected(damaged_error(path, opened.error().text));
  return opened;
}

Result<void> open_or_create(const std::string& path, std::string_view note, OpenedFile& file) {
  // Again under the lock: another process may have been quicker.
  auto state = inspect_store(path, newest_version(migrations()));
  if (!state) return std::unexpected(std::move(state.error()));
  file.created = !state->exists;
  file.clean = state->log_empty;
  add_warning(file.warning, state->warning);
  auto ready = file.created ? create_store(path) : open_existing(path);
  if (!ready) return ready;
  return note_holder(file.lock, note);
}

}  // namespace

Result<OpenedFile> prepare_file(const OpenOptions& options) {
  if (!options.path.starts_with('/') || options.path.ends_with('/')) {
    return fail(
        Code::invalid_path,
        fmt::format("the path of a store begins with / and names a file: {}", options.path));
  }
  OpenedFile file;
  file.path = resolved(options.path);
  const std::string& path = file.path;
  const std::string folder = nearest_folder(folder_of(path));
  if (auto safe = check_filesystem(options, folder, file.warning); !safe)
    return std::unexpected(std::move(safe.error()));
  if (auto access = check_access(path, folder); !access)
    return std::unexpected(std::move(access.error()));

  // A lock that is there is tried before the database is looked at: closing a descriptor of a
  // database that this process has open elsewhere would drop SQLite's own locks on it.
  auto lock = take_lock(path, /*create=*/false);
  if (!lock) return std::unexpected(std::move(lock.error()));
  const bool new_lock = !*lock;
  if (new_lock) {
    if (auto state = inspect_store(path, newest_version(migrations())); !state)
      return std::unexpected(std::move(state.error()));
    if (auto made = make_folder(folder_of(path)); !made)
      return std::unexpected(std::move(made.error()));
    lock = take_lock(path, /*create=*/true);
    if (!lock) return std::unexpected(std::move(lock.error()));
  }
  file.lock = std::move(*lock);
  if (auto ready = open_or_create(path, options.note, file); !ready) {
    if (new_lock) unlink((path + ".lock").c_str());
    return std::unexpected(std::move(ready.error()));
  }
  return file;
}

}  // namespace ebla::sqlite
