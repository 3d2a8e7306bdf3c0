#include "tests/kit/model_store.h"

#include <chrono>
#include <mutex>

#include "tests/kit/model_state.h"

namespace ebla::kit {
namespace {

class ModelStore final : public Store {
 public:
  ModelStore(const Clock& clock, uint32_t uid, uint32_t gid)
      : clock_(clock), state_(clock, uid, gid) {}

  Ino root() const override { return ModelState::kRoot; }
  Result<Attr> getattr(Ino ino) override { return with(&ModelState::getattr, ino); }
  Result<Attr> lookup(Ino parent, std::string_view name) override {
    return with(&ModelState::lookup, parent, name);
  }
  Result<std::vector<DirEntry>> readdir(Ino dir, uint64_t after_cookie, size_t limit) override {
    return with(&ModelState::readdir, dir, after_cookie, limit);
  }
  Result<uint64_t> entry_count(Ino dir) override { return with(&ModelState::entry_count, dir); }
  Result<std::string> readlink(Ino ino) override { return with(&ModelState::readlink, ino); }
  Result<size_t> read(Ino ino, uint64_t offset, std::span<char> out) override {
    return with(&ModelState::read, ino, offset, out);
  }
  Result<std::vector<Xattr>> xattrs(Ino ino) override { return with(&ModelState::xattrs, ino); }
  Result<std::string> path_of(Ino ino) override { return with(&ModelState::path_of, ino); }
  Result<std::optional<Tombstone>> tombstone(Ino parent, std::string_view name) override {
    return with(&ModelState::tombstone, parent, name);
  }
  Result<Session> session(SessionId serial) override { return with(&ModelState::session, serial); }
  Result<Session> find_session(uint32_t uid, std::string_view id_or_key) override {
    return with(&ModelState::find_session, uid, id_or_key);
  }
  Result<std::vector<Session>> list_sessions(std::string_view project, std::string_view after_id,
                                             size_t limit) override {
    return with(&ModelState::list_sessions, project, after_id, limit);
  }
  Result<std::optional<EvictionOutcome>> find_eviction(SessionId tree, ArtifactKind kind,
                                                       std::string_view call_id, Hash128 hash,
                                                       uint64_t size) override {
    return with(&ModelState::find_eviction, tree, kind, call_id, hash, size);
  }
  Result<bool> is_replacement(SessionId tree, Hash128 hash) override {
    return with(&ModelState::is_replacement, tree, hash);
  }
  Result<std::vector<PathAlias>> path_aliases() override { return with(&ModelState::path_aliases); }
  Result<std::vector<ItemAnswer>> find_items(SessionId tree,
                                             std::span<const ItemQuery> items) override {
    return Result<std::vector<ItemAnswer>>(with(&ModelState::find_items, tree, items));
  }
  Result<std::vector<Pass>> passes(SessionId tree, uint64_t after) override {
    return with(&ModelState::passes, tree, after);
  }
  Result<std::string> pass_message(uint64_t pass) override {
    return with(&ModelState::pass_message, pass);
  }
  Result<HistoryState> history_state(SessionId session) override {
    return with(&ModelState::history_state, session);
  }
  Result<std::vector<bool>> history_holds(SessionId session,
                                          std::span<const Hash128> keys) override {
    return with(&ModelState::history_holds, session, keys);
  }
  Result<std::vector<Event>> events(const EventQuery& query) override {
    return with(&ModelState::events, query);
  }
  Result<std::optional<std::string>> fact(std::string_view name) override {
    return with(&ModelState::fact, name);
  }
  Usage usage() override { return with(&ModelState::usage); }
  Health health() override {
    Health health;
    health.engine = "model";
    return health;
  }
  int64_t now_ns() const override { return clock_.wall_ns(); }

  void remove(RemovePlan plan, ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.remove(plan, changes); });
  }
  void remove_folder(RemovePlan plan, ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.remove_folder(plan, changes); });
  }
  void create(CreatePlan plan, ChangeOptions options, Completion<Attr> done) override {
    change<Attr>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.create(plan, changes); });
  }
  void link(LinkPlan plan, ChangeOptions options, Completion<Attr> done) override {
    change<Attr>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.link(plan, changes); });
  }
  void rename(RenamePlan plan, ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.rename(plan, changes); });
  }
  void replace(ReplacePlan plan, ChangeOptions options, Completion<Attr> done) override {
    change<Attr>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.replace(plan, changes); });
  }
  void setattr(SetAttrPlan plan, ChangeOptions options, Completion<Attr> done) override {
    change<Attr>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.setattr(plan, changes); });
  }
  void set_xattr(XattrPlan plan, ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.set_xattr(plan, changes); });
  }
  void remove_xattr(Ino ino, std::string name, ChangeOptions options,
                    Completion<void> done) override {
    change<void>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.remove_xattr(ino, name, changes); });
  }
  void write(WritePlan plan, std::string_view bytes, ChangeOptions options,
             Completion<WriteOutcome> done) override {
    change<WriteOutcome>(
        options, std::move(done),
        [&](ChangeSet& changes) { return state_.write(plan, bytes, changes); }, Revision::none);
  }
  void allocate(AllocatePlan plan, ChangeOptions options, Completion<void> done) override {
    change<void>(
        options, std::move(done),
        [&](ChangeSet& changes) { return state_.allocate(plan, changes); }, Revision::none);
  }
  void copy_range(CopyPlan plan, ChangeOptions options, Completion<uint64_t> done) override {
    change<uint64_t>(
        options, std::move(done),
        [&](ChangeSet& changes) { return state_.copy_range(plan, changes); }, Revision::none);
  }
  Result<uint64_t> seek(Ino ino, uint64_t offset, SeekTo to) override {
    return with(&ModelState::seek, ino, offset, to);
  }
  void flush(Ino, ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done), [](ChangeSet&) -> Result<void> { return {}; });
  }
  void reap(std::vector<Ino> inos, ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done), [&](ChangeSet&) -> Result<void> {
      state_.reap(inos);
      return {};
    });
  }
  void sync(ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done), [](ChangeSet&) -> Result<void> { return {}; });
  }
  void open_session(SessionPlan plan, ChangeOptions options,
                    Completion<SessionOutcome> done) override {
    change<SessionOutcome>(options, std::move(done),
                           [&](ChangeSet& changes) { return state_.open_session(plan, changes); });
  }
  void stage(ContentId content, uint64_t offset, std::string bytes, ChangeOptions options,
             Completion<ContentId> done) override {
    change<ContentId>(options, std::move(done),
                      [&](ChangeSet&) { return state_.stage(content, offset, bytes); });
  }
  void discard(ContentId content, ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done), [&](ChangeSet&) -> Result<void> {
      state_.discard(content);
      return {};
    });
  }
  void commit_eviction(EvictionPlan plan, ChangeOptions options,
                       Completion<EvictionOutcome> done) override {
    change<EvictionOutcome>(options, std::move(done), [&](ChangeSet& changes) {
      return state_.commit_eviction(plan, changes);
    });
  }
  void commit_pass(PassPlan plan, ChangeOptions options, Completion<Pass> done) override {
    change<Pass>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.commit_pass(plan, changes); });
  }
  void append_history(HistoryPlan plan, ChangeOptions options,
                      Completion<HistoryState> done) override {
    change<HistoryState>(options, std::move(done),
                         [&](ChangeSet& changes) { return state_.append_history(plan, changes); });
  }
  void close_session(SessionId serial, ChangeOptions options, Completion<void> done) override {
    change<void>(options, std::move(done),
                 [&](ChangeSet& changes) { return state_.close_session(serial, changes); });
  }
  void set_fact(std::string name, std::optional<std::string> value, ChangeOptions options,
                Completion<void> done) override {
    change<void>(options, std::move(done),
                 [&](ChangeSet&) { return state_.set_fact(name, value); });
  }

 private:
  enum class Revision : uint8_t { next, none };

  template <class R, class... P, class... A>
  R with(R (ModelState::*query)(P...) const, A&&... a) const {
    const std::scoped_lock lock(mutex_);
    return (state_.*query)(std::forward<A>(a)...);
  }

  // Runs a unit under the mutex, its completion outside, so that the completion may read.
  template <class T, class F>
  void change(const ChangeOptions& options, Completion<T> done, F unit,
              Revision revision = Revision::next) {
    ChangeSet changes;
    auto result = [&]() -> Result<T> {
      if (std::chrono::steady_clock::now() >= options.deadline) {
        return fail(Code::timeout, "the deadline had passed before the change began: try again");
      }
      const std::scoped_lock lock(mutex_);
      Result<T> ended = unit(changes);
      if (!ended) {
        changes = {};
      } else {
        changes.origin = options.origin;
        if (revision == Revision::next) changes.revision = ++revision_;
      }
      return ended;
    }();
    done(std::move(result), changes);
  }

  const Clock& clock_;
  mutable std::mutex mutex_;
  ModelState state_;
  uint64_t revision_ = 0;
};

}  // namespace

std::unique_ptr<Store> make_model_store(const Clock& clock, uint32_t uid, uint32_t gid) {
  return std::make_unique<ModelStore>(clock, uid, gid);
}

}  // namespace ebla::kit
