#include "schema/sqlite/database.h"

#include <cerrno>
#include <mutex>
#include <utility>

namespace ebla::sqlite {
namespace {

// Set once, before the library starts. Each connection is used by one thread at a time, and memory
// statistics would put one lock around every allocation of the process.
void configure_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_initialize();
  });
}

Code code_of_system_errno(int value) {
  switch (value) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::no_space;
    case EROFS:
      return Code::read_only;
    case EACCES:
    case EPERM:
      return Code::permission_denied;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::unavailable;
    default:
      return Code::io_error;
  }
}

Code code_of_sqlite(int system, int primary) {
  switch (primary) {
    case SQLITE_FULL:
      return Code::no_space;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return code_of_system_errno(system);
    case SQLITE_READONLY:
      return Code::read_only;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::busy;
    case SQLITE_CONSTRAINT:
      return Code::conflict;
    case SQLITE_TOOBIG:
      return Code::too_large;
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Code::permission_denied;
    case SQLITE_INTERRUPT:
    case SQLITE_NOMEM:
      return Code::unavailable;
    default:
      return Code::internal_error;
  }
}

std::string_view advice(Code code, bool file_limit) {
  switch (code) {
    case Code::no_space:
      return file_limit ? "; raise the file size limit of the daemon (RLIMIT_FSIZE)"
                        : "; free space on the file system of the store, or raise a file size "
                          "limit (ulimit -f) of the daemon";
    case Code::corrupt:
      return "; stop the daemon, then `ebla fsck --repair` mends the store";
    case Code::read_only:
      return kWritableAgain;
    default:
      return "";
  }
}

}  // namespace

Error database_error(sqlite3* db, std::string_view operation) {
  const int last = errno;
  const int extended = sqlite3_extended_errcode(db);
  // SQLite keeps the errno of a statement that fails, not of a COMMIT, and an old one for long.
  const int system = last != 0 ? last : sqlite3_system_errno(db);
  const Code code = code_of_sqlite(system, extended & 0xff);
  std::string text(operation);
  text += ": ";
  const bool from_system =
      (extended & 0xff) == SQLITE_IOERR || (extended & 0xff) == SQLITE_CANTOPEN;
  if (from_system && system != 0) {
    text = errno_error(system, operation).text;
  } else {
    text += sqlite3_errmsg(db);
  }
  text += advice(code, from_system && system == EFBIG);
  return Error{code, std::move(text)};
}

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      cached_(std::exchange(other.cached_, nullptr)),
      next_(other.next_),
      bind_error_(other.bind_error_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  if (cached_ == nullptr) {
    sqlite3_finalize(statement_);
    return;
  }
  sqlite3_reset(statement_);
  // Bound bytes are the caller's and may be gone by the next execution.
  sqlite3_clear_bindings(statement_);
  cached_->in_use = false;
}

void Statement::note(int rc) {
  if (rc != SQLITE_OK && bind_error_ == SQLITE_OK) bind_error_ = rc;
  ++next_;
}

Statement& Statement::bind(int64_t value) {
  note(sqlite3_bind_int64(statement_, next_, value));
  return *this;
}

Statement& Statement::bind_text(std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  note(sqlite3_bind_text64(statement_, next_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_blob(std::string_view bytes) {
  // A null pointer would bind NULL, not the empty blob.
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  note(sqlite3_bind_blob64(statement_, next_, data, bytes.size(), SQLITE_STATIC));
  return *this;
}

Statement& Statement::bind_null() {
  note(sqlite3_bind_null(statement_, next_));
  return *this;
}

Result<bool> Statement::step() {
  sqlite3* db = sqlite3_db_handle(statement_);
  if (bind_error_ != SQLITE_OK) {
    if (bind_error_ == SQLITE_TOOBIG) return fail(Code::too_large, "bind: value too large");
    return fail(Code::internal_error, std::string("bind: ") + sqlite3_errstr(bind_error_));
  }
  errno = 0;  // what it is behind a failure is of this call, here and below
  const int rc = sqlite3_step(statement_);
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  return std::unexpected(database_error(db, "database"));
}

Result<void> Statement::run() {
  for (;;) {
    auto row = step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return {};
  }
}

int64_t Statement::int64(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Statement::bytes(int column) const {
  // The order matters: the pointer first, then its length.
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int Statement::columns() const {
  return sqlite3_column_count(statement_);
}

int Statement::parameters() const {
  return sqlite3_bind_parameter_count(statement_);
}

Result<Database> Database::open(const std::string& path, Mode mode) {
  configure_library();
  const int access = mode == Mode::read_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  sqlite3* handle = nullptr;
  errno = 0;
  const int rc = sqlite3_open_v2(path.c_str(), &handle,
                                 access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (handle == nullptr) return fail(Code::unavailable, "open the store: out of memory");
  Database db(handle);
  if (rc != SQLITE_OK) return std::unexpected(db.error("open the store"));

  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_wal_autocheckpoint(handle, 0);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  // mmap_size 0: an error of the disk shall be an error value, not SIGBUS. temp_store: no temporary
  // files outside the store's folder.
  auto set = db.exec(
      "PRAGMA synchronous=NORMAL;"
      "PRAGMA mmap_size=0;"
      "PRAGMA cache_size=-2048;"
      "PRAGMA secure_delete=OFF;"
      "PRAGMA temp_store=MEMORY;"
      "PRAGMA cell_size_check=ON;"
      "PRAGMA journal_size_limit=33554432;");
  if (!set) return std::unexpected(std::move(set.error()));
  return db;
}

Database::Database(Database&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)),
      cache_(std::move(other.cache_)),
      reserved_ids_(std::exchange(other.reserved_ids_, {})) {
  other.cache_.clear();
}

Database& Database::operator=(Database&& other) noexcept {
  if (this == &other) return *this;
  close();
  db_ = std::exchange(other.db_, nullptr);
  cache_ = std::move(other.cache_);
  reserved_ids_ = std::exchange(other.reserved_ids_, {});
  other.cache_.clear();
  return *this;
}

Database::~Database() {
  close();
}

void Database::close() {
  if (db_ == nullptr) return;
  for (auto& [sql, cached] : cache_) sqlite3_finalize(cached.statement);
  cache_.clear();
  sqlite3_close_v2(db_);
  db_ = nullptr;
}

Result<Statement> Database::prepare(const char* sql) {
  Statement::Cached& cached = cache_[sql];
  if (cached.statement != nullptr && !cached.in_use) {
    cached.in_use = true;
    return Statement(cached.statement, &cached);
  }
  sqlite3_stmt* statement = nullptr;
  const bool keep = cached.statement == nullptr;
  errno = 0;
  const int rc =
      sqlite3_prepare_v3(db_, sql, -1, keep ? SQLITE_PREPARE_PERSISTENT : 0, &statement, nullptr);
  if (rc != SQLITE_OK) return std::unexpected(error("prepare"));
  if (statement == nullptr) return fail(Code::internal_error, "prepare: empty statement");
  if (!keep) return Statement(statement, nullptr);
  cached = {statement, true};
  return Statement(statement, &cached);
}

Result<Statement> Database::prepare_once(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  errno = 0;
  if (sqlite3_prepare_v3(db_, sql, -1, 0, &statement, nullptr) != SQLITE_OK)
    return std::unexpected(error("prepare"));
  if (statement == nullptr) return fail(Code::internal_error, "prepare: empty statement");
  return Statement(statement, nullptr);
}

Result<void> Database::exec(const char* sql) {
  errno = 0;
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return std::unexpected(error("database"));
  return {};
}

Result<int64_t> Database::scalar(const char* sql) {
  auto statement = prepare(sql);
  if (!statement) return std::unexpected(std::move(statement.error()));
  auto row = statement->step();
  if (!row) return std::unexpected(std::move(row.error()));
  if (!*row) return fail(Code::file_not_found, "database: no such row");
  return statement->int64(0);
}

int64_t Database::last_insert_rowid() const {
  return sqlite3_last_insert_rowid(db_);
}
int64_t Database::changes() const {
  return sqlite3_changes64(db_);
}
Error Database::error(std::string_view operation) const {
  return database_error(db_, operation);
}

}  // namespace ebla::sqlite
