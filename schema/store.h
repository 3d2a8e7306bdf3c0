// THE interface to what outlives a process. One method is one whole transaction in domain words.
//
// Threads: every method may be called from any thread. Reads are plain calls that see a committed
// state at least as new as the last completion that ran before the call; they never wait for the
// writer. Changes take plain values, return at once, and end in exactly one completion, which runs
// on a thread of the store's, or before the call returns on the caller's own: it must not block and
// must not call back into a change's wait.
//
// Errors: a change ends done, failed with nothing changed, or `unavailable` (nobody knows: ask
// again, every unit is idempotent by its key). What an outcome says is what is true now, never the
// plan.
//
// Durability: Durability::durable means on disk when the completion runs; it survives kill -9 and a
// power cut. Durability::ordered means committed in order, on disk within 5 s.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/clock.h"
#include "schema/base/result.h"
#include "schema/change_set.h"
#include "schema/file_plans.h"
#include "schema/model.h"

namespace ebla {

enum class Durability : uint8_t { durable, ordered };

struct ChangeOptions {
  Durability durability = Durability::durable;
  MountId origin = 0;
  Deadline deadline = Deadline::max();  // not started by then: Code::timeout, nothing changed
  // The caller's own thread makes the change if nobody else changes the store just then: no
  // hand-over. For small changes, by callers that can spare the thread; the completion may run
  // before the call returns.
  bool here = false;
};

template <class T>
using Completion = std::move_only_function<void(Result<T>, const ChangeSet&)>;

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;  // waits for every completion

  // ---- The tree. A new store holds "/", "/large_tool_results" and "/conversation_history", all
  // 0700 and owned by the daemon's uid, the two folders kNodeFixed.
  virtual Ino root() const = 0;
  // file_not_found when the id names no node any more.
  virtual Result<Attr> getattr(Ino ino) = 0;
  // file_not_found, not_directory, name_too_long. Never "." or "..".
  virtual Result<Attr> lookup(Ino parent, std::string_view name) = 0;
  // At most `limit` entries with a cookie after `after_cookie` (0: from the start), by cookie,
  // without "." and ".."; fewer only where there are no more. An entry that lives through the whole
  // scan comes exactly once.
  virtual Result<std::vector<DirEntry>> readdir(Ino dir, uint64_t after_cookie, size_t limit) = 0;
  virtual Result<uint64_t> entry_count(Ino dir) = 0;
  virtual Result<std::string> readlink(Ino ino) = 0;
  // Fills `out` from `offset`; fewer bytes only at the end of the file. is_directory; io_error
  // (EIO) when a chunk's sum does not match, and that file is named in health().
  virtual Result<size_t> read(Ino ino, uint64_t offset, std::span<char> out) = 0;
  // user.ebla.* computed, user.* stored; by name. Order: by name.
  virtual Result<std::vector<Xattr>> xattrs(Ino ino) = 0;
  virtual Result<std::string> path_of(Ino ino) = 0;
  // Newest tombstone of that name.
  virtual Result<std::optional<Tombstone>> tombstone(Ino parent, std::string_view name) = 0;

  // Unlinks anything but a folder. file_not_found; is_directory; operation_not_permitted for what
  // is protected and not kNodeRemovable. A put-away result leaves a tombstone, and its decision
  // (find_eviction) stays. A node without any name stays readable, and writable, by id until
  // reap().
  virtual void remove(RemovePlan plan, ChangeOptions options, Completion<void> done) = 0;
  // The same for an empty folder; `reason` is not kept. file_not_found, not_directory, not_empty;
  // for a folder of the daemon's operation_not_permitted, for one of the top busy.
  virtual void remove_folder(RemovePlan plan, ChangeOptions options, Completion<void> done) = 0;
  // Frees nodes that have no name. Nodes that have one are left alone. Large contents are freed in
  // steps afterwards.
  virtual void reap(std::vector<Ino> inos, ChangeOptions options, Completion<void> done) = 0;
  // Everything changed before, written bytes too, is on disk when `done` runs.
  virtual void sync(ChangeOptions options, Completion<void> done) = 0;

  // ---- Files and names of clients (file_plans.h). Names are any bytes but '/' and NUL, not empty,
  // "." or "..": invalid_path; longer than limits::kNameBytes: name_too_long. A folder that has
  // been removed, or is none: file_not_found, not_directory. Protected nodes are refused with
  // operation_not_permitted whoever asks: every change of content or attributes, link, rename of or
  // over them; folders of the daemon's (kNodeFixed) too, but entries of others come and go in them.
  // A name that a removed result has had stays its own: operation_not_permitted.

  // already_exists. A symbolic link without target, or any other kind with one: invalid_params.
  virtual void create(CreatePlan plan, ChangeOptions options, Completion<Attr> done) = 0;
  // Another name for what is no folder (operation_not_permitted). already_exists; too_many_links;
  // file_not_found also when the node has lost its last name.
  virtual void link(LinkPlan plan, ChangeOptions options, Completion<Attr> done) = 0;
  // file_not_found; already_exists (keep); is_directory: a folder has the new name and the old one
  // is none; not_directory: the reverse; not_empty; invalid_path: a folder would come to lie in
  // itself; busy: a top folder. Two names of one node: nothing happens. What loses its last name is
  // in ChangeSet::orphaned.
  virtual void rename(RenamePlan plan, ChangeOptions options, Completion<void> done) = 0;
  // Writes a file as a whole, or makes it; a file with several names keeps the others. conflict:
  // what has the name is not `expected`, or has changed since. is_directory, invalid_params: no
  // file. A content that was staged is the file's from then on; when this fails it stays staged.
  virtual void replace(ReplacePlan plan, ChangeOptions options, Completion<Attr> done) = 0;
  // is_directory, invalid_params for the size of what is no file; too_large above
  // limits::kFileBytes.
  virtual void setattr(SetAttrPlan plan, ChangeOptions options, Completion<Attr> done) = 0;
  // Only user.* without user.ebla.*: else not_supported. already_exists
  // (create), no_attribute (replace, remove); name_too_long; too_large above limits::kXattrBytes;
  // no_space when the names of a node together exceed limits::kXattrListBytes.
  virtual void set_xattr(XattrPlan plan, ChangeOptions options, Completion<void> done) = 0;
  virtual void remove_xattr(Ino ino, std::string name, ChangeOptions options,
                            Completion<void> done) = 0;

  // ---- Content of clients' files. Writing is write-behind: write(), allocate(), copy_range() and
  // a new size are there for every reader when they end, whole and in one order, and in memory;
  // they are committed by flush(), sync() and every change of the node's attributes or names, and
  // by themselves at limits::kDirtyFileBytes of a file, limits::kDirtyBytes of all, or one second
  // of age. A commit that fails keeps the bytes, is tried again, and its error is the next flush's.
  // ChangeOptions::durability means nothing to them, and their ChangeSet has revision 0: its change
  // is not committed yet.
  // is_directory; invalid_params: no file; too_large beyond limits::kFileBytes; no_space, read_only
  // or busy: the store accepts no growth now; quota_exceeded: a session tree, as for every growth.

  // Ends before it returns, on the caller's thread, unless the limits of memory make it wait for
  // what was written before: then the bytes are copied. Nothing of `bytes` is looked at later.
  virtual void write(WritePlan plan, std::string_view bytes, ChangeOptions options,
                     Completion<WriteOutcome> done) = 0;
  // Room is promised by nothing but a look at the disk; ends as write() does.
  virtual void allocate(AllocatePlan plan, ChangeOptions options, Completion<void> done) = 0;
  // Copies at most limits::kCopyBytes and up to the end of `from`, and answers how many; 0 at the
  // end. Holes stay holes. Ranges of one file that overlap: invalid_params.
  virtual void copy_range(CopyPlan plan, ChangeOptions options, Completion<uint64_t> done) = 0;
  // Offset of the next data or hole at or after `offset`; the end of the file is a hole. no_data
  // when `offset` is at or beyond the end, or no data follows it.
  virtual Result<uint64_t> seek(Ino ino, uint64_t offset, SeekTo to) = 0;
  // What was written to the node before is committed when `done` runs, and on disk when durable.
  // Ends at once when there is nothing to do. Changes nothing that anybody sees, but for
  // Attr::raw_bytes, which is exact from then on.
  virtual void flush(Ino ino, ChangeOptions options, Completion<void> done) = 0;

  // ---- Sessions.
  // Finds (uid, key) or creates. conflict: all id candidates are taken, or the session exists under
  // another parent; unknown_session: no such parent; out_of_range: too deep. Creating makes the
  // folder /large_tool_results/ID (0700) and the empty protected history
  // /conversation_history/ID.md (0400), but the session with id "default" has /large_tool_results
  // itself as its folder.
  virtual void open_session(SessionPlan plan, ChangeOptions options,
                            Completion<SessionOutcome> done) = 0;
  virtual Result<Session> session(SessionId serial) = 0;
  // By id, else by (uid, key). unknown_session.
  virtual Result<Session> find_session(uint32_t uid, std::string_view id_or_key) = 0;
  // Ordered by id, at most `limit`, ids after `after_id`; project empty: all.
  virtual Result<std::vector<Session>> list_sessions(std::string_view project,
                                                     std::string_view after_id, size_t limit) = 0;

  // ---- Contents above limits::kInlineContentBytes arrive in slices before they are linked.
  // Staged content is invisible, counts towards no file, and is reclaimed at the next start or by
  // discard().
  // content 0 begins a new one; slices come in order, each but the last of kStageSliceBytes. The
  // completion carries the content's id.
  virtual void stage(ContentId content, uint64_t offset, std::string bytes, ChangeOptions options,
                     Completion<ContentId> done) = 0;
  virtual void discard(ContentId content, ChangeOptions options, Completion<void> done) = 0;

  // ---- Evictions, found by content within the session tree.
  // A decision that was made for (tree, kind, call id, content of that hash and size).
  virtual Result<std::optional<EvictionOutcome>> find_eviction(SessionId tree, ArtifactKind kind,
                                                               std::string_view call_id,
                                                               Hash128 hash, uint64_t size) = 0;
  // True if a stored replacement of this tree has this hash: such a text stands for its original.
  virtual Result<bool> is_replacement(SessionId tree, Hash128 hash) = 0;
  // Stores the content, names the file, keeps the replacement. A known decision for equal bytes is
  // answered as it was stored, and its file is filled again if it had been removed. Equal bytes are
  // held once. The names of removed files stay taken. Arguments and old results lie with the
  // results; human messages in /conversation_history/ID; media in /conversation_history/media as
  // HASH.EXT, one protected file for equal bytes in the whole store, owned as that folder is.
  virtual void commit_eviction(EvictionPlan plan, ChangeOptions options,
                               Completion<EvictionOutcome> done) = 0;
  // Every host prefix that a stored text has used.
  virtual Result<std::vector<PathAlias>> path_aliases() = 0;

  // ---- What the context engine remembers. A tree is named by the serial of its root session.
  // One answer for each query, in order; all of one state. Of several originals with the same
  // replacement, the one of the query's kind and call id stands first, else the oldest. Reads
  // nothing for a tree without decisions.
  virtual Result<std::vector<ItemAnswer>> find_items(SessionId tree,
                                                     std::span<const ItemQuery> items) = 0;
  // Passes of the tree with an id above `after`, ascending by id.
  virtual Result<std::vector<Pass>> passes(SessionId tree, uint64_t after) = 0;
  // Text of a pass's summary message. file_not_found.
  virtual Result<std::string> pass_message(uint64_t pass) = 0;
  // Section, pass and keys, or nothing. A prefix that has a pass in this tree is answered as
  // stored. conflict: the history is not as long as the section was written for; invalid_params:
  // the section does not end with a line's end.
  virtual void commit_pass(PassPlan plan, ChangeOptions options, Completion<Pass> done) = 0;
  virtual Result<HistoryState> history_state(SessionId session) = 0;
  // Which of these messages the session's history holds.
  virtual Result<std::vector<bool>> history_holds(SessionId session,
                                                  std::span<const Hash128> keys) = 0;
  // The session's history grows by whole sections only, in order, at the cost of what is new; one
  // of any length is never seen in part. When all keys (one at least) are known, nothing is
  // written, and the state is the answer. Errors as for commit_pass.
  virtual void append_history(HistoryPlan plan, ChangeOptions options,
                              Completion<HistoryState> done) = 0;
  // A session that is closed stays readable and is opened again by open_session. Closing a closed
  // one changes nothing.
  virtual void close_session(SessionId serial, ChangeOptions options, Completion<void> done) = 0;
  // Ascending by id, or descending when `newest`. An eviction that was known is none, nor is
  // opening a session that is open.
  virtual Result<std::vector<Event>> events(const EventQuery& query) = 0;
  // Small values that outlive the process: breakers, ratios, windows found. Name 1 to
  // limits::kFactNameBytes, value at most limits::kFactBytes, else too_large or invalid_params;
  // nullopt as value removes.
  virtual Result<std::optional<std::string>> fact(std::string_view name) = 0;
  virtual void set_fact(std::string name, std::optional<std::string> value, ChangeOptions options,
                        Completion<void> done) = 0;

  // ---- The store as a whole.
  virtual Usage usage() = 0;
  virtual Health health() = 0;
  virtual int64_t now_ns() const = 0;  // the time stamps of the store
};

}  // namespace ebla
