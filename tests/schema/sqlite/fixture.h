// A database with one table of rows, its writer, and calls that wait.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schema/sqlite/writer.h"

namespace ebla::sqlite::test {

struct Answer {
  Result<void> result;
  ChangeSet changes;
};

class StoreFolder {
 public:
  // On a disk; in memory for tests that do not depend on one and would wait for it.
  explicit StoreFolder(bool in_memory = false);
  ~StoreFolder();
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string store() const { return path_ + "/store"; }

 private:
  std::string path_;
};

// A file with `CREATE TABLE row(id INTEGER PRIMARY KEY, bytes BLOB)`, pages of 16 KiB, WAL.
void make_database(const std::string& path);
Database open_database(const std::string& path, Database::Mode mode = Database::Mode::read_write);
std::unique_ptr<Writer> start_writer(Writer::Options options);

Writer::Unit insert_unit(int64_t id, std::string bytes, Durability durability);
Writer::Unit remove_unit(int64_t id, Durability durability);
std::future<Answer> submit(Writer& writer, Writer::Unit unit);
Answer put(Writer& writer, int64_t id, std::string bytes,
           Durability durability = Durability::durable);
Answer remove(Writer& writer, int64_t id, Durability durability = Durability::durable);
std::vector<int64_t> ids(Database& database);
std::string sample_bytes(size_t size, uint32_t seed);

}  // namespace ebla::sqlite::test
