#include "tests/schema/sqlite/fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "schema/base/fd.h"

namespace ebla::sqlite::test {

StoreFolder::StoreFolder(bool in_memory) {
  const char* base = std::getenv("TMPDIR");
  path_ = base != nullptr ? base : "/tmp";
  if (in_memory && access("/dev/shm", W_OK | X_OK) == 0) path_ = "/dev/shm";
  path_ += "/ebla-sqlite-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

StoreFolder::~StoreFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

void make_database(const std::string& path) {
  ASSERT_TRUE(open_file(path, O_RDWR | O_CREAT, 0600));
  Database database = open_database(path);
  const auto made = database.exec(
      "PRAGMA page_size=16384; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
      "CREATE TABLE row(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;");
  ASSERT_TRUE(made) << made.error().text;
}

Database open_database(const std::string& path, Database::Mode mode) {
  auto database = Database::open(path, mode);
  if (!database) {
    ADD_FAILURE() << database.error().text;
    std::abort();
  }
  return std::move(*database);
}

std::unique_ptr<Writer> start_writer(Writer::Options options) {
  auto writer = Writer::start(open_database(options.path), options);
  if (!writer) {
    ADD_FAILURE() << writer.error().text;
    std::abort();
  }
  return std::move(*writer);
}

Writer::Unit insert_unit(int64_t id, std::string bytes, Durability durability) {
  Writer::Unit unit;
  unit.options.durability = durability;
  unit.apply = [id, bytes = std::move(bytes)](Database& db, ChangeSet& changes) -> Result<void> {
    auto insert = db.prepare("INSERT INTO row(id, bytes) VALUES(?1, ?2)");
    if (!insert) return std::unexpected(insert.error());
    changes.attributes.push_back(static_cast<Ino>(id));
    return insert->bind(id).bind_blob(bytes).run();
  };
  return unit;
}

Writer::Unit remove_unit(int64_t id, Durability durability) {
  Writer::Unit unit;
  unit.options.durability = durability;
  unit.growth = false;
  unit.apply = [id](Database& db, ChangeSet&) -> Result<void> {
    auto statement = db.prepare("DELETE FROM row WHERE id = ?1");
    if (!statement) return std::unexpected(statement.error());
    return statement->bind(id).run();
  };
  return unit;
}

std::future<Answer> submit(Writer& writer, Writer::Unit unit) {
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  unit.done = [promise](Result<void> result, const ChangeSet& changes) {
    promise->set_value({std::move(result), changes});
  };
  writer.submit(std::move(unit));
  return future;
}

Answer put(Writer& writer, int64_t id, std::string bytes, Durability durability) {
  return submit(writer, insert_unit(id, std::move(bytes), durability)).get();
}

Answer remove(Writer& writer, int64_t id, Durability durability) {
  return submit(writer, remove_unit(id, durability)).get();
}

std::vector<int64_t> ids(Database& database) {
  std::vector<int64_t> out;
  auto rows = database.prepare("SELECT id FROM row ORDER BY id");
  if (!rows) {
    ADD_FAILURE() << rows.error().text;
    return out;
  }
  for (;;) {
    auto row = rows->step();
    if (!row) {
      ADD_FAILURE() << row.error().text;
      return out;
    }
    if (!*row) return out;
    out.push_back(rows->int64(0));
  }
}

std::string sample_bytes(size_t size, uint32_t seed) {
  std::string out(size, '\0');
  uint32_t state = seed * 2654435761u + 1;
  for (char& c : out) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>(state >> 24);
  }
  return out;
}

}  // namespace ebla::sqlite::test
