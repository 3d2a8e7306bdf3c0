// The state behind the model store and the units on it, one function each. Everything here runs
// under the store's mutex. A unit checks first and changes afterwards: one that fails has changed
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/base/clock.h"
#include "schema/base/result.h"
#include "schema/change_set.h"
#include "schema/file_plans.h"
#include "schema/model.h"

namespace ebla::kit {

struct ModelNode {
  Attr attr;
  Ino parent = 0;  // of its first name; 0: no name (or the root)
  std::string name;
  std::vector<std::pair<Ino, std::string>> more_names;  // of a file with several
  SessionId session = 0;                                // that it counts for
  ContentId content = 0;                                // of a put-away file
  std::map<uint64_t, std::string> chunks;  // of a client's file: kChunkBytes each, by index
  std::string target;                      // of a symbolic link
  std::vector<Xattr> xattrs;               // computed
  std::map<std::string, std::string> own_xattrs;
  std::map<std::string, uint64_t, std::less<>> cookies;  // of a folder: name to cookie
  std::map<uint64_t, std::pair<std::string, Ino>> entries;
};

struct ModelContent {
  std::string bytes;
  Hash128 hash;
  uint64_t references = 0;  // nodes; 0: staged
};

struct ModelDecision {
  uint64_t id = 0;
  SessionId tree = 0;
  SessionId session = 0;
  ArtifactKind kind = ArtifactKind::tool_result;
  std::string call_id;
  Hash128 hash;
  uint64_t size = 0;
  std::string tool;
  Ino folder = 0;
  std::string name;
  std::string replacement;
  uint64_t lines = 0;
  uint64_t tokens = 0;
  int64_t created_ns = 0;
  Ino ino = 0;            // 0: the file is removed
  ContentId content = 0;  // the last one that filled it; may be gone
};

struct ModelHistory {
  std::string text;
  HistoryState state;
  std::set<Hash128> keys;
};

struct ModelPass {
  SessionId tree = 0;
  Pass pass;
  std::string message;
};

class ModelState {
 public:
  ModelState(const Clock& clock, uint32_t uid, uint32_t gid);

  // Reads (model_tree.cc, model_sessions.cc, model_evictions.cc).
  Result<Attr> getattr(Ino ino) const;
  Result<Attr> lookup(Ino parent, std::string_view name) const;
  Result<std::vector<DirEntry>> readdir(Ino dir, uint64_t after_cookie, size_t limit) const;
  Result<uint64_t> entry_count(Ino dir) const;
  Result<std::string> readlink(Ino ino) const;
  Result<size_t> read(Ino ino, uint64_t offset, std::span<char> out) const;
  Result<uint64_t> seek(Ino ino, uint64_t offset, SeekTo to) const;
  Result<std::vector<Xattr>> xattrs(Ino ino) const;
  Result<std::string> path_of(Ino ino) const;
  std::optional<Tombstone> tombstone(Ino parent, std::string_view name) const;
  Result<Session> session(SessionId serial) const;
  Result<Session> find_session(uint32_t uid, std::string_view id_or_key) const;
  std::vector<Session> list_sessions(std::string_view project, std::string_view after_id,
                                     size_t limit) const;
  std::optional<EvictionOutcome> find_eviction(SessionId tree, ArtifactKind kind,
                                               std::string_view call_id, Hash128 hash,
                                               uint64_t size) const;
  bool is_replacement(SessionId tree, Hash128 hash) const;
  std::vector<PathAlias> path_aliases() const;
  Usage usage() const;
  // (model_passes.cc)
  std::vector<ItemAnswer> find_items(SessionId tree, std::span<const ItemQuery> items) const;
  std::vector<Pass> passes(SessionId tree, uint64_t after) const;
  Result<std::string> pass_message(uint64_t pass) const;
  Result<HistoryState> history_state(SessionId session) const;
  Result<std::vector<bool>> history_holds(SessionId session, std::span<const Hash128> keys) const;
  std::vector<Event> events(const EventQuery& query) const;
  std::optional<std::string> fact(std::string_view name) const;

  // Units.
  Result<void> remove(const RemovePlan& plan, ChangeSet& changes);
  Result<void> remove_folder(const RemovePlan& plan, ChangeSet& changes);
  Result<Attr> create(const CreatePlan& plan, ChangeSet& changes);
  Result<Attr> link(const LinkPlan& plan, ChangeSet& changes);
  Result<void> rename(const RenamePlan& plan, ChangeSet& changes);
  Result<Attr> replace(const ReplacePlan& plan, ChangeSet& changes);
  Result<Attr> setattr(const SetAttrPlan& plan, ChangeSet& changes);
  Result<void> set_xattr(const XattrPlan& plan, ChangeSet& changes);
  Result<void> remove_xattr(Ino ino, const std::string& name, ChangeSet& changes);
  Result<WriteOutcome> write(const WritePlan& plan, std::string_view bytes, ChangeSet& changes);
  Result<void> allocate(const AllocatePlan& plan, ChangeSet& changes);
  Result<uint64_t> copy_range(const CopyPlan& plan, ChangeSet& changes);
  void reap(const std::vector<Ino>& inos);
  Result<SessionOutcome> open_session(const SessionPlan& plan, ChangeSet& changes);
  Result<ContentId> stage(ContentId content, uint64_t offset, std::string_view bytes);
  void discard(ContentId content);
  Result<EvictionOutcome> commit_eviction(const EvictionPlan& plan, ChangeSet& changes);
  Result<Pass> commit_pass(const PassPlan& plan, ChangeSet& changes);
  Result<HistoryState> append_history(const HistoryPlan& plan, ChangeSet& changes);
  Result<void> close_session(SessionId serial, ChangeSet& changes);
  Result<void> set_fact(const std::string& name, const std::optional<std::string>& value);

  static constexpr Ino kRoot = 1;

 private:
  Result<const ModelNode*> folder(Ino ino) const;
  bool has_name(Ino dir, std::string_view name) const;
  // No entry has the name now, and no put-away file ever had it.
  bool name_is_free(Ino dir, std::string_view name) const;
  Ino make_node(Ino parent, std::string_view name, Attr attr, ChangeSet& changes);
  void touch(ModelNode& node, ChangeSet& changes);
  void touch_ctime(ModelNode& node, ChangeSet& changes);
  void release_content(ContentId id);

  // model_names.cc
  Result<void> check_new_entry(Ino parent, std::string_view name) const;
  Result<void> check_unreserved(Ino parent, std::string_view name) const;
  Result<void> check_rename(const RenamePlan& plan, const Attr& source, const Attr* target) const;
  bool lies_in(Ino folder, Ino above) const;
  void add_entry(Ino parent, const std::string& name, uint64_t cookie, ModelNode& node);
  // Takes the name away; the entry's cookie. The node may be left without any.
  uint64_t take_entry(Ino parent, const std::string& name, ModelNode& node);
  static void keep_first(ModelNode& node, bool was_first, Ino parent, const std::string& name);
  void lose_name(ModelNode& node, ChangeSet& changes);
  void exchange(const RenamePlan& plan, ModelNode& source, ModelNode& target, ChangeSet& changes);
  void name_session(SessionId session, ChangeSet& changes) const;
  Result<const ModelNode*> check_replace(const ReplacePlan& plan) const;
  // What was staged goes to who takes it.
  Result<std::string> take_bytes(const ContentRef& content);

  // model_content.cc
  Result<ModelNode*> writable(Ino ino);
  void put_bytes(ModelNode& node, uint64_t offset, std::string_view bytes);
  void zero_bytes(ModelNode& node, uint64_t offset, uint64_t end);
  void resize(ModelNode& node, uint64_t size);

  bool session_id_is_free(const std::string& id) const;
  uint64_t depth_of(SessionId serial) const;
  Result<SessionOutcome> resume(Session& session, const SessionPlan& plan);
  Session create_session(const SessionPlan& plan, const std::string& id, ChangeSet& changes);

  Result<void> check_content(const ContentRef& content) const;
  std::string_view bytes_of(const ContentRef& content) const;
  ContentId adopt_content(const ContentRef& content);
  ModelDecision* known_decision(SessionId tree, const EvictionPlan& plan);
  std::string same_bytes_path(SessionId tree, const ContentRef& content) const;
  Result<std::string> free_name(Ino dir, const EvictionPlan& plan) const;
  Result<Ino> folder_for(const Session& session, ArtifactKind kind) const;
  Ino human_folder(const Session& session, const EvictionPlan& plan, ChangeSet& changes);
  EvictionOutcome decide(const Session& session, const EvictionPlan& plan, const std::string& name,
                         ChangeSet& changes);
  Result<EvictionOutcome> decide_media(const Session& session, const EvictionPlan& plan,
                                       ChangeSet& changes);
  EvictionOutcome keep_decision(ModelDecision decision, const EvictionPlan& plan,
                                ChangeSet& changes);
  // nullptr: there is no file of it yet.
  const ModelNode* media_file(const ContentRef& content) const;
  void fill(ModelDecision& decision, const EvictionPlan& plan, ChangeSet& changes);
  EvictionOutcome outcome_of(const ModelDecision& decision, bool known) const;
  std::string path_in(Ino dir, std::string_view name) const;
  Original original_of(const ModelDecision& decision) const;
  ItemAnswer answer(SessionId tree, const ItemQuery& query) const;

  Result<void> check_section(SessionId session, const std::string& section,
                             uint64_t history_bytes) const;
  void grow_history(const Session& session, const std::string& section, uint64_t lines,
                    const std::vector<Hash128>& keys, ChangeSet& changes);
  // Keeps it with the next id.
  uint64_t note_event(Event event);
  void note_event(SessionId session, std::string what, std::string path = "");

  const Clock& clock_;
  Ino results_ = 0;
  Ino histories_ = 0;
  uint64_t next_id_ = kRoot;
  uint64_t next_cookie_ = 1;
  std::map<Ino, ModelNode> nodes_;
  std::map<ContentId, ModelContent> contents_;
  std::map<SessionId, Session> sessions_;
  std::map<SessionId, Ino> human_folders_;
  Ino media_folder_ = 0;
  std::map<Ino, ModelHistory> history_texts_;
  std::vector<ModelPass> passes_;
  std::vector<Event> events_;
  std::map<std::string, std::string, std::less<>> facts_;
  std::vector<ModelDecision> decisions_;
  std::set<std::pair<SessionId, Hash128>> replacements_;
  std::set<std::pair<Ino, std::string>> taken_;
  std::map<std::pair<Ino, std::string>, Tombstone> tombstones_;
  std::set<std::pair<std::string, std::string>> aliases_;
};

// Joins the parts with the file's name.
std::string join_replacement(const std::vector<std::string>& parts, std::string_view name);
// 2023-11-14T22:13:20Z
std::string utc_text(int64_t wall_ns);

}  // namespace ebla::kit
