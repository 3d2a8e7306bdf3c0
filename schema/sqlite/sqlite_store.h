// The SQLite engine of the Store interface. Reads take a connection of the pool; changes are units
// of the one writer. Split by family: tree_read, tree_write, content_units, sessions, evictions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schema/base/clock.h"
#include "schema/sqlite/database.h"
#include "schema/sqlite/helper_thread.h"
#include "schema/sqlite/open.h"
#include "schema/sqlite/quick_check.h"
#include "schema/sqlite/reader_pool.h"
#include "schema/sqlite/writer.h"
#include "schema/store.h"

namespace ebla::sqlite {

struct EvictionJob;

class SqliteStore final : public Store {
 public:
  // `file` holds the lock; the writer runs on `options.path`.
  static Result<std::unique_ptr<SqliteStore>> open(const OpenOptions& options, OpenedFile file);
  ~SqliteStore() override;

  Ino root() const override;
  Result<Attr> getattr(Ino ino) override;
  Result<Attr> lookup(Ino parent, std::string_view name) override;
  Result<std::vector<DirEntry>> readdir(Ino dir, uint64_t after_cookie, size_t limit) override;
  Result<uint64_t> entry_count(Ino dir) override;
  Result<std::string> readlink(Ino ino) override;
  Result<size_t> read(Ino ino, uint64_t offset, std::span<char> out) override;
  Result<std::vector<Xattr>> xattrs(Ino ino) override;
  Result<std::string> path_of(Ino ino) override;
  Result<std::optional<Tombstone>> tombstone(Ino parent, std::string_view name) override;
  void remove(RemovePlan plan, ChangeOptions options, Completion<void> done) override;
  void reap(std::vector<Ino> inos, ChangeOptions options, Completion<void> done) override;
  void sync(ChangeOptions options, Completion<void> done) override;

  void open_session(SessionPlan plan, ChangeOptions options,
                    Completion<SessionOutcome> done) override;
  Result<Session> session(SessionId serial) override;
  Result<Session> find_session(uint32_t uid, std::string_view id_or_key) override;
  Result<std::vector<Session>> list_sessions(std::string_view project, std::string_view after_id,
                                             size_t limit) override;

  void stage(ContentId content, uint64_t offset, std::string bytes, ChangeOptions options,
             Completion<ContentId> done) override;
  void discard(ContentId content, ChangeOptions options, Completion<void> done) override;

  Result<std::optional<EvictionOutcome>> find_eviction(SessionId tree, ArtifactKind kind,
                                                       std::string_view call_id, Hash128 hash,
                                                       uint64_t size) override;
  Result<bool> is_replacement(SessionId tree, Hash128 hash) override;
  void commit_eviction(EvictionPlan plan, ChangeOptions options,
                       Completion<EvictionOutcome> done) override;
  Result<std::vector<PathAlias>> path_aliases() override;

  Usage usage() override;
  Health health() override;
  int64_t now_ns() const override { return clock_.wall_ns(); }

 private:
  enum class Growth : bool { no, yes };

  SqliteStore(const OpenOptions& options, OpenedFile file);

  // Runs `unit` on the writer and `done` with its value. Work that frees space is no growth.
  template <class T, class F>
  void change(const ChangeOptions& options, Growth growth, Completion<T> done, F unit);

  // One unit of reap().
  void reap_slice(std::vector<Ino> inos, ChangeOptions options, Completion<void> done);
  // Compares the content with those of its hash, then hands the job to the writer.
  void compare_and_submit(std::shared_ptr<EvictionJob> job);
  void submit(std::shared_ptr<EvictionJob> job);
  // Counts the file as damaged, once, and says which it is.
  Error note_damage(Database& db, Ino ino);
  void check_in_background();

  const Clock& clock_;
  OpenedFile file_;  // holds the lock until everything below has ended
  ReaderPool readers_;
  std::mutex damage_mutex_;
  std::set<Ino> damaged_;
  std::string last_damaged_;
  std::string check_found_;  // first line of what the check has found
  std::unique_ptr<Writer> writer_;
  std::mutex evictions_mutex_;
  std::condition_variable evictions_done_;
  size_t evictions_under_way_ = 0;
  QuickCheck check_;
  HelperThread comparer_;  // compares staged contents, which may be large
};

template <class T, class F>
void SqliteStore::change(const ChangeOptions& options, Growth growth, Completion<T> done, F unit) {
  Writer::Unit work;
  work.options = options;
  work.growth = growth == Growth::yes;
  if constexpr (std::is_void_v<T>) {
    work.apply = std::move(unit);
    work.done = std::move(done);
  } else {
    auto value = std::make_shared<std::optional<T>>();
    work.apply = [value, unit = std::move(unit)](Database& db,
                                                 ChangeSet& changes) mutable -> Result<void> {
      Result<T> made = unit(db, changes);
      if (!made) return std::unexpected(std::move(made.error()));
      *value = std::move(*made);
      return {};
    };
    work.done = [value, done = std::move(done)](Result<void> ended,
                                                const ChangeSet& changes) mutable {
      if (!ended) {
        done(std::unexpected(std::move(ended.error())), changes);
      } else {
        done(std::move(**value), changes);
      }
    };
  }
  writer_->submit(std::move(work));
}

}  // namespace ebla::sqlite
