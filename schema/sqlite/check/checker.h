// Asks all rules of one database, and mends what breaks them. Private to this folder.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "schema/check.h"
#include "schema/sqlite/check/chunk_pass.h"
#include "schema/sqlite/check/rule.h"
#include "schema/sqlite/database.h"

namespace ebla::sqlite::check {

struct CheckerOptions {
  bool repair = false;
  bool bytes = true;    // read all bytes and check sums and hashes
  bool online = false;  // the bytes in slices, after the snapshot of the rest
  int64_t now_ns = 0;
  std::function<void(const Problem&)> found;  // at most 100 of a kind
  std::function<void(const std::string& text)> mended = [](const std::string&) {};  // each one
  std::function<void(std::string_view step, uint64_t done, uint64_t total)> progress;
};

class Checker {
 public:
  // The database must outlive the checker, and be open for writing to repair.
  Checker(Database& db, CheckerOptions options) : db_(db), options_(std::move(options)) {}

  // All rules; with `repair` until nothing more is mended. Code::corrupt: SQLite cannot read some
  // page, and what was found until then has been told.
  Result<void> run();
  // Mends sessions, names and folders alone; nothing is told.
  Result<void> mend_names();
  // SQLite's own check of its pages. `all`: every page, else none of the large table of bytes.
  // True: all is well. What it says is told; by a repair it is not, since only a new database mends
  // it: first_damage() has the first line then.
  Result<bool> check_pages(bool all);
  const std::string& first_damage() const { return first_damage_; }

  uint64_t problems() const { return problems_; }
  uint64_t mended() const { return mended_; }
  uint64_t left() const { return left_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Result<void> round(bool bytes);
  Result<void> check_group(std::string_view step, Group group);
  Result<void> check_rule(const Rule& rule);
  Result<void> check_chunks(bool bytes);
  Result<bool> mend(const Rule& rule, const Offender& offender);
  Result<bool> in_transaction(const std::function<Result<bool>()>& mend);
  void tell(Problem problem);
  void tell_now(const Problem& problem);
  void tell_pending();
  void tell_rest();

  Database& db_;
  CheckerOptions options_;
  int round_ = 1;
  uint64_t problems_ = 0;
  uint64_t mended_ = 0;
  uint64_t left_ = 0;
  uint64_t bytes_ = 0;
  uint64_t mended_in_group_ = 0;
  std::string first_damage_;
  std::map<std::string_view, uint64_t> told_;  // of each kind
  // Of a repair: what a round did not mend may be mended by a later one; the last round knows.
  std::vector<Problem> pending_;
  std::unordered_set<std::string> left_texts_;  // of this round
};

}  // namespace ebla::sqlite::check
