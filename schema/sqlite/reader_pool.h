// Read connections of one database: one for each thread that reads at the same moment, kept with
// their prepared statements.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "schema/base/result.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite {

// Thread safe. Every lease must be gone before the pool is.
class ReaderPool {
 public:
  // A connection for the length of one call. No statement and no transaction may outlive it.
  class Lease {
   public:
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    ~Lease();
    Database& operator*() const { return *database_; }
    Database* operator->() const { return database_.get(); }

   private:
    friend class ReaderPool;
    Lease(ReaderPool& pool, std::unique_ptr<Database> database)
        : pool_(&pool), database_(std::move(database)) {}
    ReaderPool* pool_;
    std::unique_ptr<Database> database_;
  };

  explicit ReaderPool(std::string path) : path_(std::move(path)) {}
  Result<Lease> take();

 private:
  void give_back(std::unique_ptr<Database> database);

  std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Database>>
      idle_;  // the one used last is taken first: its cache is warm
};

// One state of the database for several statements of a call.
class Snapshot {
 public:
  static Result<Snapshot> begin(Database& db);
  Snapshot(Snapshot&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Snapshot& operator=(Snapshot&&) = delete;
  Snapshot(const Snapshot&) = delete;
  ~Snapshot();

 private:
  explicit Snapshot(Database& db) : db_(&db) {}
  Database* db_;
};

}  // namespace ebla::sqlite
