// A store in front of another one that takes no writes, or answers no reads of the engine, while a
// test says so.
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "schema/store.h"

namespace ebla::daemon {

class FailingStore : public Store {
 public:
  explicit FailingStore(Store& under) : under_(under) {}

  std::optional<Error> writes;   // every change fails with it
  std::optional<Error> passes_;  // commit_pass alone
  std::optional<Error> reads;    // what the engine asks: items, passes
  std::optional<Health> told;    // what health() says
  std::atomic<int> changes = 0;  // that were begun

  Ino root() const override { return under_.root(); }
  Result<Attr> getattr(Ino ino) override { return under_.getattr(ino); }
  Result<Attr> lookup(Ino parent, std::string_view name) override {
    return under_.lookup(parent, name);
  }
  Result<std::vector<DirEntry>> readdir(Ino dir, uint64_t after, size_t limit) override {
    return under_.readdir(dir, after, limit);
  }
  Result<uint64_t> entry_count(Ino dir) override { return under_.entry_count(dir); }
  Result<std::string> readlink(Ino ino) override { return under_.readlink(ino); }
  Result<size_t> read(Ino ino, uint64_t offset, std::span<char> out) override {
    return under_.read(ino, offset, out);
  }
  Result<std::vector<Xattr>> xattrs(Ino ino) override { return under_.xattrs(ino); }
  Result<std::string> path_of(Ino ino) override { return under_.path_of(ino); }
  Result<std::optional<Tombstone>> tombstone(Ino parent, std::string_view name) override {
    return under_.tombstone(parent, name);
  }
  void remove(RemovePlan plan, ChangeOptions options, Completion<void> done) override {
    if (refused(done)) return;
    under_.remove(std::move(plan), options, std::move(done));
  }
  void remove_folder(RemovePlan plan, ChangeOptions options, Completion<void> done) override {
    if (refused(done)) return;
    under_.remove_folder(std::move(plan), options, std::move(done));
  }
  void reap(std::vector<Ino> inos, ChangeOptions options, Completion<void> done) override {
    if (refused(done)) return;
    under_.reap(std::move(inos), options, std::move(done));
  }
  void sync(ChangeOptions options, Completion<void> done) override {
    under_.sync(options, std::move(done));
  }
  void create(CreatePlan plan, ChangeOptions options, Completion<Attr> done) override {
    if (refused(done)) return;
    under_.create(std::move(plan), options, std::move(done));
  }
  void link(LinkPlan plan, ChangeOptions options, Completion<Attr> done) override {
    if (refused(done)) return;
    under_.link(std::move(plan), options, std::move(done));
  }
  void rename(RenamePlan plan, ChangeOptions options, Completion<void> done) override {
    if (refused(done)) return;
    under_.rename(std::move(plan), options, std::move(done));
  }
  void replace(ReplacePlan plan, ChangeOptions options, Completion<Attr> done) override {
    if (refused(done)) return;
    under_.replace(std::move(plan), options, std::move(done));
  }
  void setattr(SetAttrPlan plan, ChangeOptions options, Completion<Attr> done) override {
    if (refused(done)) return;
    under_.setattr(plan, options, std::move(done));
  }
  void set_xattr(XattrPlan plan, ChangeOptions options, Completion<void> done) override {
    if (refused(done)) return;
    under_.set_xattr(std::move(plan), options, std::move(done));
  }
  void remove_xattr(Ino ino, std::string name, ChangeOptions options,
                    Completion<void> done) override {
    if (refused(done)) return;
    under_.remove_xattr(ino, std::move(name), options, std::move(done));
  }
  void write(WritePlan plan, std::string_view bytes, ChangeOptions options,
             Completion<WriteOutcome> done) override {
    if (refused(done)) return;
    under_.write(plan, bytes, options, std::move(done));
  }
  void allocate(AllocatePlan plan, ChangeOptions options, Completion<void> done) override {
    if (refused(done)) return;
    under_.allocate(plan, options, std::move(done));
  }
  void copy_range(CopyPlan plan, ChangeOptions options, Completion<uint64_t> done) override {
    if (refused(done)) return;
    under_.copy_range(plan, options, std::move(done));
  }
  Result<uint64_t> seek(Ino ino, uint64_t offset, SeekTo to) override {
    return under_.seek(ino, offset, to);
  }
  void flush(Ino ino, ChangeOptions options, Completion<void> done) override {
    if (refused(done)) return;
    under_.flush(ino, options, std::move(done));
  }
  void open_session(SessionPlan plan, ChangeOptions options,
                    Completion<SessionOutcome> done) override {
    if (refused(done)) return;
    under_.open_session(std::move(plan), options, std::move(done));
  }
  Result<Session> session(SessionId serial) override { return under_.session(serial); }
  Result<Session> find_session(uint32_t uid, std::string_view name) override {
    return under_.find_session(uid, name);
  }
  Result<std::vector<Session>> list_sessions(std::string_view project, std::string_view after,
                                             size_t limit) override {
    return under_.list_sessions(project, after, limit);
  }
  void stage(ContentId content, uint64_t offset, std::string bytes, ChangeOptions options,
             Completion<ContentId> done) override {
    if (refused(done)) return;
    under_.stage(content, offset, std::move(bytes), options, std::move(done));
  }
  void discard(ContentId content, ChangeOptions options, Completion<void> done) override {
    under_.discard(content, options, std::move(done));
  }
  Result<std::optional<EvictionOutcome>> find_eviction(SessionId tree, ArtifactKind kind,
                                                       std::string_view call_id, Hash128 hash,
                                                       uint64_t size) override {
    return under_.find_eviction(tree, kind, call_id, hash, size);
  }
  Result<bool> is_replacement(SessionId tree, Hash128 hash) override {
    return under_.is_replacement(tree, hash);
  }
  void commit_eviction(EvictionPlan plan, ChangeOptions options,
                       Completion<EvictionOutcome> done) override {
    if (refused(done)) return;
    under_.commit_eviction(std::move(plan), options, std::move(done));
  }
  Result<std::vector<PathAlias>> path_aliases() override { return under_.path_aliases(); }
  Result<std::vector<ItemAnswer>> find_items(SessionId tree,
                                             std::span<const ItemQuery> items) override {
    if (reads) return std::unexpected(*reads);
    return under_.find_items(tree, items);
  }
  Result<std::vector<Pass>> passes(SessionId tree, uint64_t after) override {
    if (reads) return std::unexpected(*reads);
    return under_.passes(tree, after);
  }
  Result<std::string> pass_message(uint64_t pass) override { return under_.pass_message(pass); }
  void commit_pass(PassPlan plan, ChangeOptions options, Completion<Pass> done) override {
    if (passes_) return done(std::unexpected(*passes_), {});
    if (refused(done)) return;
    under_.commit_pass(std::move(plan), options, std::move(done));
  }
  Result<HistoryState> history_state(SessionId session) override {
    return under_.history_state(session);
  }
  Result<std::vector<bool>> history_holds(SessionId session,
                                          std::span<const Hash128> keys) override {
    return under_.history_holds(session, keys);
  }
  void append_history(HistoryPlan plan, ChangeOptions options,
                      Completion<HistoryState> done) override {
    if (refused(done)) return;
    under_.append_history(std::move(plan), options, std::move(done));
  }
  void close_session(SessionId serial, ChangeOptions options, Completion<void> done) override {
    if (refused(done)) return;
    under_.close_session(serial, options, std::move(done));
  }
  Result<std::vector<Event>> events(const EventQuery& query) override {
    return under_.events(query);
  }
  Result<std::optional<std::string>> fact(std::string_view name) override {
    return under_.fact(name);
  }
  void set_fact(std::string name, std::optional<std::string> value, ChangeOptions options,
                Completion<void> done) override {
    if (refused(done)) return;
    under_.set_fact(std::move(name), std::move(value), options, std::move(done));
  }
  Usage usage() override { return under_.usage(); }
  Health health() override { return told ? *told : under_.health(); }
  int64_t now_ns() const override { return under_.now_ns(); }

 private:
  template <class T>
  bool refused(Completion<T>& done) {
    ++changes;
    if (!writes) return false;
    done(std::unexpected(*writes), {});
    return true;
  }

  Store& under_;
};

}  // namespace ebla::daemon
