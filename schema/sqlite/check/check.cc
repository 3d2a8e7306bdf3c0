#include "schema/check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <optional>

#include "schema/base/clock.h"
#include "schema/base/fd.h"
#include "schema/sqlite/check/checker.h"
#include "schema/sqlite/check/rebuild.h"
#include "schema/sqlite/migrations.h"
#include "schema/sqlite/reader_pool.h"
#include "schema/sqlite/store_file.h"

namespace ebla {
namespace {

using sqlite::Database;
using sqlite::check::Checker;

// A daemon's log over it is to be shortened: a reader beside it gives its snapshot back.
constexpr int64_t kYieldLogBytes = int64_t{128} << 20;
constexpr int kYieldOps = 100'000;  // of SQLite's machine between two looks

// What one run works on.
struct Run {
  const CheckOptions& options;
  std::string path;
  UniqueFd lock;
  CheckReport report;
  UniqueFd note;
};

void tell(Run& run, const Problem& problem) {
  run.options.found(problem);
}

std::string utc(int64_t wall_ns) {
  const auto seconds = static_cast<time_t>(wall_ns / 1'000'000'000);
  std::tm parts{};
  (void)gmtime_r(&seconds, &parts);
  char text[32];
  return {text, strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// One line for each mend, in a file beside the store that only ever grows.
void take_note(Run& run, const std::string& text) {
  if (!run.note) {
    const std::string name = run.path + ".repairs";
    auto file = open_file(name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    // A mend that cannot be noted is still told.
    if (!file) return;
    run.note = std::move(*file);
    run.report.note = name;
  }
  (void)write_full(run.note.get(), fmt::format("{} {}\n", utc(SystemClock().wall_ns()), text));
}

// Whether a daemon holds it; the lock is kept else.
Result<void> take_hold(Run& run) {
  auto lock = sqlite::take_lock(run.path, run.options.repair);
  if (lock) {
    run.lock = std::move(*lock);
    if (!run.options.repair) return {};
    sqlite::check::undo_interrupted(run.path);
    return sqlite::note_holder(run.lock);
  }
  if (lock.error().code != Code::store_locked) {
    // Whoever may not open the lock may still read.
    if (!run.options.repair && lock.error().code == Code::permission_denied) return {};
    return std::unexpected(std::move(lock.error()));
  }
  if (run.options.repair) {
    return fail(Code::store_locked,
                lock.error().text + "; a repair needs the store for itself: `ebla stop` first");
  }
  run.report.online = true;
  return {};
}

int interrupt_for_log(void* path) {
  struct stat info{};
  return stat(static_cast<const char*>(path), &info) == 0 && info.st_size > kYieldLogBytes ? 1 : 0;
}

// Older versions lack tables that the rules ask for.
Result<void> check_version(Database& db, const Run& run) {
  const auto version = db.scalar("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  const int64_t newest = sqlite::newest_version(sqlite::migrations());
  if (*version == newest) return {};
  if (*version > newest) {
    return fail(
        Code::store_newer,
        fmt::format("the store {} has version {} and this program knows {}: use a newer Ebla",
                    run.path, *version, newest));
  }
  if (!run.options.repair) {
    return fail(
        Code::conflict,
        fmt::format("the store {} has version {}, and version {} is checked: start a daemon "
                    "on it once, or use --repair, which bring it forward",
                    run.path, *version, newest));
  }
  auto migrated = sqlite::migrate(db, sqlite::migrations());
  if (!migrated) return std::unexpected(std::move(migrated.error()));
  return {};
}

// The index is made from the store: a damaged one is removed, and the daemon makes a new one.
Result<void> check_index(Run& run) {
  const std::string index = run.path + "-index";
  struct stat info{};
  if (run.report.online || stat(index.c_str(), &info) != 0) return {};
  auto db = Database::open(index, Database::Mode::read_only);
  std::string damage;
  if (db) {
    auto rows = db->prepare("PRAGMA quick_check(1)");
    if (!rows) {
      damage = rows.error().text;
    } else if (auto row = rows->step(); !row) {
      damage = row.error().text;
    } else if (*row && rows->bytes(0) != "ok") {
      damage = rows->string(0);
    }
  } else {
    damage = db.error().text;
  }
  if (damage.empty()) return {};
  bool mended = false;
  if (run.options.repair) {
    if (db) *db = std::move(*Database::open(run.path, Database::Mode::read_only));
    mended = unlink(index.c_str()) == 0;
    for (const char* suffix : {"-wal", "-shm"}) unlink((index + suffix).c_str());
  }
  const Problem problem{"index", "",
                        fmt::format("the search index {} is damaged; it holds nothing of its own "
                                    "and is made anew when it is gone ({})",
                                    index, damage),
                        mended};
  ++run.report.problems;
  ++(mended ? run.report.mended : run.report.left);
  if (mended) take_note(run, problem.text);
  tell(run, problem);
  return {};
}

Result<void> count_nodes(Database& db, CheckReport& report) {
  auto rows = db.prepare("SELECT kind = 1, count(*) FROM inodes GROUP BY 1");
  if (!rows) return std::unexpected(std::move(rows.error()));
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return {};
    (rows->int64(0) != 0 ? report.folders : report.files) = rows->uint64(1);
  }
}

sqlite::check::CheckerOptions checker_options(Run& run) {
  return {.repair = run.options.repair,
          .bytes = !run.options.quick,
          .online = run.report.online,
          .now_ns = SystemClock().wall_ns(),
          .found = [&run](const Problem& problem) { tell(run, problem); },
          .mended = [&run](const std::string& text) { take_note(run, "mended: " + text); },
          .progress = run.options.progress};
}

// The sums, after the snapshot: slices that keep no log from being shortened.
Result<void> check_sums(Database& db, Run& run) {
  const auto total = static_cast<uint64_t>(db.scalar("SELECT count(*) FROM chunks").value_or(0));
  const sqlite::check::ChunkPassOptions options{
      .bytes = true,
      .found =
          [&run](sqlite::check::ChunkProblem problem) {
            ++run.report.problems;
            ++run.report.left;
            tell(run, {problem.kind, std::move(problem.path), std::move(problem.text), false});
          },
      .progress = [&](uint64_t done) { run.options.progress("bytes", done, total); }};
  auto totals = sqlite::check::pass_sums(db, options);
  if (!totals) return std::unexpected(std::move(totals.error()));
  run.report.bytes = totals->bytes;
  return {};
}

Result<void> check_rules(Database& db, Checker& checker, Run& run) {
  std::optional<sqlite::Snapshot> snapshot;
  if (!run.options.repair) {
    auto begun = sqlite::Snapshot::begin(db);
    if (!begun) return std::unexpected(std::move(begun.error()));
    snapshot.emplace(std::move(*begun));
  }
  auto well = checker.check_pages(!run.options.quick && !run.report.online);
  if (!well) return std::unexpected(std::move(well.error()));
  if (!*well && run.options.repair) {
    return fail(Code::corrupt, checker.first_damage());
  }
  if (auto done = checker.run(); !done) return done;
  return count_nodes(db, run.report);
}

void add_up(Run& run, const Checker& checker) {
  run.report.problems += checker.problems();
  run.report.mended += checker.mended();
  run.report.left += checker.left();
  run.report.bytes += checker.bytes();
}

Result<void> check_database(Run& run) {
  auto db = Database::open(
      run.path, run.options.repair ? Database::Mode::read_write : Database::Mode::read_only);
  if (!db) return std::unexpected(std::move(db.error()));
  // The helper tables of a large store do not fit into memory.
  if (auto set = db->exec("PRAGMA temp_store=FILE"); !set) return set;
  if (auto known = check_version(*db, run); !known) return known;
  const std::string log = run.path + "-wal";
  if (run.report.online) {
    sqlite3_progress_handler(db->handle(), kYieldOps, interrupt_for_log,
                             const_cast<char*>(log.c_str()));
  }
  Checker checker(*db, checker_options(run));
  auto done = check_rules(*db, checker, run);
  add_up(run, checker);
  if (!done && done.error().code == Code::unavailable && run.report.online) {
    return fail(Code::unavailable,
                "the daemon writes so much that its log had to be shortened under the check: run "
                "it again later, or `ebla stop` first");
  }
  if (!done) return done;
  if (run.report.online && !run.options.quick) {
    sqlite3_progress_handler(db->handle(), 0, nullptr, nullptr);
    if (auto sums = check_sums(*db, run); !sums) return sums;
  }
  return run.options.repair ? db->exec("PRAGMA wal_checkpoint(TRUNCATE)") : Result<void>{};
}

// What is wrong, without what to do about it.
std::string without_advice(const std::string& text) {
  return text.substr(0, text.find("; "));
}

// The state that no rule can be asked of: told, and left as it is.
void tell_damage(Run& run, const std::string& text) {
  ++run.report.problems;
  ++run.report.left;
  tell(run, {"database", "", without_advice(text), false});
}

Result<void> check_file(Run& run) {
  if (!run.report.online) {
    auto state = sqlite::inspect_store(run.path, sqlite::newest_version(sqlite::migrations()));
    if (!state) return std::unexpected(std::move(state.error()));
    if (!state->exists) {
      return fail(Code::file_not_found, fmt::format("there is no store {}", run.path));
    }
    if (!state->warning.empty()) {
      run.options.found({"log", "", state->warning, run.options.repair});
      ++run.report.problems;
      ++(run.options.repair ? run.report.mended : run.report.left);
    }
  }
  return check_database(run);
}

// What only a new database mends. Of a file whose header is damaged nobody knows whose it is before
// its pages are looked at.
bool is_damage(const Error& error) {
  return error.code == Code::corrupt || error.code == Code::store_damaged ||
         error.code == Code::store_foreign;
}

Result<void> rebuild(Run& run, const Error& damage) {
  auto rebuilt = sqlite::check::rebuild_store(
      run.path, damage.code == Code::store_foreign, [&](uint64_t done, uint64_t total) {
        run.options.progress("pages, and building a new database", done, total);
      });
  if (!rebuilt) {
    return std::unexpected(damage.code == Code::store_foreign ? damage
                                                              : std::move(rebuilt.error()));
  }
  run.report.kept = rebuilt->kept;
  run.report.left = 0;
  const auto tell_mended = [&](const std::string& text) {
    const Problem problem{"database", "", text, true};
    take_note(run, "mended: " + text);
    ++run.report.problems;
    ++run.report.mended;
    tell(run, problem);
  };
  tell_mended(fmt::format("the database was damaged and is built anew from {} rows ({})",
                          rebuilt->rows, without_advice(damage.text)));
  for (const std::string& note : rebuilt->notes) tell_mended(note);
  return check_file(run);
}

}  // namespace

Result<CheckReport> check_store(const CheckOptions& options) {
  std::error_code error;
  const std::string path = std::filesystem::weakly_canonical(options.store, error).string();
  Run run{.options = options,
          .path = error ? options.store : path,
          .lock = {},
          .report = {},
          .note = {}};
  struct stat info{};
  if (stat(run.path.c_str(), &info) != 0) {
    return std::unexpected(
        errno == ENOENT ? Error{Code::file_not_found, fmt::format("there is no store {}", run.path)}
                        : errno_error(errno, "look at " + run.path));
  }
  if (auto held = take_hold(run); !held) return std::unexpected(std::move(held.error()));
  auto done = check_file(run);
  if (!done && is_damage(done.error())) {
    if (options.repair) {
      done = rebuild(run, done.error());
    } else if (done.error().code != Code::store_foreign) {
      tell_damage(run, done.error().text);
      done = {};
    }
  }
  if (done) done = check_index(run);
  if (!done) return std::unexpected(std::move(done.error()));
  return run.report;
}

}  // namespace ebla
