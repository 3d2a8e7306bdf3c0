// Plain values that cross between the rooms of the house. No behaviour, no SQL, no libfuse.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/hash.h"

namespace ebla {

// Ids are opaque, given by the store, at most 62 bits, never reused; nothing may rely on dense or
// ordered ones. 0 is no id.
using Ino = uint64_t;
using ContentId = uint64_t;
using SessionId = uint64_t;
using MountId = uint32_t;

enum class NodeKind : uint8_t { file, directory, symlink, fifo, socket, char_device, block_device };

// Flags of a node, stored with it.
enum NodeFlag : uint32_t {
  kNodeProtected = 1u << 0,  // the daemon made it: nobody changes content, size, mode or name
  kNodeRemovable = 1u << 1,  // protected, yet clients may unlink it (put-away results)
  kNodeImmutable = 1u << 2,  // content never changes: the kernel may keep its pages for ever
  kNodeFixed = 1u << 3,      // folder that clients may not rename, chmod or remove
};

struct Attr {
  Ino ino = 0;
  NodeKind kind = NodeKind::file;
  uint32_t mode = 0;  // permission bits with setuid, setgid, sticky; no file type
  uint32_t nlink = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t rdev = 0;
  uint64_t size = 0;  // bytes; a folder: 0
  // Bytes that the store holds for it: what st_blocks counts. Estimated while some are not
  // committed.
  uint64_t raw_bytes = 0;
  int64_t atime_ns = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  uint32_t flags = 0;   // NodeFlag
  uint64_t change = 0;  // grows with every change of content or attributes
  bool operator==(const Attr&) const = default;
};

struct DirEntry {
  uint64_t cookie = 0;  // resumes after this entry; stable while the entry lives
  std::string name;     // any bytes but '/' and NUL
  Attr attr;
  bool operator==(const DirEntry&) const = default;
};

struct Xattr {
  std::string name;  // with its prefix: user.ebla.session
  std::string value;
  bool operator==(const Xattr&) const = default;
};

// Where the store as a whole stands; answered from counters while the writer is busy.
struct Usage {
  uint64_t files = 0;
  uint64_t directories = 0;
  uint64_t logical_bytes = 0;  // sum of file sizes
  uint64_t content_bytes = 0;  // bytes held once each
  uint64_t sessions = 0;
  uint64_t evictions = 0;
  uint64_t database_bytes = 0;
  uint64_t free_bytes = 0;  // free pages within the database
  uint64_t wal_bytes = 0;
  uint64_t host_free_bytes = 0;  // what the database may still grow by: disk, and a limit
};

struct Health {
  bool writable = true;  // growth is accepted
  std::string name;      // error name of the reason when not: no_space, io_error, …
  std::string text;      // and what to do
  uint64_t failed_syncs = 0;
  uint64_t damaged_files = 0;  // chunk sums that did not match since start
  std::string last_damaged;    // path of the newest
  std::string engine;          // "sqlite 3.40.1"
  bool checking = false;       // a quick_check runs in the background
};

// What was put away, and in whose place the replacement stands.
enum class ArtifactKind : uint8_t {
  tool_result,  // a fresh result, or one of the tail on overflow: notice and preview
  human,        // a text of the user: notice and preview
  argument,     // one string argument of an old call: a mark
  old_result,   // an old result: one line
  media,        // an image or document: a link; one file for equal bytes in the whole store
};
// "tool_result", "human", "argument", "old_result", "media"
std::string_view artifact_kind_name(ArtifactKind kind);

struct Session {
  SessionId serial = 0;
  std::string id;   // short, made by the daemon: names folder and history
  std::string key;  // the client's own name for it; empty for none
  std::string label;
  uint32_t uid = 0;  // who opened it: a session is found by (uid, key)
  SessionId parent = 0;
  SessionId tree = 0;  // serial of the root of its session tree
  std::string project;
  std::string model;
  uint64_t window = 0;                          // tokens; 0: unknown
  std::map<std::string, std::string> settings;  // own ones only: name to JSON text of the value
  std::optional<std::string> capabilities;      // JSON text as declared; nullopt: nothing declared
  std::string mount_prefix;                     // where the session's agent sees the tree's root
  int64_t created_ns = 0;
  int64_t closed_ns = 0;  // 0: open
  Ino folder = 0;         // /large_tool_results/ID, or /large_tool_results for the default session
  Ino history = 0;        // /conversation_history/ID.md
  bool operator==(const Session&) const = default;
};

// What a session.open asks for. Fields that are absent keep their value when the session exists.
struct SessionPlan {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string key;                         // empty: always a new session
  std::vector<std::string> id_candidates;  // the first free one becomes the id
  std::optional<std::string> label;
  SessionId parent = 0;  // 0: none given
  std::optional<std::string> project;
  std::optional<std::string> model;
  std::optional<uint64_t> window;
  std::map<std::string, std::string> settings;  // merged by name; "null" removes
  std::optional<std::string> capabilities;
  std::optional<std::string> mount_prefix;
};

struct SessionOutcome {
  Session session;
  bool created = false;
};

// Bytes to be stored: either here, or staged before.
struct ContentRef {
  std::string bytes;  // used when staged is 0
  ContentId staged = 0;
  uint64_t size = 0;
  Hash128 hash;  // XXH3-128 of all bytes
};

// One put-away. The file name is decided by the store, since only it knows which are free, and the
// replacement names the file: so the replacement comes in parts, to be joined by the name.
struct EvictionPlan {
  SessionId session = 0;
  ArtifactKind kind = ArtifactKind::tool_result;
  std::string call_id;  // whole, any bytes; empty for none
  std::string tool;
  uint32_t uid = 0;  // owner of the file
  uint32_t gid = 0;
  ContentRef content;
  // Wanted name: stem + extension, else stem + ".2" + extension, …; media: the hash is the stem.
  std::string stem;
  std::string extension;                       // "", ".md", ".png", …
  std::vector<std::string> replacement_parts;  // n parts: the name stands between each two
  std::string path_prefix;  // the host prefix used in the text, kept as an alias for fs.* ("" none)
  std::string
      path_subtree;  // which path of the tree that prefix shows ("/" or "/large_tool_results")
  uint64_t characters = 0;
  uint64_t lines = 0;
  uint64_t tokens = 0;        // by size rule
  uint64_t tokens_after = 0;  // of the replacement: for the event
};

// What is true now, whoever decided it.
struct EvictionOutcome {
  Ino ino = 0;
  std::string path;         // in the tree: /large_tool_results/…
  std::string replacement;  // the stored bytes
  uint64_t size = 0;        // bytes
  uint64_t lines = 0;
  uint64_t tokens = 0;
  bool known = false;   // the decision was there before
  std::string same_as;  // path in this session tree that already held these bytes; "" if none
  uint64_t id = 0;      // of the decision; later ones, and later passes, have higher ids
};

struct RemovePlan {
  Ino parent = 0;
  std::string name;
  uint32_t uid = 0;         // who
  std::string reason = {};  // why, for the tombstone: "rm", "purge"
};

// Left behind by a removed put-away file, so that the verbs can explain.
struct Tombstone {
  std::string path;
  int64_t removed_ns = 0;
  uint32_t uid = 0;
  std::string reason;
  uint64_t size = 0;
};

struct PathAlias {
  std::string prefix;   // host folder, no trailing slash
  std::string subtree;  // path in the tree that it shows
  bool operator==(const PathAlias&) const = default;
};

// ---- What the context engine remembers.

// An item of a list, as it is found: by content within the session tree.
struct ItemQuery {
  ArtifactKind kind = ArtifactKind::tool_result;
  std::string_view call_id;
  Hash128 hash;
  uint64_t size = 0;  // bytes
};

// A stored replacement stands for this original.
struct Original {
  ArtifactKind kind = ArtifactKind::tool_result;
  std::string call_id;
  Hash128 hash;
  uint64_t size = 0;
  uint64_t tokens = 0;  // by size rule
  std::string path;     // in the tree
};

struct ItemAnswer {
  std::optional<EvictionOutcome> decision;  // this item has been put away
  std::optional<Original> original;         // this text is itself a replacement
};

enum class SummarySource : uint8_t { client, daemon, extract };
std::string_view summary_source_name(SummarySource source);

// One pass: from now on `message` stands for the first `messages` messages of any list of this
// session tree whose chain hash there is `prefix`; the pinned ones among them stay in front.
struct PassPlan {
  SessionId session = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  Hash128 prefix;
  uint64_t messages = 0;
  std::vector<uint64_t> pinned;  // indexes below `messages`, ascending
  std::string message;           // text of the summary message
  Hash128 message_identity;      // of the message that carries it
  SummarySource source = SummarySource::extract;
  uint64_t tokens_before = 0;  // window count of the list
  uint64_t tokens_after = 0;
  std::string section;  // what the history grows by: whole lines, one at least
  uint64_t section_lines = 0;
  uint64_t history_bytes = 0;  // length that the section was written for, else `conflict`
  std::vector<Hash128> keys;   // of the messages in it: history.append will not repeat them
};

struct Pass {
  uint64_t id = 0;  // in the order of commits, events included
  SessionId session = 0;
  Hash128 prefix;
  uint64_t messages = 0;
  std::vector<uint64_t> pinned;
  Hash128 message_identity;
  uint64_t tokens_after = 0;
  bool known = false;  // as an outcome: the pass was there before, nothing was written
  bool operator==(const Pass&) const = default;
};

struct HistoryState {
  uint64_t bytes = 0;
  uint64_t lines = 0;
  uint64_t sections = 0;
  uint64_t messages = 0;  // different keys recorded
  bool operator==(const HistoryState&) const = default;
};

// Messages that the history grows by without a pass.
struct HistoryPlan {
  SessionId session = 0;
  std::string section;
  uint64_t section_lines = 0;
  uint64_t history_bytes = 0;  // as in PassPlan
  std::vector<Hash128> keys;
};

// A decision, for who watches. Never content.
struct Event {
  uint64_t id = 0;  // grows in the order of commits
  int64_t at_ns = 0;
  SessionId session = 0;
  std::string what;    // an artifact kind, "summary", "history", "session_open", "session_close"
  std::string detail;  // tool, or source of a summary; printable
  uint64_t tokens_before = 0;
  uint64_t tokens_after = 0;
  std::string path;  // in the tree: of the file or history; "" for a session
  bool operator==(const Event&) const = default;
};

struct EventQuery {
  uint64_t after = 0;     // ids above; newest first when `newest`
  SessionId session = 0;  // 0: all
  size_t limit = 100;
  bool newest = false;
};

}  // namespace ebla
