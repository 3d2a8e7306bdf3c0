// A small RAII layer over the SQLite C API. Only schema/sqlite includes this or sqlite3.h.
// A Database is used by one thread at a time (NOMUTEX connections).
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schema/base/result.h"

namespace ebla::sqlite {

// How long a connection waits for a lock that another one holds.
inline constexpr int kBusyTimeoutMs = 10'000;

// What a text about a store that takes no writes ends with.
inline constexpr std::string_view kWritableAgain =
    "; make the file system and the store writable again (mount -o remount,rw; after an error of "
    "the disk, see the system's log, check and mount it anew)";

// Error of the connection's last call, right behind it. SQLITE_FULL: no_space; IOERR, CANTOPEN:
// io_error, or what the system's errno says: ENOSPC, EDQUOT, EFBIG: no_space; EROFS: read_only;
// EACCES, EPERM: permission_denied; EMFILE, ENFILE, ENOMEM: unavailable. READONLY: read_only;
// CORRUPT, NOTADB: corrupt; BUSY: busy; CONSTRAINT: conflict; TOOBIG: too_large; INTERRUPT:
// unavailable.
Error database_error(sqlite3* db, std::string_view operation);

class Database;

// One execution of a cached prepared statement. Binds by position from 1; resets when it goes.
// Blobs and texts are bound without a copy: they must outlive the execution.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  Statement(const Statement&) = delete;
  ~Statement();

  Statement& bind(int64_t value);
  Statement& bind(uint64_t value) { return bind(static_cast<int64_t>(value)); }
  Statement& bind(int value) { return bind(static_cast<int64_t>(value)); }
  Statement& bind(uint32_t value) { return bind(static_cast<int64_t>(value)); }
  Statement& bind(bool value) { return bind(static_cast<int64_t>(value)); }
  Statement& bind_text(std::string_view text);
  Statement& bind_blob(std::string_view bytes);
  Statement& bind_null();

  // True: a row is there; false: done.
  Result<bool> step();
  Result<void> run();  // steps to the end, ignoring rows

  int64_t int64(int column) const;
  uint64_t uint64(int column) const { return static_cast<uint64_t>(int64(column)); }
  std::string_view bytes(int column) const;  // text or blob; valid until the next step
  std::string string(int column) const { return std::string(bytes(column)); }
  bool is_null(int column) const;
  int columns() const;
  int parameters() const;

 private:
  friend class Database;
  struct Cached {
    sqlite3_stmt* statement = nullptr;
    bool in_use = false;
  };
  Statement(sqlite3_stmt* statement, Cached* cached) : statement_(statement), cached_(cached) {}
  void note(int rc);

  sqlite3_stmt* statement_;
  Cached* cached_;  // nullptr: the cached one was in use, and this one is finalized at the end
  int next_ = 1;
  int bind_error_ = 0;
};

// Ids that are drawn and not given out yet.
struct ReservedIds {
  uint64_t next = 0;
  uint64_t end = 0;
};

class Database {
 public:
  enum class Mode { read_write, read_only };
  // Opens an existing file (created beforehand by open.cc) and sets the pragmas that each
  // connection needs; those of the file are set once at creation. Closing the last connection
  // neither checkpoints nor removes the log: Writer::stop does.
  static Result<Database> open(const std::string& path, Mode mode);

  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  // `sql` must be a literal: its address is part of the cache's key.
  Result<Statement> prepare(const char* sql);
  Result<Statement> prepare_once(const char* sql);  // any text; not cached
  Result<void> exec(const char* sql);               // one or more statements without parameters
  Result<int64_t> scalar(const char* sql);          // first column of the first row
  int64_t last_insert_rowid() const;
  int64_t changes() const;
  Error error(std::string_view operation) const;
  sqlite3* handle() const { return db_; }
  ReservedIds& reserved_ids() { return reserved_ids_; }

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  void close();
  sqlite3* db_ = nullptr;
  std::unordered_map<const char*, Statement::Cached> cache_;
  ReservedIds reserved_ids_;
};

}  // namespace ebla::sqlite
