// The SQLite engine of the Store interface. Reads take a connection of the pool; changes are units
// of the one writer. Split by family: tree_read, tree_write, dentry_units, file_units,
// replace_unit, file_access, content_units, sessions, evictions, items, passes, history, events,
// facts.
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
#include "schema/sqlite/history.h"
#include "schema/sqlite/open.h"
#include "schema/sqlite/overlay.h"
#include "schema/sqlite/quick_check.h"
#include "schema/sqlite/reader_pool.h"
#include "schema/sqlite/write_behind.h"
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
  void remove_folder(RemovePlan plan, ChangeOptions options, Completion<void> done) override;
  void reap(std::vector<Ino> inos, ChangeOptions options, Completion<void> done) override;
  void sync(ChangeOptions options, Completion<void> done) override;

  void create(CreatePlan plan, ChangeOptions options, Completion<Attr> done) override;
  void link(LinkPlan plan, ChangeOptions options, Completion<Attr> done) override;
  void rename(RenamePlan plan, ChangeOptions options, Completion<void> done) override;
  void replace(ReplacePlan plan, ChangeOptions options, Completion<Attr> done) override;
  void setattr(SetAttrPlan plan, ChangeOptions options, Completion<Attr> done) override;
  void set_xattr(XattrPlan plan, ChangeOptions options, Completion<void> done) override;
  void remove_xattr(Ino ino, std::string name, ChangeOptions options,
                    Completion<void> done) override;
  void write(WritePlan plan, std::string_view bytes, ChangeOptions options,
             Completion<WriteOutcome> done) override;
  void allocate(AllocatePlan plan, ChangeOptions options, Completion<void> done) override;
  void copy_range(CopyPlan plan, ChangeOptions options, Completion<uint64_t> done) override;
  Result<uint64_t> seek(Ino ino, uint64_t offset, SeekTo to) override;
  void flush(Ino ino, ChangeOptions options, Completion<void> done) override;

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

  Result<std::vector<ItemAnswer>> find_items(SessionId tree,
                                             std::span<const ItemQuery> items) override;
  Result<std::vector<Pass>> passes(SessionId tree, uint64_t after) override;
  Result<std::string> pass_message(uint64_t pass) override;
  void commit_pass(PassPlan plan, ChangeOptions options, Completion<Pass> done) override;
  Result<HistoryState> history_state(SessionId session) override;
  Result<std::vector<bool>> history_holds(SessionId session,
                                          std::span<const Hash128> keys) override;
  void append_history(HistoryPlan plan, ChangeOptions options,
                      Completion<HistoryState> done) override;
  void close_session(SessionId serial, ChangeOptions options, Completion<void> done) override;
  Result<std::vector<Event>> events(const EventQuery& query) override;
  Result<std::optional<std::string>> fact(std::string_view name) override;
  void set_fact(std::string name, std::optional<std::string> value, ChangeOptions options,
                Completion<void> done) override;

  Usage usage() override;
  Health health() override;
  int64_t now_ns() const override { return clock_.wall_ns(); }

 private:
  // admitted: brings bytes that were accepted before.
  enum class Growth : uint8_t { no, admitted, yes };

  SqliteStore(const OpenOptions& options, OpenedFile file);

  // Runs `unit` on the writer and `done` with its value. Work that frees space is no growth.
  template <class T, class F>
  void change(const ChangeOptions& options, Growth growth, Completion<T> done, F unit,
              std::move_only_function<void()> committed = {});
  // The same for one that commits written bytes as well.
  template <class T, class F>
  void change_file(const ChangeOptions& options, Growth growth, Completion<T> done, F unit);
  // What a unit has made, or that its session tree may not grow by it.
  template <class T>
  Result<T> within_quota(Growth growth, Database& db, const ChangeSet& changes, Result<T> made);
  Result<void> check_quota(Database& db, SessionId tree);
  // Gives `done` what has been written since, too.
  Completion<Attr> amended(Completion<Attr> done);
  Result<Attr> getattr_after(const Overlay::Glance& glance, Attr attr);
  Result<size_t> read_row(Ino ino, uint64_t offset, std::span<char> out);
  Result<WriteBehind::Segments> read_segments(const CopyPlan& plan, uint64_t count);

  // One unit of reap().
  void reap_slice(std::vector<Ino> inos, ChangeOptions options, Completion<void> done);
  // Compares the content with those of its hash, then hands the job to the writer.
  void compare_and_submit(std::shared_ptr<EvictionJob> job);
  void submit(std::shared_ptr<EvictionJob> job);
  // Stages what is too long for one unit, slice by slice, then calls `next`. The store outlives the
  // job: `next` must lead to end_job().
  void stage_section(std::shared_ptr<Section> section, ChangeOptions options,
                     std::move_only_function<void(Result<void>)> next);
  // Runs `unit` with the section, staged where it must be, and wakes the folding.
  template <class T, class F>
  void change_history(std::shared_ptr<Section> section, const ChangeOptions& options,
                      Completion<T> done, F unit);
  // A change that takes more than one unit: the store's end waits for it.
  void begin_job();
  void end_job();
  // Counts the file as damaged, once, and says which it is.
  Error note_damage(Database& db, Ino ino);
  void check_in_background();

  const Clock& clock_;
  const Quotas quotas_;
  OpenedFile file_;  // holds the lock until everything below has ended
  ReaderPool readers_;
  Overlay overlay_;
  std::mutex damage_mutex_;
  std::set<Ino> damaged_;
  std::string last_damaged_;
  std::string check_found_;  // first line of what the check has found
  std::unique_ptr<Writer> writer_;
  HistoryFolds folds_;
  WriteBehind write_behind_{overlay_, readers_, clock_, quotas_};
  std::mutex jobs_mutex_;
  std::condition_variable jobs_done_;
  size_t jobs_under_way_ = 0;
  QuickCheck check_;
  HelperThread comparer_;  // compares staged contents, which may be large
};

template <class T>
Result<T> SqliteStore::within_quota(Growth growth, Database& db, const ChangeSet& changes,
                                    Result<T> made) {
  if (!made || growth != Growth::yes || changes.tree == 0 || !quotas_.of_sessions()) return made;
  if (auto fits = check_quota(db, changes.tree); !fits) {
    return std::unexpected(std::move(fits.error()));
  }
  return made;
}

template <class T, class F>
void SqliteStore::change(const ChangeOptions& options, Growth growth, Completion<T> done, F unit,
                         std::move_only_function<void()> committed) {
  Writer::Unit work;
  work.options = options;
  work.growth = growth != Growth::no;
  work.admitted = growth == Growth::admitted;
  work.committed = std::move(committed);
  if constexpr (std::is_void_v<T>) {
    work.apply = [this, growth, unit = std::move(unit)](Database& db, ChangeSet& changes) mutable {
      return within_quota<void>(growth, db, changes, unit(db, changes));
    };
    work.done = std::move(done);
  } else {
    auto value = std::make_shared<std::optional<T>>();
    work.apply = [this, growth, value, unit = std::move(unit)](
                     Database& db, ChangeSet& changes) mutable -> Result<void> {
      Result<T> made = within_quota<T>(growth, db, changes, unit(db, changes));
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

template <class T, class F>
void SqliteStore::change_history(std::shared_ptr<Section> section, const ChangeOptions& options,
                                 Completion<T> done, F unit) {
  begin_job();
  auto finish = [this, section, done = std::move(done)](Result<T> result,
                                                        const ChangeSet& changes) mutable {
    if (!result && section->staged != 0) {
      discard(section->staged, {.durability = Durability::ordered},
              [](Result<void>, const ChangeSet&) {});
    }
    done(std::move(result), changes);
    end_job();
  };
  stage_section(section, options,
                [this, section, options, finish = std::move(finish),
                 unit = std::move(unit)](Result<void> staged) mutable {
                  if (!staged) return finish(std::unexpected(std::move(staged.error())), {});
                  change<T>(options, Growth::yes, std::move(finish),
                            [this, section, unit = std::move(unit)](
                                Database& db, ChangeSet& changes) mutable -> Result<T> {
                              Result<T> made = unit(db, *section, now_ns(), changes);
                              if (!changes.ranges.empty()) {
                                folds_.note(section->session, section->history_bytes,
                                            section->bytes.size());
                              }
                              return made;
                            });
                });
}

template <class T, class F>
void SqliteStore::change_file(const ChangeOptions& options, Growth growth, Completion<T> done,
                              F unit) {
  auto carried = std::make_shared<Carried>(overlay_);
  change(
      options, growth, std::move(done),
      [this, growth, carried, unit = std::move(unit)](Database& db, ChangeSet& changes) mutable {
        carried->begin();
        auto made = within_quota<T>(growth, db, changes, unit(db, changes, *carried));
        if (!made) carried->undone();
        return made;
      },
      [this, carried] {
        carried->committed();
        write_behind_.room_made();
      });
}

}  // namespace ebla::sqlite
