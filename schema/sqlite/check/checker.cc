#include "schema/sqlite/check/checker.h"

#include <fmt/format.h>

#include <utility>

#include "schema/sqlite/check/helpers.h"
#include "schema/sqlite/check/mends.h"
#include "schema/sqlite/rows.h"

namespace ebla::sqlite::check {
namespace {

// Lines of one kind; a store that lost a whole table would tell millions.
constexpr uint64_t kToldOfKind = 100;
// A mend may bring something else to light; a store that is not sound after so many is told as it
// is.
constexpr int kRounds = 6;

struct Step {
  std::string_view name;
  Group (*rules)();
};

constexpr Step kBeforeBytes[] = {
    {"sessions", session_rules}, {"names", existence_rules}, {"names", name_rules},
    {"folders", shape_rules},    {"folders", count_rules},   {"contents", content_rules},
};
constexpr Step kAfterBytes[] = {
    {"decisions", decision_rules},
    {"histories", history_rules},
    {"counters", usage_rules},
};

std::string column(const Statement& row, int index, int columns) {
  return index < columns && !row.is_null(index) ? row.string(index) : std::string();
}

std::string path_column(Database& db, const Statement& row, int columns) {
  if (columns < 3 || row.int64(2) == 0) return "";
  std::string path = path_of(db, row.int64(2));
  if (columns < 4 || row.is_null(3)) return path;
  if (!path.ends_with('/')) path += '/';
  return path + row.string(3);
}

// Those that are told, and of all others what a mend needs: there may be millions.
struct Offenders {
  std::vector<Offender> told;
  std::vector<std::pair<int64_t, int64_t>> rest;
};

Result<Offenders> offenders(Database& db, const Rule& rule) {
  auto rows = db.prepare(rule.select);
  if (!rows) return std::unexpected(std::move(rows.error()));
  Offenders found;
  const int columns = rows->columns();
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return found;
    const int64_t second = columns > 1 ? rows->int64(1) : 0;
    if (found.told.size() == kToldOfKind) {
      found.rest.emplace_back(rows->int64(0), second);
      continue;
    }
    found.told.push_back({.id = rows->int64(0),
                          .second = second,
                          .path = path_column(db, *rows, columns),
                          .a = column(*rows, 4, columns),
                          .b = column(*rows, 5, columns)});
  }
}

std::string text_of(const Rule& rule, const Offender& at) {
  return fmt::format(fmt::runtime(rule.text), fmt::arg("path", at.path), fmt::arg("id", at.id),
                     fmt::arg("a", at.a), fmt::arg("b", at.b));
}

}  // namespace

Result<void> Checker::run() {
  for (round_ = 1; round_ <= kRounds; ++round_) {
    const uint64_t mended = mended_;
    left_ = 0;
    left_texts_.clear();
    if (auto done = round(options_.bytes && round_ == 1); !done) return done;
    if (mended_ == mended) break;
  }
  tell_pending();
  tell_rest();
  return {};
}

Result<void> Checker::mend_names() {
  for (round_ = 2; round_ <= kRounds; ++round_) {
    const uint64_t mended = mended_;
    if (auto fresh = refresh_helpers(db_); !fresh) return fresh;
    for (const Step& step : kBeforeBytes) {
      if (step.rules == content_rules) continue;
      if (auto done = check_group(step.name, step.rules()); !done) return done;
    }
    if (mended_ == mended) break;
  }
  return {};
}

Result<void> Checker::round(bool bytes) {
  if (auto fresh = refresh_helpers(db_); !fresh) return fresh;
  for (const Step& step : kBeforeBytes) {
    if (auto done = check_group(step.name, step.rules()); !done) return done;
  }
  if (auto done = check_chunks(bytes && !options_.online); !done) return done;
  for (const Step& step : kAfterBytes) {
    if (auto done = check_group(step.name, step.rules()); !done) return done;
  }
  return {};
}

Result<void> Checker::check_group(std::string_view step, Group group) {
  options_.progress(step, 0, 0);
  mended_in_group_ = 0;
  for (const Rule& rule : group) {
    if (auto done = check_rule(rule); !done) return done;
  }
  // Later groups ask the helper tables for what is there now.
  return mended_in_group_ > 0 ? refresh_helpers(db_) : Result<void>{};
}

Result<void> Checker::check_rule(const Rule& rule) {
  auto found = offenders(db_, rule);
  if (!found) return std::unexpected(std::move(found.error()));
  bool all_mended = false;
  const auto one = [&](const Offender& offender, const std::string& text) -> Result<void> {
    bool done = all_mended;
    if (options_.repair && !done) {
      auto mended = mend(rule, offender);
      if (!mended) return std::unexpected(std::move(mended.error()));
      done = *mended;
      all_mended = rule.at_once && done;
    }
    tell({rule.kind, offender.path, text, done});
    return {};
  };
  for (const Offender& offender : found->told) {
    if (auto done = one(offender, text_of(rule, offender)); !done) return done;
  }
  for (const auto& [id, second] : found->rest) {
    Offender offender{.id = id, .second = second};
    if (auto done = one(offender, fmt::format("one more ({} {})", rule.kind, id)); !done)
      return done;
  }
  return {};
}

Result<bool> Checker::mend(const Rule& rule, const Offender& offender) {
  return in_transaction([&]() -> Result<bool> {
    if (rule.mend != nullptr) return rule.mend(Mend{db_, options_.now_ns}, offender);
    if (rule.mend_sql == nullptr) return false;
    auto statement = db_.prepare(rule.mend_sql);
    if (!statement) return std::unexpected(std::move(statement.error()));
    const int parameters = statement->parameters();
    if (parameters > 0) statement->bind(offender.id);
    if (parameters > 1) statement->bind(offender.second);
    if (auto done = statement->run(); !done) return std::unexpected(std::move(done.error()));
    return true;
  });
}

Result<bool> Checker::in_transaction(const std::function<Result<bool>()>& work) {
  if (auto begun = db_.exec("BEGIN IMMEDIATE"); !begun) {
    return std::unexpected(std::move(begun.error()));
  }
  auto done = work();
  Result<void> ended = done && *done ? db_.exec("COMMIT") : db_.exec("ROLLBACK");
  if (done && !ended) {
    (void)db_.exec("ROLLBACK");
    return std::unexpected(std::move(ended.error()));
  }
  // A mend that meets what it cannot mend either leaves it; a page that cannot be read is not its.
  if (!done && done.error().code == Code::conflict) return false;
  return done;
}

Result<void> Checker::check_chunks(bool bytes) {
  std::vector<ChunkProblem> found;
  auto total = db_.scalar("SELECT count(*) FROM chunks");
  if (!total) return std::unexpected(std::move(total.error()));
  const std::string_view step = bytes ? "bytes" : "chunks";
  ChunkPassOptions options{
      .bytes = bytes,
      .found = [&](ChunkProblem problem) { found.push_back(std::move(problem)); },
      .progress =
          [&](uint64_t done) { options_.progress(step, done, static_cast<uint64_t>(*total)); }};
  auto totals = pass_chunks(db_, options);
  if (!totals) return std::unexpected(std::move(totals.error()));
  bytes_ += totals->bytes;
  mended_in_group_ = 0;
  for (ChunkProblem& problem : found) {
    bool done = false;
    if (options_.repair) {
      auto mended = in_transaction(
          [&] { return problem.mend(Mend{db_, options_.now_ns}, {.id = problem.id}); });
      if (!mended) return std::unexpected(std::move(mended.error()));
      done = *mended;
      if (done) problem.text += problem.done;
    }
    tell({problem.kind, std::move(problem.path), std::move(problem.text), done});
  }
  return mended_in_group_ > 0 ? refresh_helpers(db_) : Result<void>{};
}

Result<bool> Checker::check_pages(bool all) {
  options_.progress("pages", 0, 0);
  std::vector<std::string> tables;
  if (!all) {
    auto rows = db_.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' "
        "AND name NOT IN ('chunks', 'sqlite_sequence')");
    if (!rows) return std::unexpected(std::move(rows.error()));
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) break;
      tables.push_back(fmt::format("PRAGMA integrity_check('{}')", rows->bytes(0)));
    }
  } else {
    tables.emplace_back("PRAGMA integrity_check(100)");
  }
  bool well = true;
  for (const std::string& sql : tables) {
    auto rows = db_.prepare_once(sql.c_str());
    if (!rows) return std::unexpected(std::move(rows.error()));
    while (true) {
      auto row = rows->step();
      if (!row) return std::unexpected(std::move(row.error()));
      if (!*row) break;
      std::string_view said = rows->bytes(0);
      if (said == "ok") continue;
      well = false;
      constexpr std::string_view kHeading = "*** in database main ***\n";
      if (said.starts_with(kHeading)) said.remove_prefix(kHeading.size());
      if (first_damage_.empty()) first_damage_ = said;
      if (options_.repair) continue;
      ++left_;
      tell_now({"database", "", fmt::format("the database is damaged: {}", said), false});
    }
  }
  return well;
}

void Checker::tell(Problem problem) {
  if (!problem.mended) {
    ++left_;
    if (!options_.repair) return tell_now(problem);
    const bool again = !left_texts_.insert(problem.text).second || round_ > 1;
    if (!again) pending_.push_back(std::move(problem));
    return;
  }
  ++mended_;
  ++mended_in_group_;
  options_.mended(problem.text);
  // What comes to light behind a mend is one with it.
  if (round_ == 1) tell_now(problem);
}

void Checker::tell_now(const Problem& problem) {
  ++problems_;
  if (++told_[problem.kind] <= kToldOfKind) options_.found(problem);
}

void Checker::tell_pending() {
  for (Problem& problem : pending_) {
    problem.mended = !left_texts_.contains(problem.text);
    mended_ += problem.mended ? 1 : 0;
    if (problem.mended) options_.mended(problem.text);
    tell_now(problem);
    left_texts_.erase(problem.text);
  }
  pending_.clear();
  for (const std::string& text : left_texts_) tell_now({"left", "", text});
}

void Checker::tell_rest() {
  for (const auto& [kind, count] : told_) {
    if (count <= kToldOfKind) continue;
    options_.found({kind, "", fmt::format("and {} more like this ({})", count - kToldOfKind, kind),
                    options_.repair});
  }
}

}  // namespace ebla::sqlite::check
