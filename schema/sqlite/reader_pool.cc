#include "schema/sqlite/reader_pool.h"

#include <utility>

namespace ebla::sqlite {
namespace {

// Connections beyond this many are closed when they come back: each holds a 2 MB page cache.
constexpr size_t kIdleConnections = 16;

}  // namespace

ReaderPool::Lease::~Lease() {
  if (database_) pool_->give_back(std::move(database_));
}

Result<ReaderPool::Lease> ReaderPool::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      auto database = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(database));
    }
  }
  auto opened = Database::open(path_, Database::Mode::read_only);
  if (!opened) return std::unexpected(std::move(opened.error()));
  return Lease(*this, std::make_unique<Database>(std::move(*opened)));
}

void ReaderPool::give_back(std::unique_ptr<Database> database) {
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < kIdleConnections) idle_.push_back(std::move(database));
}

Result<Snapshot> Snapshot::begin(Database& db) {
  auto statement = db.prepare("BEGIN");
  if (!statement) return std::unexpected(std::move(statement.error()));
  if (auto begun = statement->run(); !begun) return std::unexpected(std::move(begun.error()));
  return Snapshot(db);
}

Snapshot::~Snapshot() {
  if (db_ == nullptr) return;
  // Ending a transaction that only read cannot fail, once its statements are reset.
  auto statement = db_->prepare("COMMIT");
  if (statement) (void)statement->run();
}

}  // namespace ebla::sqlite
