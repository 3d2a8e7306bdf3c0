#include "schema/salvage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "schema/base/clock.h"
#include "schema/base/fd.h"
#include "schema/base/json.h"
#include "schema/sqlite/check/checker.h"
#include "schema/sqlite/migrations.h"
#include "schema/sqlite/rescue/collect.h"
#include "schema/sqlite/rescue/export.h"
#include "schema/sqlite/store_file.h"

namespace ebla {
namespace {

using sqlite::Database;
using sqlite::PageFile;

// Lines of the list are told to the caller as well; the list has all of them.
class LossList {
 public:
  static Result<LossList> open(const SalvageOptions& options, SalvageReport& report) {
    auto file = open_file(report.list, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (!file) return std::unexpected(std::move(file.error()));
    return LossList(options, report, std::move(*file));
  }

  void add(const std::string& line) {
    ++report_->losses;
    options_->lost(line);
    auto written = write_full(file_.get(), printable(line) + "\n");
    if (!written && !failed_) failed_ = written.error();
  }

  Result<void> end() {
    if (failed_) return std::unexpected(*failed_);
    return {};
  }

 private:
  LossList(const SalvageOptions& options, SalvageReport& report, UniqueFd file)
      : options_(&options), report_(&report), file_(std::move(file)) {}
  const SalvageOptions* options_;
  SalvageReport* report_;
  UniqueFd file_;
  std::optional<Error> failed_;
};

Result<void> make_folders(const std::string& folder, SalvageReport& report) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return std::unexpected(errno_error(error.value(), "make the folder " + folder));
  const bool empty = std::filesystem::is_empty(folder, error);
  if (error) return std::unexpected(errno_error(error.value(), "look into the folder " + folder));
  if (!empty) {
    return fail(Code::already_exists,
                fmt::format("the folder {} is not empty: name one that is, or a new one", folder));
  }
  report.tree = folder + "/tree";
  report.list = folder + "/report.txt";
  if (mkdir(report.tree.c_str(), 0700) != 0) {
    return std::unexpected(errno_error(errno, "make the folder " + report.tree));
  }
  return {};
}

// A private database of SQLite's, on disk only when it is large, gone when it is closed.
Result<Database> make_work() {
  auto db = Database::open("", Database::Mode::read_write);
  if (!db) return db;
  auto set = db->exec("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY; PRAGMA temp_store=FILE");
  if (!set) return std::unexpected(std::move(set.error()));
  if (auto made = sqlite::migrate(*db, sqlite::migrations()); !made) {
    return std::unexpected(std::move(made.error()));
  }
  return db;
}

Result<void> salvage_rows(PageFile& pages, Database& work, const SalvageOptions& options,
                          LossList& list) {
  const sqlite::CollectOptions collecting{.bytes = false,
                                          .progress = [&](uint64_t done, uint64_t total) {
                                            options.progress("reading pages", done, total);
                                          }};
  auto collected = sqlite::collect_rows(pages, work, collecting);
  if (!collected) return std::unexpected(std::move(collected.error()));
  for (const std::string& note : collected->notes) list.add(note);
  if (collected->rows == 0) list.add("no row of any table could be read");
  // Files whose names are lost get one, folders that are lost are made again.
  sqlite::check::Checker checker(work, {.repair = true,
                                        .bytes = false,
                                        .now_ns = SystemClock().wall_ns(),
                                        .found = [](const Problem&) {},
                                        .progress = [](std::string_view, uint64_t, uint64_t) {}});
  if (auto mended = checker.mend_names(); !mended) return mended;
  // A history whose row was lost has its bytes by its sections.
  return work.exec(
      "UPDATE inodes SET session = h.session, content = h.session, hash = NULL, "
      "size = max(inodes.size, h.size) FROM (SELECT s.history, x.session, max(x.at + x.size) AS "
      "size FROM sections x JOIN sessions s ON s.serial = x.session GROUP BY x.session) h "
      "WHERE inodes.ino = h.history AND inodes.content <> h.session");
}

}  // namespace

Result<SalvageReport> salvage_store(const SalvageOptions& options) {
  SalvageReport report;
  auto pages = PageFile::open(options.store);
  if (!pages) return std::unexpected(std::move(pages.error()));
  if (auto made = make_folders(options.folder, report); !made) {
    return std::unexpected(std::move(made.error()));
  }
  auto list = LossList::open(options, report);
  if (!list) return std::unexpected(std::move(list.error()));
  // Only asked: whoever holds the lock may be the reason for what is amiss.
  if (auto lock = sqlite::take_lock(options.store, false);
      !lock && lock.error().code == Code::store_locked) {
    list->add("a daemon uses the store: what it changes meanwhile may be missing or mixed");
  }
  auto work = make_work();
  if (!work) return std::unexpected(std::move(work.error()));
  if (auto rows = salvage_rows(*pages, *work, options, *list); !rows) {
    return std::unexpected(std::move(rows.error()));
  }
  auto tree = open_file(report.tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!tree) return std::unexpected(std::move(tree.error()));
  const auto nodes = static_cast<uint64_t>(work->scalar("SELECT count(*) FROM inodes").value_or(0));
  auto done = sqlite::export_tree(
      *pages, *work, tree->get(), report, [&](const std::string& line) { list->add(line); },
      [&](uint64_t files) { options.progress("writing files", files, nodes); });
  if (done) done = list->end();
  if (!done) return std::unexpected(std::move(done.error()));
  return report;
}

}  // namespace ebla
