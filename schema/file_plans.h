// What clients ask for when they change files and names of their own. Plain values.
//
// Who may do it is decided before: the kernel (default_permissions) or whoever speaks for a peer
// has compared modes, owners and the sticky bit. The store refuses what nobody may do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schema/model.h"

namespace ebla {

struct CreatePlan {
  Ino parent = 0;
  std::string name = {};
  NodeKind kind = NodeKind::file;
  uint32_t mode = 0;        // umask applied
  uint32_t uid = 0;         // of the caller
  uint32_t gid = 0;         // of the caller; a folder with setgid gives its own instead
  uint64_t rdev = 0;        // of a device
  std::string target = {};  // of a symbolic link, at most limits::kLinkTargetBytes
};

struct LinkPlan {
  Ino ino = 0;
  Ino parent = 0;
  std::string name = {};
};

struct RenamePlan {
  // replace: whatever has the new name goes. keep: already_exists when something has it
  // (NOREPLACE). exchange: both must be there and change places.
  enum class Mode : uint8_t { replace, keep, exchange };
  Ino parent = 0;
  std::string name = {};
  Ino new_parent = 0;
  std::string new_name = {};
  Mode mode = Mode::replace;
};

// A whole new content under a name: a new node takes the name, and who reads or writes the old one
// keeps it.
struct ReplacePlan {
  Ino parent = 0;
  std::string name = {};
  Ino expected = 0;                               // the file that has the name; 0: nothing has
  std::optional<uint64_t> change = std::nullopt;  // and its Attr::change
  ContentRef content = {};                        // size and hash are not looked at
  // Of a file that is new, as in CreatePlan. Else mode, owner, time of access and user.* attributes
  // are those of `expected`.
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool drop_privileges = false;  // as in WritePlan
};

// A time to set: a moment, or the store's own now.
struct TimeValue {
  std::optional<int64_t> ns = std::nullopt;  // nullopt: now
};

// Fields that are absent stay. Any change sets ctime. A new owner or group takes setuid, and setgid
// where the group may execute, from a file, unless a mode is given too.
struct SetAttrPlan {
  Ino ino = 0;
  std::optional<uint32_t> mode = std::nullopt;  // permission bits with setuid, setgid, sticky
  std::optional<uint32_t> uid = std::nullopt;
  std::optional<uint32_t> gid = std::nullopt;
  std::optional<uint64_t> size = std::nullopt;  // of a file; sets mtime
  std::optional<TimeValue> atime = std::nullopt;
  std::optional<TimeValue> mtime = std::nullopt;
  bool drop_privileges = false;  // with size: setuid and setgid go, as with a write
};

struct XattrPlan {
  enum class Mode : uint8_t { set, create, replace };
  Ino ino = 0;
  std::string name = {};  // with its prefix: user.comment
  std::string value = {};
  Mode mode = Mode::set;
};

struct WritePlan {
  Ino ino = 0;
  uint64_t offset = 0;           // ignored by append
  bool append = false;           // at the end as it is at that moment
  bool drop_privileges = false;  // the writer may not keep setuid and setgid of the file
};

struct AllocatePlan {
  enum class Mode : uint8_t {
    reserve,         // the file has at least offset + length bytes
    reserve_beyond,  // the same, but its size stays
    punch,           // the range reads as zeros, holds nothing; the size stays
    zero,            // the range reads as zeros; the size grows to its end
    zero_beyond,     // the same, but the size stays
  };
  Ino ino = 0;
  uint64_t offset = 0;
  uint64_t length = 0;  // not 0
  Mode mode = Mode::reserve;
};

struct CopyPlan {
  Ino from = 0;
  uint64_t from_offset = 0;
  Ino to = 0;
  uint64_t to_offset = 0;
  uint64_t length = 0;
};

struct WriteOutcome {
  uint64_t offset = 0;  // where the bytes are now
  uint64_t count = 0;
};

enum class SeekTo : uint8_t { data, hole };

}  // namespace ebla
