#include "schema/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schema/sqlite/content.h"
#include "schema/sqlite/rows.h"
#include "schema/sqlite/tree.h"

namespace ebla::sqlite {
namespace {

// Steps of 64 that are done while a store opens: some tens of milliseconds.
constexpr int kLeftoverSteps = 16;
// A log of this size is to be shortened: the check gives its snapshot back.
constexpr uint64_t kCheckedLogBytes = uint64_t{32} << 20;

Result<void> make_roots(Database& db, const OpenOptions& options) {
  const int64_t now = options.clock->wall_ns();
  auto made = execute(db,
                      "INSERT INTO inodes(ino, kind, mode, nlink, uid, gid, atime_ns, mtime_ns, "
                      "ctime_ns) VALUES(?1, 1, 448, 2, ?2, ?3, ?4, ?4, ?4)",
                      kRootIno, options.uid, options.gid, now);
  if (!made) return made;
  ChangeSet unseen;
  for (const auto& [ino, name] : {std::pair{kResultsIno, "large_tool_results"},
                                  std::pair{kHistoriesIno, "conversation_history"}}) {
    auto folder = make_node(db, kRootIno, name,
                            {.ino = ino,
                             .kind = NodeKind::directory,
                             .mode = 0700,
                             .uid = options.uid,
                             .gid = options.gid,
                             .flags = kNodeFixed},
                            now, unseen);
    if (!folder) return std::unexpected(std::move(folder.error()));
  }
  return add_usage(db, 0, {.directories = 3});
}

// A new store gets its folders in one transaction.
Result<void> ensure_roots(Database& db, const OpenOptions& options) {
  auto there = exists(db, "SELECT 1 FROM inodes WHERE ino = ?", kRootIno);
  if (!there) return std::unexpected(std::move(there.error()));
  if (*there) return {};
  if (auto begun = db.exec("BEGIN IMMEDIATE"); !begun) return begun;
  auto made = make_roots(db, options);
  if (made) made = db.exec("COMMIT");
  if (!made) (void)db.exec("ROLLBACK");
  return made;
}

Result<std::vector<uint64_t>> numbers(Database& db, const char* sql, int64_t bound) {
  auto rows = query(db, sql, bound);
  if (!rows) return std::unexpected(std::move(rows.error()));
  std::vector<uint64_t> out;
  while (true) {
    auto row = rows->step();
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return out;
    out.push_back(rows->uint64(0));
  }
}

// What a daemon that was killed has left: nodes without a name, staged contents. Only what is older
// than this run: what this run leaves is still in use.
struct Leftovers {
  int64_t orphan_seq = 0;
  int64_t staged_content = 0;
};

Result<Leftovers> find_leftovers(Database& db) {
  auto orphans = db.scalar("SELECT ifnull(max(seq), 0) FROM orphans");
  if (!orphans) return std::unexpected(std::move(orphans.error()));
  auto staged = db.scalar("SELECT ifnull(max(content), 0) FROM staged");
  if (!staged) return std::unexpected(std::move(staged.error()));
  return Leftovers{.orphan_seq = *orphans, .staged_content = *staged};
}

// True: there may be more. The chunks go later, as idle work.
Result<bool> reclaim_step(Database& db, const Leftovers& bounds) {
  auto contents =
      numbers(db, "SELECT content FROM staged WHERE content <= ? LIMIT 64", bounds.staged_content);
  if (!contents) return std::unexpected(std::move(contents.error()));
  for (const ContentId content : *contents) {
    if (auto dropped = drop_staged(db, content); !dropped) {
      return std::unexpected(std::move(dropped.error()));
    }
  }
  auto inos = numbers(db, "SELECT ino FROM orphans WHERE seq <= ? ORDER BY seq LIMIT 64",
                      bounds.orphan_seq);
  if (!inos) return std::unexpected(std::move(inos.error()));
  for (const Ino ino : *inos) {
    if (auto reaped = reap_node(db, ino); !reaped) {
      return std::unexpected(std::move(reaped.error()));
    }
  }
  return !contents->empty() || !inos->empty();
}

// The first ones before anybody looks, in one transaction; what is beyond, or does not fit on a
// full disk, is left to idle work. True: something is left.
bool reclaim_at_start(Database& db, const Leftovers& bounds) {
  if (bounds.orphan_seq == 0 && bounds.staged_content == 0) return false;
  if (!db.exec("BEGIN IMMEDIATE")) return true;
  Result<bool> more = true;
  for (int step = 0; step < kLeftoverSteps && more && *more; ++step) {
    more = reclaim_step(db, bounds);
  }
  if (more && db.exec("COMMIT")) return *more;
  (void)db.exec("ROLLBACK");
  return true;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const OpenOptions& options) {
  auto file = prepare_file(options);
  if (!file) return std::unexpected(std::move(file.error()));
  if (options.warn && !file->warning.empty()) options.warn(file->warning);
  return SqliteStore::open(options, std::move(*file));
}

SqliteStore::SqliteStore(const OpenOptions& options, OpenedFile file)
    : clock_(*options.clock),
      quotas_(options.quotas),
      file_(std::move(file)),
      readers_(file_.path) {}

SqliteStore::~SqliteStore() {
  {
    // An eviction may go from the writer to the comparer and back before it ends, and a long
    // section comes in many units.
    std::unique_lock lock(jobs_mutex_);
    jobs_done_.wait(lock, [this] { return jobs_under_way_ == 0; });
  }
  comparer_.stop();
  check_.stop();
  write_behind_.stop();
  if (writer_) (void)writer_->stop();
}

void SqliteStore::begin_job() {
  const std::scoped_lock lock(jobs_mutex_);
  ++jobs_under_way_;
}

void SqliteStore::end_job() {
  // Notified under the lock: the store may be gone as soon as nothing is under way.
  const std::scoped_lock lock(jobs_mutex_);
  --jobs_under_way_;
  jobs_done_.notify_all();
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const OpenOptions& options,
                                                       OpenedFile file) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(options, std::move(file)));
  const std::string& path = store->file_.path;
  auto db = Database::open(path, Database::Mode::read_write);
  if (!db) return std::unexpected(std::move(db.error()));
  if (auto made = ensure_roots(*db, options); !made) {
    return std::unexpected(std::move(made.error()));
  }
  auto leftovers = find_leftovers(*db);
  if (!leftovers) return std::unexpected(std::move(leftovers.error()));
  const bool more_leftovers = reclaim_at_start(*db, *leftovers);

  Writer::Options writing;
  writing.path = path;
  writing.reserve_bytes = options.reserve_bytes;
  writing.low_water_bytes = options.low_water_bytes;
  writing.high_water_bytes = options.high_water_bytes;
  writing.store_bytes = options.quotas.store_bytes;
  writing.sync = options.sync;
  auto writer = Writer::start(std::move(*db), std::move(writing));
  if (!writer) return std::unexpected(std::move(writer.error()));
  store->writer_ = std::move(*writer);
  store->write_behind_.start(*store->writer_);
  if (more_leftovers) {
    store->writer_->add_idle("free leftovers", [bounds = *leftovers](Database& idle, ChangeSet&) {
      return reclaim_step(idle, bounds);
    });
  }
  store->writer_->add_idle("free contents",
                           [](Database& idle, ChangeSet&) { return free_step(idle); });
  store->writer_->add_idle("fold histories", [folds = &store->folds_](Database& idle, ChangeSet&) {
    return folds->step(idle);
  });
  store->writer_->add_idle("give pages back",
                           [](Database& idle, ChangeSet&) { return vacuum_step(idle); });
  if (!store->file_.clean) store->check_in_background();
  return store;
}

void SqliteStore::check_in_background() {
  QuickCheck::Options options;
  options.path = file_.path;
  options.must_yield = [this] { return writer_->wal_bytes() > kCheckedLogBytes; };
  check_.start(std::move(options), [this](Result<std::vector<std::string>> found) {
    if (!found || found->empty()) return;
    const std::scoped_lock lock(damage_mutex_);
    check_found_ = found->front();
  });
}

// In a tree that holds too much, because a limit was lowered, everything goes on but growth. Each
// unit is judged, so what the tree had before this transaction tells whether this one grows it.
Result<void> SqliteStore::check_quota(Database& db, SessionId tree) {
  auto now = tree_usage(db, tree);
  if (!now) return std::unexpected(std::move(now.error()));
  auto fits = check_tree(*now, quotas_);
  if (fits) return fits;
  auto reader = readers_.take();
  if (!reader) return std::unexpected(std::move(reader.error()));
  const auto before = tree_usage(**reader, tree);
  if (before && now->files <= before->files && now->bytes <= before->bytes) return {};
  return fits;
}

Ino SqliteStore::root() const {
  return kRootIno;
}

Error SqliteStore::note_damage(Database& db, Ino ino) {
  auto path = node_path(db, ino);
  const std::string name = path ? *path : fmt::format("node {}", ino);
  {
    const std::scoped_lock lock(damage_mutex_);
    damaged_.insert(ino);
    last_damaged_ = name;
  }
  return {Code::io_error,
          fmt::format("{} is damaged in the store: its bytes do not match their sum", name)};
}

Usage SqliteStore::usage() {
  Usage usage;
  usage.wal_bytes = writer_->wal_bytes();
  usage.host_free_bytes = writer_->host_free_bytes();
  auto reader = readers_.take();
  if (!reader) return usage;
  auto row = query(**reader,
                   "SELECT sum(files), sum(directories), sum(logical_bytes), sum(content_bytes), "
                   "sum(sessions), sum(evictions) FROM usage");
  if (row && row->step().value_or(false)) {
    usage.files = row->uint64(0);
    usage.directories = row->uint64(1);
    const int64_t logical = row->int64(2) + overlay_.growth();
    usage.logical_bytes = static_cast<uint64_t>(std::max<int64_t>(logical, 0));
    usage.content_bytes = row->uint64(3);
    usage.sessions = row->uint64(4);
    usage.evictions = row->uint64(5);
  }
  const auto page = static_cast<uint64_t>((*reader)->scalar("PRAGMA page_size").value_or(0));
  usage.database_bytes =
      page * static_cast<uint64_t>((*reader)->scalar("PRAGMA page_count").value_or(0));
  usage.free_bytes =
      page * static_cast<uint64_t>((*reader)->scalar("PRAGMA freelist_count").value_or(0));
  return usage;
}

Health SqliteStore::health() {
  Health health = writer_->health();
  health.engine = fmt::format("sqlite {}", sqlite3_libversion());
  health.checking = check_.running();
  const std::scoped_lock lock(damage_mutex_);
  if (!check_found_.empty() && health.name.empty()) {
    health.name = code_info(Code::corrupt).name;
    health.text = fmt::format(
        "the check after the last unclean stop has found damage ({}): what can be read stays "
        "readable; stop the daemon, then `ebla fsck --repair` mends the store",
        check_found_);
  }
  health.damaged_files = damaged_.size();
  health.last_damaged = last_damaged_;
  return health;
}

}  // namespace ebla::sqlite
